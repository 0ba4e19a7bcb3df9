"""The lines of an audit log, of its files or of a topic's records, as rows of ``requests``, or
as rejected with the reason; and what else they may mean, as rows of ``possible_requests``.

Nothing is dropped: a line is a request or rejected, or both where half of it is torn. Bytes that
are not UTF-8 show as escapes, and such a line is marked ambiguous, as are those that a hostile
name may have made and those of the hour that comes twice when clocks are set back. Columns are
Arrow's. This module must not know Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import pyarrow as pa

from authorizer.audit import HEAD, Row, read_row
from authorizer.audit_layout import NOT_AUDIT, Zone, read_entry
from metalog.errors import InvalidRequest
from metalog_spark.auditfiles import BLOCK_BYTES, Block, Part, read_blocks, whole_lines
from metalog_spark.auditlines import (
    EMPTY,
    LINE_FEED,
    Possible,
    half_readings,
    read_text,
    whole_readings,
)

_ENDS_ONE: Final = " with resourceRefCount = "
_MOST_WITHIN: Final = 64
_MOST_LINES: Final = 4096
_MOST_BYTES: Final = 16 << 20
"""Of records that are held at once: a topic may have any that somebody sent there."""
OTHERS: Final = (NOT_AUDIT, EMPTY)
"""The reasons of lines that never meant to be audit lines."""
LOST: Final = "deleted unread"
LOST_OFFSETS: Final = rf"^{LOST}: offsets (\d+) to (\d+)$"
"""The reason of a row that stands for so many records."""
_TEXTS: Final = (
    *("principal", "host", "operation", "resource_type", "resource_name", "pattern_type"),
    "request_name",
)
SCHEMA: Final = pa.schema(
    [
        ("time", pa.timestamp("us", tz="UTC")),
        ("broker", pa.string()),
        *((name, pa.string()) for name in _TEXTS),
        ("resource_reference_count", pa.int32()),
        ("result", pa.string()),
        ("rule", pa.string()),
        ("ambiguous", pa.bool_()),
        ("file", pa.string()),
        ("line", pa.int64()),
        ("day", pa.date32()),
        ("text", pa.string()),
        ("reason", pa.string()),
        ("possible", pa.bool_()),
    ]
)
"""The columns of ``requests``, then those of ``rejected`` that it has not: a row of either has
nulls in the other's. ``possible`` is true in rows of ``possible_requests``, else null."""


class Told(NamedTuple):
    """A part, and what its rows say of it: names of its file and broker, and its first line."""

    part: Part
    file: str
    broker: str
    line: int


class Record(NamedTuple):
    """The ``lines`` of one record, what their rows have for file and broker, and the number of
    the first; or none, and the ``fault`` that says why."""

    file: str
    broker: str
    line: int
    lines: bytes
    fault: str | None = None


class _Read(NamedTuple):
    """What some lines came to: rows, the time and line of each, what was rejected, and what is
    possible."""

    rows: list[Row]
    times: list[int]
    lines: list[int]
    rejected: list[tuple[int, str, str]]
    possible: list[tuple[int, Possible]]


def read_batches(told: Told, zone: Zone) -> Iterator[pa.RecordBatch]:
    """All lines of a part, some thousands a batch; those that were rejected in batches apart."""
    number = told.line
    for block in read_blocks(told.part):
        read = _Read([], [], [], [], [])
        number += _read_block(block, number, zone, read)
        yield from _batches(read, told.file, told.broker)


def read_records(records: Iterable[Record], zone: Zone) -> Iterator[pa.RecordBatch]:
    """All lines of ``records``, as ``read_batches`` has those of a part.

    One event is one record, and a name with LF in it makes it several lines: they are ambiguous.
    """
    reads: dict[tuple[str, str], _Read] = {}
    lines = held = 0
    for record in records:
        read = reads.setdefault((record.file, record.broker), _Read([], [], [], [], []))
        lines += _read_record(record, zone, read)
        held += len(record.lines)
        if lines >= _MOST_LINES or held >= _MOST_BYTES:
            yield from _all_batches(reads)
            reads = {}
            lines = held = 0
    yield from _all_batches(reads)


def _read_record(record: Record, zone: Zone, read: _Read) -> int:
    """How many lines it has; what they say is added to ``read``."""
    if record.fault is not None:
        read.rejected.append((record.line, "", record.fault))
        return 1
    before, count = len(read.rows), 0
    for block in whole_lines(_chunks(record.lines.removesuffix(b"\n") + b"\n")):
        count += _read_block(block, record.line + count, zone, read)
    if count > 1:
        read.rows[before:] = [row._replace(ambiguous=True) for row in read.rows[before:]]
        whole = whole_readings(_shown(record.lines), zone)
        read.possible.extend((record.line, each) for each in whole)
    return count


def _chunks(lines: bytes) -> Iterator[bytes]:
    return (lines[at : at + BLOCK_BYTES] for at in range(0, len(lines), BLOCK_BYTES))


def _read_block(block: Block, first: int, zone: Zone, read: _Read) -> int:
    if block.fault is None:
        return _read_lines(block.lines, first, zone, read)
    read.rejected.append((first, _shown(block.lines), block.fault))
    return 1


