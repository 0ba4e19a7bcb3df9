"""Previews a build from each file's beginning and end, without Spark.

It writes nothing, and reads at most ``_SAMPLE`` bytes at either end of a file. So line counts are
estimates, and the times are those of the first and last audit lines in these bytes. This module
must not know Spark, nor how anything is shown.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator, Sequence, Set
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple

from authorizer.audit.layouts import Zone, read_entry
from authorizer.audit.line import read_row
from metalog.errors import InvalidRequest
from metalog_spark.ingest.audit_files import GZIP_MAGIC, broker_of
from metalog_spark.store.plain_view import CURRENT, days_of
from metalog_spark.store.preflight import files_named
from metalog_spark.store.tables import FILES, REQUESTS

if TYPE_CHECKING:
    from metalog_spark.history.archive import Archive

_SAMPLE: Final = 128 << 10
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_Stamp = tuple[str, int, int]
"""Path, length and modification time in milliseconds, by which a build recognizes a file."""


class FileLook(NamedTuple):
    """A preview of a file. ``lines`` is an estimate.

    ``first`` and ``last`` are times of audit lines; None if there are none, or if a compressed
    file would have to be decompressed whole. ``is_known``: an earlier build has read the file, and
    it is not read again.
    """

    path: str
    broker: str
    size: int
    is_packed: bool
    lines: int
    first: datetime | None
    last: datetime | None
    is_known: bool = False

    @property
    def days(self) -> Iterator[date]:
        """The days from the first to the last line."""
        if self.first is not None:
            end = (self.last or self.first).date()
            for number in range((end - self.first.date()).days + 1):
                yield self.first.date() + timedelta(number)


class MissingRecords(NamedTuple):
    """The first ``offset`` of missing records of the metadata log, and why they are missing."""

    offset: int
    why: str


class DryRun(NamedTuple):
    """The result. ``days`` are the days with lines in the ``files``; ``again`` are those that the
    folder already has. The log ranges from ``start`` to ``end``, exclusive."""

    files: Sequence[FileLook]
    days: Sequence[date]
    again: Sequence[date]
    start: int
    end: int
    gaps: Sequence[MissingRecords]


def dry_run(
    audit: Iterable[str],
    archive: Archive,
    out: Path,
    zone: Zone,
    broker_from: re.Pattern[str] | None,
) -> DryRun:
    """The effect that a build of the audit files ``audit`` and of the log would have on ``out``."""
    from metalog_spark.history.splits import LogHole

    paths = dict.fromkeys(path for pattern in audit for path in sorted(files_named(pattern)))
    known = _known_files(out)
    files = [_look(path, zone, broker_of(str(path), broker_from), known) for path in paths]
    days = sorted({day for file in files if not file.is_known for day in file.days})
    there = set(days_of(out, REQUESTS))
    gaps = [
        MissingRecords(part.start, part.why) for part in archive.parts if isinstance(part, LogHole)
    ]
    again = [day for day in days if day.isoformat() in there]
    return DryRun(files, days, again, archive.start, archive.end, gaps)


def _known_files(out: Path) -> Set[_Stamp]:
    from pyarrow import parquet

    stamps = set()
    for file in (out / CURRENT / FILES.name).glob("*.parquet"):
        rows = parquet.read_table(file, columns=["path", "length", "modified"]).to_pylist()
        for row in rows:
            us = (row["modified"] - _EPOCH) // timedelta(microseconds=1)
            stamps.add((row["path"], row["length"], us // 1000))
    return stamps


def _look(path: Path, zone: Zone, broker: str, known: Set[_Stamp]) -> FileLook:
    status = path.stat()
    size = status.st_size
    stamp = str(path.absolute()), size, status.st_mtime_ns // 1_000_000
    with path.open("rb") as file:
        is_packed = file.read(len(GZIP_MAGIC)) == GZIP_MAGIC
        file.seek(0)
        begins, read = _unpacked(file) if is_packed else _beginning(file)
        ends = b"" if is_packed or size <= _SAMPLE else _end(file, size)
    is_whole = read >= size
    lines = begins.count(b"\n") + (is_whole and not begins.endswith(b"\n") and bool(begins))
    estimate = lines if is_whole or not read else lines * size // read
    first = next(_times(begins.split(b"\n"), zone), None)
    tail = begins if is_whole else ends
    last = next(_times(reversed(tail.split(b"\n")), zone), None)
    return FileLook(str(path), broker, size, is_packed, estimate, first, last, stamp in known)


def _beginning(file: BinaryIO) -> tuple[bytes, int]:
    begin = file.read(_SAMPLE)
    return begin, len(begin)


def _end(file: BinaryIO, size: int) -> bytes:
    file.seek(size - _SAMPLE)
    return file.read(_SAMPLE).partition(b"\n")[2]


def _unpacked(file: BinaryIO) -> tuple[bytes, int]:
    """The decompressed content of the first bytes, and the number of compressed bytes read. In a
    damaged file, only the content before the damage."""
    packed = file.read(_SAMPLE)
    content, left = b"", packed
    while left and len(content) < _SAMPLE:
        unpacker = zlib.decompressobj(16 + zlib.MAX_WBITS)
        try:
            content += unpacker.decompress(left, _SAMPLE - len(content))
        except zlib.error:
            break
        if not unpacker.eof:
            left = unpacker.unconsumed_tail
            break
        left = unpacker.unused_data
    return content, len(packed) - len(left)


def _times(lines: Iterable[bytes], zone: Zone) -> Iterator[datetime]:
    for line in lines:
        try:
            entry = read_entry(line.decode("utf-8", "replace"), zone)
            read_row(entry.text)
        except InvalidRequest:
            continue
        yield _EPOCH + timedelta(microseconds=entry.micros)
