"""The history of ACLs in an ``Archive`` of logs: known offset ranges, and lifetimes of ACLs.

A known range begins at offset 0 or at a snapshot. The range ends at a gap, at damage or at the
log's end. An ACL that is missing after a gap ended in the gap. Any worker can scan a split;
``history_of`` combines the scans. This module must not know Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain, groupby, islice
from operator import itemgetter
from typing import Any, Final, NamedTuple

from authorizer.analysis.changes.changes import changes
from authorizer.history.timeline import Edge, TimelineChange, lifetimes
from metalog.acl import Acl
from metalog.errors import CorruptLog
from metalog.ids import SnapshotId, Uuid
from metalog.loader.other_kafka import metadata_version_in, traces_in_records
from metalog.log.folder.single_file import SegmentSplit
from metalog.records.acl_codes import acl_of
from metalog.records.batch import Batch
from metalog.records.checkpoint import check_snapshot
from metalog.records.frame import Undecodable, decode_value
from metalog.records.messages import (
    AbortTransactionRecord,
    AccessControlEntryRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    SnapshotHeaderRecord,
)
from metalog_spark.history.archive import Archive, Member
from metalog_spark.history.relevant_records import check_relevant, relevant
from metalog_spark.history.splits import LogHole, LogSplit
from snapshot.reader import read_snapshot

KNOWN: Final = "KNOWN"
GAP: Final = "GAP"
DAMAGED: Final = "DAMAGED"
ADVICE: Final = "take the log from another copy"
_NO_SNAPSHOT: Final = "there are records, but no snapshot from which to replay them"


class RelevantRecord(NamedTuple):
    """``time_ms`` is the latest time in the split up to this record's batch."""

    offset: int
    time_ms: int
    value: bytes


class ScannedSplit(NamedTuple):
    """The records ``found`` up to offset ``reached``, and the ``damage`` there, if any. The times
    are those of the split's batches."""

    found: Sequence[RelevantRecord]
    reached: int
    first_ms: int | None
    latest_ms: int | None
    damage: str | None


class HistoryRange(NamedTuple):
    """A row of HISTORY without ``source``."""

    kind: str
    start: int
    end: int
    start_ms: int | None
    end_ms: int | None
    why: str | None = None


class ChangelogRow(NamedTuple):
    """A row of ACL_CHANGELOG; ``begin`` has the columns ``from_*``, ``end`` has ``to_*``."""

    id: Uuid
    acl: Acl
    begin: Edge | None
    begin_known: bool
    end: Edge | None
    end_known: bool
    source: str


class ArchiveHistory(NamedTuple):
    """``foreign`` are texts about skipped record types, and about a metadata.version that Kafka 4.4
    refuses. ``metadata_version`` is the last metadata.version."""

    ranges: Sequence[HistoryRange]
    lifetimes: Sequence[ChangelogRow]
    foreign: Sequence[str] = ()
    metadata_version: int | None = None


def scan(piece: LogSplit) -> ScannedSplit:
    """Read the split ``piece`` up to its end, or to the first damage."""
    records: list[RelevantRecord] = []
    reached = piece.start
    first_ms: int | None = None
    latest_ms = 0
    damage: str | None = None
    try:
        for batch in piece.batches():
            latest_ms = max(latest_ms, batch.max_timestamp)
            first_ms = latest_ms if first_ms is None else first_ms
            for offset, value in relevant(batch):
                if piece.start <= offset < piece.until:
                    check_relevant(value, batch, offset)
                    records.append(RelevantRecord(offset, latest_ms, value))
            reached = min(batch.next_offset, piece.end)
        reached = piece.end
    except CorruptLog as error:
        damage = error.found
        if error.offset is not None:
            reached = min(max(error.offset, reached), piece.end)
    latest = None if first_ms is None else latest_ms
    return ScannedSplit(records, reached, first_ms, latest, damage)


def check_ends(archive: Archive, advice: str = ADVICE) -> None:
    """Check the logs' ends.

    Raises:
        CorruptLog: a log is damaged at its end.
    """
    for part in archive.parts:
        if isinstance(part, LogHole) and part.is_damage:
            raise CorruptLog(part.why, advice=advice)


