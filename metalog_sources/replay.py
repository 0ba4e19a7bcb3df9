"""Replays a SOURCE into an image.

A replay begins with the newest undamaged snapshot that is not newer than the wanted offset, or at
the log's beginning.
The replay reports damaged snapshots. This module must not print, and must not know what the image
is used for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from metalog.errors import CorruptLog, InvalidSource
from metalog.gc_pause import gc_paused
from metalog.ids import FORMATTED_SNAPSHOT, SnapshotId
from metalog.image.metadata import MetadataImage
from metalog.image.selection import ImageSelection
from metalog.loader import LoadDoubt, Loader, OpenTransaction, Ready, Skipped
from metalog.log.folder.commit import Proven
from metalog.log.folder.directory import DirectoryLog
from metalog.log.folder.merged_folders import FoldersLog
from metalog.log.folder.single_file import CheckpointLog, SegmentLog
from metalog.log.opening import OpenedLog
from metalog.ports import Appended, Gap, HighWatermark, LogBounds
from metalog.records.batch import Batch
from metalog.records.fast_decode.acl_fast_decode import Part, messages_of
from metalog_sources.moment import Moment, ResolvedMoment, resolve_moment
from metalog_sources.record_notes import RecordCounts, RecordNotes
from metalog_sources.source import Source
from metalog_sources.store import Store, image_of
from snapshot.log_range import read_range
from snapshot.reader import bases, read_snapshot, salvaged_snapshot

Progress = Callable[[int, int], None]
"""Called during a replay with the next offset and the target offset."""

_NO_OFFSETS: Final = "a store has no offsets"
UNPROVEN: Final = "nothing is proven to be committed"


class Replayed(NamedTuple):
    """A replayed source.

    ``image`` has the records below ``offset``, without the records of an open transaction. The
    replay began at ``snapshot``; None means the log's beginning. ``skipped`` counts the
    skipped records by type. ``metalog_sources.certainty`` defines ``doubts``. ``problems`` are
    lines for a person. ``ready`` is false for a log without a record below ``offset``.
    ``is_bootstrap`` is true if no node has started on the formatted folder yet.
    """

    source: Source
    image: MetadataImage
    offset: int
    bounds: LogBounds
    proven: Proven
    snapshots: tuple[SnapshotId, ...]
    snapshot: SnapshotId | None
    moment: ResolvedMoment | None
    ready: bool
    skipped: Mapping[str, Skipped]
    problems: tuple[str, ...]
    is_bootstrap: bool = False
    doubts: tuple[LoadDoubt, ...] = ()
    unread_users: tuple[LoadDoubt, ...] = ()
    """A store's doubts about SCRAM users; for a log, ``doubts`` includes such doubts."""
    loader: Loader | None = None
    """The loader, to continue the replay; None for a store."""
    notes: RecordNotes | None = None
    """The caller's notes about the records after ``snapshot``."""

    @property
    def open_transaction(self) -> OpenTransaction | None:
        return None if self.loader is None else self.loader.open_transaction

    @property
    def cluster_id(self) -> str | None:
        """The cluster id of a log; None if it is unknown."""
        return cluster_id_of(self.source)

    @property
    def metadata_version(self) -> str | None:
        """Kafka's name of the metadata.version, such as 4.3-IV0."""
        return self.image.features.metadata_version_name


def cluster_id_of(source: Source) -> str | None:
    """The cluster id of a log; None if it is unknown."""
    log = source.log
    if source.kind == "quorum":
        from metalog.log.quorum.observer import QuorumLog

        return log.cluster_id if isinstance(log, QuorumLog) else None
    folder = log.source if isinstance(log, FoldersLog) else log
    return folder.cluster_id if isinstance(folder, DirectoryLog) else None


