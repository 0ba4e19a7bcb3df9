"""Previews a build without Spark, from samples of the audit files.

This module writes nothing. It reads at most ``_SAMPLE`` bytes at each end of an audit file, so line
counts can be estimates. It must not know Spark, nor how anything is shown.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator, Sequence, Set
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from authorizer.audit.layouts import Zone, read_entry
from authorizer.audit.line import read_row
from metalog.errors import InvalidRequest
from metalog_spark.ingest.audit_files import GZIP_MAGIC, broker_of
from metalog_spark.store.plain_view import CURRENT, days_of
from metalog_spark.store.preflight import files_named
from metalog_spark.store.tables import ACL_CHANGELOG, CONFIGURATION, FILES, HISTORY, REQUESTS

if TYPE_CHECKING:
    from metalog_spark.history.archive import Archive, Logs
    from metalog_spark.history.configuration import Configuration

_SAMPLE: Final = 128 << 10
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_Stamp = tuple[str, int, int]
"""A build recognizes a file by its path, length in bytes, and modification time in milliseconds
since 1970."""


class FileLook(NamedTuple):
    """A preview of an audit file. ``size`` is in bytes; ``lines`` can be an estimate.

    ``first`` and ``last`` are the times of the first and last audit line, or None if unknown.
    ``last`` is unknown for a compressed file that was not read whole. ``is_known``: an earlier
    build has read the file.
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
        """The days from ``first`` to ``last``; without ``last``, only the day of ``first``."""
        if self.first is not None:
            end = (self.last or self.first).date()
            for number in range((end - self.first.date()).days + 1):
                yield self.first.date() + timedelta(number)


class MissingRecords(NamedTuple):
    """The first ``offset`` of a gap in the metadata log, and the reason for the gap."""

    offset: int
    why: str


class RepeatedHour(NamedTuple):
    """A range of clock time that came twice because clocks were set back. ``files`` has the paths
    of files whose times overlap this range."""

    clock: str
    files: Sequence[str]


class DryRun(NamedTuple):
    """``days``: the days of the files that a build would read. ``again``: the days whose stored
    requests the build would decide again. ``stale``: the part of ``again`` on which the changed log
    or configuration can decide differently. ``start``, ``end`` (exclusive): the log's offsets."""

    files: Sequence[FileLook]
    days: Sequence[date]
    again: Sequence[date]
    stale: Sequence[date]
    start: int
    end: int
    gaps: Sequence[MissingRecords]
    repeated: Sequence[RepeatedHour] = ()


def dry_run(
    audit: Iterable[str],
    archive: Archive,
    out: Path,
    zone: Zone,
    broker_from: re.Pattern[str] | None,
    *,
    stale: Set[date] = frozenset(),
) -> DryRun:
    """Preview a build of ``audit`` and ``archive`` into the folder ``out``. ``stale`` is the result
    of ``stale_days_in``."""
    from metalog_spark.history.splits import LogHole

    paths = dict.fromkeys(path for pattern in audit for path in sorted(files_named(pattern)))
    known = _known_files(out)
    files = [_look(path, zone, broker_of(str(path), broker_from), known) for path in paths]
    days = sorted({day for file in files if not file.is_known for day in file.days})
    there = _days_with_requests(out)
    gaps = [
        MissingRecords(part.start, part.why) for part in archive.parts if isinstance(part, LogHole)
    ]
    again = sorted((there & set(days)) | stale)
    repeated = [*_repeated([file for file in files if not file.is_known], days, zone)]
    return DryRun(files, days, again, sorted(stale), archive.start, archive.end, gaps, repeated)


def stale_days_in(
    out: Path, logs: Logs, configuration: Configuration, *, skip_damaged: bool
) -> Set[date]:
    """The days with requests in ``out`` on which ``logs`` or ``configuration`` can decide
    differently than at the last build. If ``out`` has requests, this function reads
    all of ``logs``.

    Raises:
        CorruptLog: the log is damaged, and ``skip_damaged`` is false.
    """
    from pyarrow import parquet

    from authorizer.kafka_version import version_for
    from metalog_spark.decide.invalidation import deciding_by, stale_days
    from metalog_spark.history.changelog import read_changelog

    current = (out / CURRENT).resolve()
    places = [current / table.name for table in (ACL_CHANGELOG, HISTORY, CONFIGURATION)]
    days = _days_with_requests(out)
    if not days or not all(place.is_dir() for place in places):
        return frozenset()
    before = deciding_by(*(parquet.read_table(place) for place in places))
    changelog, history, level = read_changelog(None, logs, skip_damaged=skip_damaged)
    configuration = configuration.with_default(version_for(level))
    now = deciding_by(changelog, history, configuration.table())
    return stale_days(before, now, days)


def _days_with_requests(out: Path) -> Set[date]:
    return frozenset(map(date.fromisoformat, days_of(out, REQUESTS)))


def _known_files(out: Path) -> Set[_Stamp]:
    from pyarrow import parquet

    stamps = set()
    for file in (out / CURRENT / FILES.name).glob("*.parquet"):
        rows = parquet.read_table(file, columns=["path", "length", "modified"]).to_pylist()
        for row in rows:
            ms = (row["modified"] - _EPOCH) // timedelta(milliseconds=1)
            stamps.add((row["path"], row["length"], ms))
    return stamps


def _repeated(
    files: Sequence[FileLook], days: Iterable[date], zone: Zone
) -> Iterator[RepeatedHour]:
    starts = ((day - _EPOCH.date()) // _MICROSECOND for day in days)
    for span in dict.fromkeys(filter(None, map(zone.repeated_on, starts))):
        begin, end = (_EPOCH + _MICROSECOND * us for us in (span.begin_us, span.end_us))
        covering = [
            file.path
            for file in files
            if file.first is not None and file.first < end and (file.last or file.first) >= begin
        ]
        if covering:
            yield RepeatedHour(zone.clock_span(span), covering)


def _look(path: Path, zone: Zone, broker: str, known: Set[_Stamp]) -> FileLook:
    status = path.stat()
    size = status.st_size
    stamp = str(path.absolute()), size, status.st_mtime_ns // 1_000_000
    with path.open("rb") as file:
        sample = file.read(_SAMPLE)
        is_packed = sample.startswith(GZIP_MAGIC)
        head, read = _unpacked(sample) if is_packed else (sample, len(sample))
        tail = b""
        if not is_packed and size > _SAMPLE:
            file.seek(size - _SAMPLE)
            tail = file.read(_SAMPLE).partition(b"\n")[2]
    is_whole = read >= size
    lines = head.count(b"\n") + (is_whole and not head.endswith(b"\n") and bool(head))
    estimate = lines if is_whole or not read else lines * size // read
    first = next(_times(head.split(b"\n"), zone), None)
    end = head if is_whole else tail
    last = next(_times(reversed(end.split(b"\n")), zone), None)
    return FileLook(str(path), broker, size, is_packed, estimate, first, last, stamp in known)


def _unpacked(packed: bytes) -> tuple[bytes, int]:
    """The decompressed content, and the number of its compressed bytes."""
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
