"""Turns lines of audit logs into rows: requests, rejected lines and possible requests.

In a file, the rows of a line do not depend on other lines, so the file can be read in any splits.
``file_context`` adds the facts that only other lines show. A line is ambiguous in these cases:

- It has bytes that are not UTF-8; rows show these bytes as escapes.
- A hostile name or two joined lines can have made the line.
- Its time occurred twice, because clocks were set back.

This module must not know Spark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from authorizer.audit.layouts import NOT_AUDIT, Zone
from authorizer.audit.line import Row
from metalog_spark.ingest.lines.audit_lines import (
    EMPTY,
    Possible,
    half_readings,
    read_text,
    whole_readings,
)
from metalog_spark.ingest.lines.common_lines import Common, common_lines

NOT_AUDIT_REASONS: Final = (NOT_AUDIT, EMPTY)
LOST: Final = "deleted unread"
LOST_OFFSETS: Final = rf"^{LOST}: offsets (\d+) to (\d+)$"
"""Matches the reason of a row that stands for lost records."""
_TEXTS: Final = (
    "principal", "host", "operation", "resource_type", "resource_name", "pattern_type",
    "request_name",
)  # fmt: skip
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
        ("zone", pa.string()),
        ("start", pa.int64()),
        ("lines", pa.int64()),
        ("bytes", pa.int64()),
        ("size", pa.int64()),
        ("head", pa.list_(pa.int64())),
    ]
)
"""The columns of ``requests.READ``. ``start`` is the position of the split in the file, in bytes.
The columns after ``start`` are those of ``ReadSplit``; only the row about a split has them."""


class ReadSplit(NamedTuple):
    """``bytes`` is the length of the split's lines, with an LF for each line. ``size`` is the
    file's length. For a packed file, both are the unpacked length. Only a file's first split has
    fingerprints of the file's beginning (``head``)."""

    lines: int
    bytes: int
    size: int
    head: Sequence[int]


MARK_SURPLUS: Final = 2
"""How much less ``bytes`` is than ``size``, for a file with a byte order mark and no LF at its end.
Hadoop removes the mark (three bytes), and ``bytes`` counts the LF (one byte)."""


class Origin(NamedTuple):
    """The origin of lines. For each line, ``indexes`` has the index into ``files`` and
    ``brokers``, ``starts`` has the start of its split, and ``numbers`` has its number."""

    files: Sequence[str]
    brokers: Sequence[str]
    indexes: NDArray[np.int64]
    starts: NDArray[np.int64]
    numbers: NDArray[np.int64]

    def columns(self, places: NDArray[np.int64]) -> dict[str, pa.Array]:
        indexes = pa.array(self.indexes[places])
        return {
            "file": pa.array(self.files, pa.string()).take(indexes),
            "broker": pa.array(self.brokers, pa.string()).take(indexes),
            "start": pa.array(self.starts[places]),
            "line": pa.array(self.numbers[places]),
        }


class _Read(NamedTuple):
    """Each tuple begins with the position of its line."""

    rows: list[tuple[int, Row, int]]
    rejected: list[tuple[int, str, str]]
    possible: list[tuple[int, Possible]]


def read_lines(
    lines: pa.BinaryArray,
    origin: Origin,
    zone: Zone,
    *,
    faults: Mapping[int, str] = MappingProxyType({}),
    unended: AbstractSet[int] = frozenset(),
    shared: AbstractSet[int] = frozenset(),
) -> list[pa.RecordBatch]:
    """Parse ``lines`` into batches of requests, rejected lines and possible requests.

    ``faults``, ``unended`` and ``shared`` have positions of lines:

    - A line with a fault is rejected. It can be the beginning of a request.
    - An unended line has no LF. It is a request only if it has a rule.
    - A shared line is one of several lines of a record. It is ambiguous.
    """
    common = _without(common_lines(lines, zone), faults)
    is_uncommon = np.ones(len(lines), np.bool_)
    is_uncommon[common.places] = False
    ambiguous = np.zeros(len(common.places), np.bool_)
    if shared:
        ambiguous = np.isin(common.places, list(shared))
    read = _Read([], [], [])
    for place in np.flatnonzero(is_uncommon).tolist():
        line = lines[place].as_py()
        if place in faults:
            text = shown(line)
            read.rejected.append((place, text, faults[place]))
            read.possible.extend((place, each) for each in half_readings(text, zone))
        else:
            _read_uncommon(line, place, zone, read, unended, shared)
    batches = [_common_batch(common, ambiguous, origin)] if len(common.places) else []
    return [*batches, *_uncommon_batches(read, origin)]