def replay_source(
    source: Source,
    *,
    at: Moment | ResolvedMoment | None = None,
    committed: bool = False,
    tolerant: bool = False,
    salvage: bool = False,
    progress: Progress | None = None,
    selection: ImageSelection | None = None,
    notes: RecordNotes | None = None,
) -> Replayed:
    """The state of ``source`` at its end, or ``at`` a moment.

    ``committed`` ignores records that are not proven to be committed. ``tolerant`` counts faulty
    and missing records, and goes on. ``salvage`` reads a damaged snapshot or log up to the damage.
    ``selection`` names the kinds of state (``ImageSubject``) to read; None reads all. ``notes``
    gets the replayed records of the log.

    Raises:
        CorruptLog: damage, or a faulty or missing record, stops the replay.
        InvalidMoment: ``at`` cannot be reached.
        InvalidSource: the log cannot be read or is truncated meanwhile, or a store gets ``at`` or
            ``committed``.
    """
    if source.store is not None and at is None and not committed:
        return _state_of(source, source.store)
    log = source.log
    bounds, proven = log.bounds(), log.proven
    moment = None
    limit = bounds.end
    if at is not None:
        now_ms = int(time.time() * 1000)
        moment = at if isinstance(at, ResolvedMoment) else resolve_moment(at, log, now_ms=now_ms)
        limit = moment.offset
    unproven: list[str] = []
    if committed:
        limit = min(limit, proven.offset)
    if proven.offset == 0 and (isinstance(log, FoldersLog) or (committed and bounds.end > 0)):
        unproven.append(f"{UNPROVEN}: {proven.why}")
    replay = _Replay(log, limit, tolerant=tolerant, salvage=salvage, selection=selection)
    replay.notes = notes
    if log.damage is not None and at is None and limit == bounds.end:
        if not salvage:
            raise log.damage
        replay.note_damage(log.damage)
    if log.missing is not None and limit == bounds.end:
        if not tolerant:
            raise log.missing
        replay.doubts.append(LoadDoubt(1, log.missing))
    with gc_paused():
        loader = replay.run(progress)
    return Replayed(
        source=source,
        image=loader.image,
        offset=replay.limit,
        bounds=bounds,
        proven=proven,
        snapshots=tuple(log.snapshots()),
        snapshot=replay.base,
        moment=moment,
        ready=isinstance(loader.state, Ready) and replay.limit > 0,
        is_bootstrap=replay.is_bootstrap,
        doubts=(*loader.doubts.values(), *replay.doubts),
        skipped=loader.skipped,
        problems=(*log.problems, *unproven, *replay.problems),
        loader=loader,
        notes=notes,
    )


def _state_of(source: Source, store: Store) -> Replayed:
    state = store.state()
    return Replayed(
        source=source,
        image=image_of(state.document),
        offset=0,
        bounds=LogBounds(0, 0, 0, 0, _NO_OFFSETS),
        proven=Proven(0, _NO_OFFSETS),
        snapshots=(),
        snapshot=None,
        moment=None,
        ready=True,
        skipped={},
        problems=state.problems,
        doubts=state.doubts,
        unread_users=state.unread_users,
    )


