"""The rows that Spark's workers make of an audit file, for splits of any size.

This module does what Spark does: a line belongs to the split in which it begins, or which ends
where the line begins. It must not know Spark.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from authorizer.audit.layouts import Zone
from metalog_spark.ingest.audit_files import LONGEST_LINE, SHOWN_BYTES
from metalog_spark.ingest.audit_splits import read_packed, read_splits
from metalog_spark.ingest.lines.audit_lines import CUT, half_readings
from metalog_spark.store.preflight import PACKED

_LINES = pa.schema(
    [
        ("line", pa.binary()),
        ("file_path", pa.string()),
        ("file_block_start", pa.int64()),
        ("file_size", pa.int64()),
        ("lines_before", pa.int64()),
    ]
)


def rows_of(path: Path, split_bytes: int = 1 << 20, zone: str = "UTC") -> list[dict[str, Any]]:
    """Requests, rejected lines and possible readings, by line number in the file."""
    if path.name.endswith(PACKED):
        content = pa.record_batch({"path": [f"file:{path}"], "content": [path.read_bytes()]})
        found = list(read_packed([content], Zone(zone), None))
    else:
        found = list(read_splits(splits_of(path, split_bytes), Zone(zone), None))
    rows = [row for batch in found for row in batch.to_pylist()]
    splits = sorted((row for row in rows if row["lines"] is not None), key=lambda row: row["start"])
    lines = [row for row in rows if row["lines"] is None]
    before, firsts = 0, {}
    for split in splits:
        firsts[split["start"]] = before
        before += split["lines"]
    for row in lines:
        row["line"] += firsts[row["start"]]
    if splits and sum(split["bytes"] for split in splits) > splits[0]["size"]:
        lines = [*_without_cut(lines, before, path, Zone(zone))]
    return sorted(lines, key=lambda row: row["line"])


def splits_of(path: Path, split_bytes: int) -> Iterator[pa.RecordBatch]:
    """One batch per split, as the text source and the expression LINES produce them."""
    data, name = path.read_bytes(), f"file:{quote(str(path))}"
    splits: dict[int, list[bytes]] = {}
    begin = 0
    for line in data.split(b"\n")[: None if data[-1:] != b"\n" else -1] if data else []:
        start = max(begin - 1, 0) // split_bytes * split_bytes
        splits.setdefault(start, []).append(line)
        begin += len(line) + 1
    for start, lines in splits.items():
        cut = [
            line if len(line) <= LONGEST_LINE else line[:SHOWN_BYTES] + b"\n%d" % len(line)
            for line in lines
        ]
        rows = len(lines)
        columns = [cut, [name] * rows, [start] * rows, [len(data)] * rows, [0] * rows]
        yield pa.record_batch(
            [pa.array(each, field.type) for each, field in zip(columns, _LINES, strict=True)],
            schema=_LINES,
        )


def _without_cut(
    rows: list[dict[str, Any]], last: int, path: Path, zone: Zone
) -> Iterator[dict[str, Any]]:
    """The rows without an incomplete last line: a line without LF is a request only if it is
    whole."""
    for row in rows:
        is_request = row["reason"] is None and row["possible"] is None
        if row["line"] == last and is_request and row["rule"] is None:
            text = path.read_bytes().rpartition(b"\n")[2].decode(errors="backslashreplace")
            nothing = dict.fromkeys(row)
            where = {name: row[name] for name in ("file", "line", "start")}
            yield nothing | where | {"text": text, "reason": CUT}
            for each in half_readings(text, zone):
                yield nothing | where | each.row._asdict() | {"possible": True}
        else:
            yield row