def record_readings(lines: bytes, place: int, origin: Origin, zone: Zone) -> list[pa.RecordBatch]:
    """The possible requests of a record if its ``lines`` are one audit line with line feeds in
    names. ``place`` is the position of the record's first line."""
    found = whole_readings(shown(lines), zone)
    return list(_uncommon_batches(_Read([], [], [(place, each) for each in found]), origin))


def split_batch(rows: Sequence[tuple[ReadSplit, str, str, int]]) -> pa.RecordBatch:
    splits, files, brokers, starts = zip(*rows, strict=True)
    values = {"file": files, "broker": brokers, "start": starts}
    values |= dict(zip(ReadSplit._fields, zip(*splits, strict=True), strict=True))
    columns = {name: pa.array(each, SCHEMA.field(name).type) for name, each in values.items()}
    return _batch(len(rows), columns)


def shown(line: bytes) -> str:
    return line.decode(errors="backslashreplace")


def _without(common: Common, faults: Mapping[int, str]) -> Common:
    if not faults:
        return common
    is_good = ~np.isin(common.places, list(faults))
    mask = pa.array(is_good)
    columns = {name: column.filter(mask) for name, column in common.columns.items()}
    return Common(common.places[is_good], common.micros[is_good], columns)


def _read_uncommon(
    line: bytes,
    place: int,
    zone: Zone,
    read: _Read,
    unended: AbstractSet[int],
    shared: AbstractSet[int],
) -> None:
    text = shown(line)
    raw = line if text.encode() != line else None
    found = read_text(text, zone, is_whole=place not in unended, raw=raw)
    if found.request is not None:
        row, micros = found.request
        if place in shared:
            row = row._replace(ambiguous=True)
        read.rows.append((place, row, micros))
    read.rejected.extend((place, *each) for each in found.rejected)
    read.possible.extend((place, each) for each in found.possible)


def _common_batch(common: Common, ambiguous: NDArray[np.bool_], origin: Origin) -> pa.RecordBatch:
    times = pa.array(common.micros).cast(pa.timestamp("us", "UTC"))
    columns = {**common.columns, **_timed(times), "ambiguous": pa.array(ambiguous)}
    return _batch(len(common.places), columns | origin.columns(common.places))


def _uncommon_batches(read: _Read, origin: Origin) -> list[pa.RecordBatch]:
    batches = []
    if read.rows:
        places, rows, micros = zip(*read.rows, strict=True)
        batches.append(_row_batch(places, rows, micros, origin))
    if read.rejected:
        places, texts, reasons = zip(*read.rejected, strict=True)
        columns = {"text": _column(texts, pa.string()), "reason": pa.array(reasons)}
        columns |= origin.columns(np.array(places, np.int64))
        batches.append(_batch(len(places), columns))
    if read.possible:
        places, found = zip(*read.possible, strict=True)
        rows, micros, zones = zip(*found, strict=True)
        more = {"possible": pa.repeat(True, len(places)), "zone": pa.array(zones, pa.string())}
        batches.append(_row_batch(places, rows, micros, origin, more))
    return batches


def _row_batch(
    places: Sequence[int],
    rows: Sequence[Row],
    micros: Sequence[int | None],
    origin: Origin,
    more: Mapping[str, pa.Array] = MappingProxyType({}),
) -> pa.RecordBatch:
    values = dict(zip(Row._fields, zip(*rows, strict=True), strict=True))
    columns = {name: _column(each, SCHEMA.field(name).type) for name, each in values.items()}
    columns |= _timed(pa.array(micros, pa.timestamp("us", "UTC")))
    return _batch(len(places), {**columns, **more, **origin.columns(np.array(places, np.int64))})


def _timed(times: pa.Array) -> dict[str, pa.Array]:
    return {"time": times, "day": times.cast(pa.date32())}


def _batch(size: int, columns: Mapping[str, pa.Array]) -> pa.RecordBatch:
    found = [columns.get(field.name, None) for field in SCHEMA]
    arrays = [
        pa.nulls(size, field.type) if column is None else column
        for field, column in zip(SCHEMA, found, strict=True)
    ]
    return pa.record_batch(arrays, schema=SCHEMA)


def _column(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Half of a surrogate pair becomes an escape: JSON can contain it, but UTF-8 cannot."""
    try:
        return pa.array(values, kind)
    except UnicodeEncodeError:
        return pa.array([value and shown(value.encode(errors="surrogatepass")) for value in values])