class _Replay:
    """A replay begins at a base: a snapshot, or None for the log's beginning."""

    def __init__(
        self,
        log: OpenedLog,
        limit: int,
        *,
        tolerant: bool,
        salvage: bool,
        selection: ImageSelection | None,
    ) -> None:
        self._log = log
        self.notes: RecordNotes | None = None
        self._selection = selection
        self.limit = limit
        self._tolerant = tolerant
        self._salvage = salvage
        self.base: SnapshotId | None = None
        self.problems: list[str] = []
        self.doubts: list[LoadDoubt] = []
        self.is_bootstrap = False

    def note_damage(self, error: CorruptLog, salvaged: str = "the part before it") -> None:
        self.problems = [f"{error.found}; salvaged: {salvaged}"]
        self.doubts = [LoadDoubt(1, error)]

    def run(self, progress: Progress | None) -> Loader:
        loader = self._from_base()
        reached = loader.position
        try:
            for reached in self._feed(loader):
                if progress is not None:
                    progress(reached, self.limit)
        except CorruptLog as error:
            if not self._salvage or reached >= self.limit:
                raise
            self.limit = reached
            self.note_damage(error)
            return self.run(progress)
        return loader

    def _from_base(self) -> Loader:
        """A loader at the newest undamaged base, else at the salvaged newest snapshot."""
        damages: list[CorruptLog | InvalidSource] = []
        candidates = self._candidates()
        for base in candidates:
            try:
                loader = self._loaded(base, read_snapshot)
            except (CorruptLog, InvalidSource) as error:
                damages.append(error)
                continue
            used = "an older snapshot and the log" if base else "the log from its beginning"
            found = (each.found if isinstance(each, CorruptLog) else each for each in damages)
            self.problems.extend(f"{each}; used instead: {used}" for each in found)
            return loader
        damage = damages[0] if damages else None
        newest = next((base for base in candidates if base is not None), None)
        if damage is not None and newest is not None and self._salvage:
            fault = damage if isinstance(damage, CorruptLog) else CorruptLog(str(damage))
            self.note_damage(fault, "its readable part")
            return self._loaded(newest, salvaged_snapshot)
        raise damage or self._no_base()

    def _candidates(self) -> list[SnapshotId | None]:
        bounds, snapshots = self._log.bounds(), self._log.snapshots()
        candidates = bases(self.limit, bounds, snapshots)
        if isinstance(self._log, CheckpointLog):  # the file has only the snapshot
            return [base for base in candidates if base is not None]
        is_one_segment = not candidates and not snapshots and isinstance(self._log, SegmentLog)
        return [None] if is_one_segment else candidates

    def _loaded(
        self,
        base: SnapshotId | None,
        batches_of: Callable[[OpenedLog, SnapshotId], Iterable[Batch]],
    ) -> Loader:
        notes = self.notes
        if notes is not None:
            notes.clear()
        loader = Loader(
            tolerant=self._tolerant,
            selection=self._selection,
            note_records=None if notes is None else notes.note,
        )
        bootstrap = self._log.bootstrap()
        if bootstrap is not None:
            loader.load_snapshot(FORMATTED_SNAPSHOT, bootstrap)
            self.is_bootstrap = True
        elif base is not None:
            loader.load_snapshot(base, batches_of(self._log, base))
        self.base = base
        return loader

    def _feed(self, loader: Loader) -> Iterator[int]:
        """Yield the next offset after each event."""
        loader.handle(HighWatermark(self.limit))
        start = loader.position
        if self.base is None and (begin := self._log.bounds().start) > start:
            loader.handle(Gap(start, begin, lost=True))
            start = begin
        for event in read_range(self._log, start, self.limit):
            loader.handle(event)
            yield event.end if isinstance(event, Gap) else event.batch.next_offset

    def _no_base(self) -> CorruptLog:
        bounds = self._log.bounds()
        return CorruptLog(
            f"the log begins at offset {bounds.start}, and no snapshot has the earlier records",
            file=str(self._log.path),
            advice="copy the .checkpoint files too",
        )


def survey_rest(
    replayed: Replayed, counts: RecordCounts, progress: Callable[[int], None] = lambda offset: None
) -> CorruptLog | None:
    """Add the log's records that a replay did not read to its ``counts``; return the first damage.

    ``progress`` gets the next offset after every batch.
    """
    log, end = replayed.source.log, None
    if isinstance(log, CheckpointLog) or replayed.offset != log.bounds().end or log.damage:
        counts.clear()
    elif replayed.snapshot is None:
        return None
    else:
        end = replayed.snapshot.end_offset
    try:
        for batch in _batches_below(log, end):
            parts: Sequence[Part] = batch.parts()
            if end is not None and batch.next_offset > end:
                parts = messages_of(parts)[: end - batch.base_offset]
            counts.note(batch, batch.base_offset, parts)
            progress(batch.next_offset)
    except CorruptLog as error:
        return error
    return None


def _batches_below(log: OpenedLog, end: int | None) -> Iterator[Batch]:
    if isinstance(log, CheckpointLog):
        yield from log.open_snapshot(log.id)
        return
    start = log.bounds().start
    if end is not None and start >= end:
        return
    for event in log.read(start):
        if isinstance(event, Appended):
            if end is not None and event.batch.base_offset >= end:
                return
            yield event.batch