def history_of(
    archive: Archive,
    scanned: Mapping[int, ScannedSplit],
    *,
    skip_damaged: bool = False,
    advice: str = ADVICE,
) -> ArchiveHistory:
    """``scanned`` has the scan of each split, by the split's index in ``archive.parts``. With
    ``skip_damaged``, each damage becomes one of the ``ranges``.

    Raises:
        CorruptLog: the log is damaged, and ``skip_damaged`` is false.
    """
    ranges: list[HistoryRange] = []
    replayed: list[_ReplayedRange] = []
    latest_ms = 0
    for run in _runs(archive, scanned):
        if isinstance(run, LogHole):
            if run.is_damage and not skip_damaged:
                raise CorruptLog(run.why, advice=advice)
            ranges.append(_lost(run.is_damage, run.start, run.end, run.why))
            continue
        if run.end == 0 < archive.end:
            continue
        base, unknown = _based(run, archive.snapshots, None if skip_damaged else advice)
        ranges += unknown
        if base is None:
            continue
        found = [record for record in run.found if record.offset >= base.offset]
        latest_ms = max(latest_ms, base.time_ms or 0)
        end_ms = max(latest_ms, run.latest_ms or 0)
        times = accumulate((each.time_ms for each in found), max, initial=latest_ms)
        records = [
            (each.offset, time_ms, decode_value(each.value)[1])
            for each, time_ms in zip(found, islice(times, 1, None), strict=True)
        ]
        latest_ms = end_ms
        start_ms = run.first_ms if base.time_ms is None else base.time_ms
        ranges.append(HistoryRange(KNOWN, base.offset, run.end, start_ms, end_ms))
        replayed.append(_ReplayedRange(base, start_ms, run.end, end_ms, records))
    read = ((at, message) for each in replayed for at, _, message in each.records)
    versions = [
        (at, message)
        for at, message in chain(*(each.base.foreign for each in replayed), read)
        if isinstance(message, Undecodable | FeatureLevelRecord)
    ]
    lifetimes = list(_lifetimes(replayed, archive.source_at()))
    foreign = [*traces_in_records(versions).values()]
    return ArchiveHistory(_with_times(ranges), lifetimes, foreign, metadata_version_in(versions))


class _Run(NamedTuple):
    """The records of consecutive splits without a gap or damage."""

    start: int
    end: int
    found: Sequence[RelevantRecord]
    first_ms: int | None
    latest_ms: int | None


class _Base(NamedTuple):
    """The start of a known range: the ACLs at ``offset`` according to ``source``. ``time_ms`` is
    the time of the last record before ``offset``."""

    offset: int
    time_ms: int | None
    acls: Mapping[Uuid, Acl]
    source: str
    foreign: Sequence[tuple[int, Any]] = ()


class _ReplayedRange(NamedTuple):
    base: _Base
    start_ms: int | None
    end: int
    end_ms: int
    records: Sequence[tuple[int, int, Any]]


def _runs(archive: Archive, scanned: Mapping[int, ScannedSplit]) -> Iterator[_Run | LogHole]:
    run = _Run(archive.start, archive.start, (), None, None)
    for number, part in enumerate(archive.parts):
        if isinstance(part, LogHole):
            yield run
            yield part
            run = _Run(part.end, part.end, (), None, None)
        elif part.end <= archive.end:
            if part.start > run.end:
                run = run._replace(end=part.start)
            result = _up_to_invalid_marker(run, scanned[number], part, archive.text)
            run = _joined(run, result)
            if result.damage is not None:
                yield run
                yield LogHole(result.reached, part.end, result.damage, is_damage=True)
                run = _Run(part.end, part.end, (), None, None)
    if run.start <= archive.end:
        yield run


def _joined(run: _Run, result: ScannedSplit) -> _Run:
    latest = [each for each in (run.latest_ms, result.latest_ms) if each is not None]
    before_ms = run.latest_ms or 0
    later = (each._replace(time_ms=max(each.time_ms, before_ms)) for each in result.found)
    return _Run(
        run.start,
        result.reached,
        [*run.found, *later],
        result.first_ms if run.first_ms is None else run.first_ms,
        max(latest, default=None),
    )


def _up_to_invalid_marker(
    run: _Run, result: ScannedSplit, piece: LogSplit, text: str
) -> ScannedSplit:
    """``result``, the scan of the split after ``run``, up to the first invalid marker."""
    is_open = _is_open(run)
    for count, (offset, _, value) in enumerate(result.found):
        message = decode_value(value)[1]
        if isinstance(message, BeginTransactionRecord):
            problem = "a transaction begins inside another" if is_open else None
            is_open = True
        elif isinstance(message, EndTransactionRecord | AbortTransactionRecord):
            problem = "a transaction ends that never began" if is_open is False else None
            is_open = False
        else:
            continue
        if problem is not None:
            file = str(piece.split.path) if isinstance(piece.split, SegmentSplit) else text
            fault = CorruptLog(problem, file=file, offset=offset)
            return result._replace(found=result.found[:count], reached=offset, damage=str(fault))
    return result


def _is_open(run: _Run) -> bool | None:
    """Whether a transaction is open after ``run``; None if it is unknown."""
    for record in reversed(run.found):
        message = decode_value(record.value)[1]
        if isinstance(message, BeginTransactionRecord):
            return True
        if isinstance(message, EndTransactionRecord | AbortTransactionRecord):
            return False
    return False if run.start == 0 else None