def _all_batches(reads: Mapping[tuple[str, str], _Read]) -> Iterator[pa.RecordBatch]:
    for (file, broker), read in reads.items():
        yield from _batches(read, file, broker)


def _read_lines(lines: bytes, first: int, zone: Zone, read: _Read) -> int:
    """How many there are; what they say is added to ``read``."""
    is_whole = lines.endswith(b"\n")
    texts, damaged = _texts(lines.removesuffix(b"\n"))
    last, before = first + len(texts) - 1, len(read.rows)
    for number, text in enumerate(texts, first):
        if number - first in damaged or (number == last and not is_whole) or _is_odd(text):
            raw = damaged.get(number - first)
            _read_odd(text, number, zone, read, is_whole=is_whole or number < last, raw=raw)
            continue
        try:
            entry = read_entry(text, zone)
            row = read_row(entry.text)
        except InvalidRequest:
            _read_odd(text, number, zone, read)
            if _ENDS_ONE in text and HEAD not in text:
                _take_back(texts, first, before, zone, read)
            continue
        if row.ambiguous or not entry.is_sure:
            _read_odd(text, number, zone, read)
            continue
        read.rows.append(row)
        read.times.append(entry.micros)
        read.lines.append(number)
    return len(texts)


def _take_back(texts: Sequence[str], first: int, before: int, zone: Zone, read: _Read) -> None:
    """The last line was the end of a record whose name has a line feed: the half line that began
    it is broken, and lines between the two are part of the name, too, or pass for it."""
    at = len(read.rows)
    while at > max(before, len(read.rows) - _MOST_WITHIN):
        at -= 1
        if read.rows[at].rule is None:
            break
    else:
        return
    read.rows[at:] = [row._replace(ambiguous=True) for row in read.rows[at:]]
    del read.rows[at], read.times[at]
    number = read.lines.pop(at)
    text = texts[number - first]
    read.rejected.append((number, text, LINE_FEED))
    read.possible.extend((number, each) for each in half_readings(text, zone))


def _is_odd(text: str) -> bool:
    """Whether it holds two beginnings of a record."""
    return text.count(HEAD) > 1


def _read_odd(
    text: str,
    number: int,
    zone: Zone,
    read: _Read,
    *,
    is_whole: bool = True,
    raw: bytes | None = None,
) -> None:
    found = read_text(text, zone, is_whole=is_whole, raw=raw)
    if found.request is not None:
        row, micros = found.request
        read.rows.append(row)
        read.times.append(micros)
        read.lines.append(number)
    read.rejected.extend((number, *each) for each in found.rejected)
    read.possible.extend((number, each) for each in found.possible)


def _texts(lines: bytes) -> tuple[list[str], Mapping[int, bytes]]:
    """Line by line, and those of them that are not UTF-8, as they are."""
    try:
        return lines.decode().split("\n"), {}
    except UnicodeDecodeError:
        parts = lines.split(b"\n")
        texts = [_shown(part) for part in parts]
        return texts, {at: parts[at] for at, text in enumerate(texts) if text.encode() != parts[at]}


def _shown(line: bytes) -> str:
    return line.decode(errors="backslashreplace")


def _batches(read: _Read, file: str, broker: str) -> Iterator[pa.RecordBatch]:
    same = {"file": file, "broker": broker}
    if read.rows:
        columns = dict(zip(Row._fields, zip(*read.rows, strict=True), strict=True))
        times = pa.array(read.times, pa.timestamp("us", "UTC"))
        yield _batch(len(read.rows), same, read.lines, columns, {"time": times, "day": times})
    if read.rejected:
        lines, texts, reasons = zip(*read.rejected, strict=True)
        yield _batch(len(lines), same, lines, {"text": texts, "reason": reasons})
    if read.possible:
        lines, possible = zip(*read.possible, strict=True)
        columns = dict(
            zip(Row._fields, zip(*(each.row for each in possible), strict=True), strict=True)
        )
        times = pa.array([each.micros for each in possible], pa.timestamp("us", "UTC"))
        columns["possible"] = (True,) * len(lines)
        yield _batch(len(lines), same, lines, columns, {"time": times, "day": times})


def _batch(
    size: int,
    same: Mapping[str, str],
    lines: Sequence[int],
    values: Mapping[str, Sequence[Any]],
    arrays: Mapping[str, pa.Array] = MappingProxyType({}),
) -> pa.RecordBatch:
    columns = []
    for field in SCHEMA:
        if field.name in arrays:
            column = arrays[field.name].cast(field.type)
        elif field.name in same:
            column = pa.repeat(same[field.name], size)
        elif field.name == "line":
            column = pa.array(lines, field.type)
        elif field.name in values:
            column = _column(values[field.name], field.type)
        else:
            column = pa.nulls(size, field.type)
        columns.append(column)
    return pa.record_batch(columns, schema=SCHEMA)


def _column(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """As Arrow has them; half of a surrogate pair, which JSON can hold and UTF-8 cannot, shows
    as an escape."""
    try:
        return pa.array(values, kind)
    except UnicodeEncodeError:
        return pa.array(
            [value and _shown(value.encode(errors="surrogatepass")) for value in values]
        )