def _based(
    run: _Run, snapshots: Iterable[tuple[SnapshotId, Member]], advice: str | None
) -> tuple[_Base | None, list[HistoryRange]]:
    """The first known ACLs in ``run``, and the unknown ranges before them. With an ``advice``, a
    snapshot whose copies are all damaged raises ``CorruptLog``."""
    if run.start == 0:
        return _Base(0, None, {}, ""), []
    why, is_damage = _NO_SNAPSHOT, False
    unknown: list[HistoryRange] = []
    reached = run.start
    for snapshot, copies in groupby(snapshots, key=itemgetter(0)):
        if not run.start <= snapshot.end_offset <= run.end:
            continue
        if snapshot.end_offset > reached:
            unknown.append(_lost(is_damage, reached, snapshot.end_offset, why))
            reached = snapshot.end_offset
        faults = []
        for _, member in copies:
            try:
                return _snapshot_base(member, snapshot), unknown
            except CorruptLog as error:
                faults.append(error.found)
        if advice is not None:
            raise CorruptLog(faults[0], advice=advice)
        why, is_damage = faults[0], True
    if reached < run.end or is_damage:
        unknown.append(_lost(is_damage, reached, run.end, why))
    return None, unknown


def _snapshot_base(member: Member, id: SnapshotId) -> _Base:
    time_ms: int | None = None
    acls: dict[Uuid, Acl] = {}
    foreign: list[tuple[int, Any]] = []

    def batches() -> Iterator[Batch]:
        nonlocal time_ms
        for batch in read_snapshot(member.log, id):
            if time_ms is None:
                headers = (
                    entry for entry in batch.messages() if isinstance(entry, SnapshotHeaderRecord)
                )
                time_ms = next((header.last_contained_log_timestamp for header in headers), None)
            yield batch

    for batch in check_snapshot(batches()):
        for offset, value in relevant(batch):
            check_relevant(value, batch, offset)
            message = decode_value(value)[1]
            if isinstance(message, AccessControlEntryRecord):
                acls[message.id] = acl_of(message)
            elif isinstance(message, Undecodable | FeatureLevelRecord):
                foreign.append((offset, message))
    return _Base(id.end_offset, time_ms, acls, member.place, foreign)


def _lost(is_damage: bool, start: int, end: int, why: str) -> HistoryRange:
    return HistoryRange(DAMAGED if is_damage else GAP, start, end, None, None, why)


def _with_times(ranges: Sequence[HistoryRange]) -> list[HistoryRange]:
    timed: list[HistoryRange] = []
    for number, each in enumerate(ranges):
        if each.kind != KNOWN:
            before = (known.end_ms for known in reversed(ranges[:number]) if known.kind == KNOWN)
            after = (known.start_ms for known in ranges[number:] if known.kind == KNOWN)
            each = each._replace(start_ms=next(before, None), end_ms=next(after, None))
        timed.append(each)
    return timed


def _lifetimes(
    replayed: Sequence[_ReplayedRange], source_at: Callable[[int], str]
) -> Iterator[ChangelogRow]:
    lasting: dict[Uuid, ChangelogRow] = {}
    before: _ReplayedRange | None = None
    for part in replayed:
        unknown_begin = None if before is None else Edge(part.base.offset, part.start_ms or 0)
        earlier_open, lasting = lasting, {}
        for lifetime in lifetimes(part.base.acls, _acl_changes(part)):
            earlier = earlier_open.pop(lifetime.id, None) if lifetime.begin is None else None
            if earlier is not None and earlier.acl == lifetime.acl:
                begin, begin_known, source = earlier.begin, earlier.begin_known, earlier.source
            else:
                begin, begin_known = (
                    lifetime.begin or unknown_begin,
                    lifetime.begin is not None or unknown_begin is None,
                )
                source = source_at(lifetime.begin.at - 1) if lifetime.begin else part.base.source
                if earlier is not None:
                    earlier_open[lifetime.id] = earlier
            seen = ChangelogRow(
                lifetime.id, lifetime.acl, begin, begin_known, lifetime.end, True, source
            )
            if lifetime.end is None:
                lasting[lifetime.id] = seen
            else:
                yield seen
        if before is not None:
            end = Edge(before.end, before.end_ms)
            yield from (each._replace(end=end, end_known=False) for each in earlier_open.values())
        before = part
    yield from lasting.values()


def _acl_changes(part: _ReplayedRange) -> Iterator[TimelineChange]:
    return (
        change
        for change in changes(row for row in part.records if type(row[2]) is not Undecodable)
        if isinstance(change, TimelineChange)
    )
