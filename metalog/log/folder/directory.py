"""Reads a metadata log in a folder: Kafka's ``metadata.log.dir``, or a copy.

The node can be running: reading takes no lock and changes nothing. This module must not apply any
record.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from metalog.disk.files import LOCAL_FILES, Files, opened
from metalog.errors import CorruptLog
from metalog.ids import FORMATTED_SNAPSHOT, SnapshotId
from metalog.log.epochs import LeaderEpochs
from metalog.log.folder.commit import ARCHIVED, NOT_ON_DISK, Proven, proven_by_one
from metalog.log.folder.extent import MOST_LISTINGS, LogExtent, missing_after
from metalog.log.folder.layout import MetaProperties, QuorumState
from metalog.log.folder.location import LogFolder, read_folder, unreadable
from metalog.log.folder.segment import TornTail
from metalog.log.folder.single_file import SegmentSplit, read_checkpoint
from metalog.log.folder.walk import LogEnds, ReadPosition, SegmentWalk, find_ends, position_before
from metalog.log.quorum.voters import Voters, find_voters
from metalog.ports import (
    Appended,
    CutShort,
    HighWatermark,
    LogBounds,
    LogEvent,
    SnapshotNeeded,
    Split,
    Truncated,
)
from metalog.records.batch import PREFIX_SIZE, Batch
from metalog.records.checkpoint import check_snapshot

_POLL_EVERY_S: Final = 0.1
_MOST_BATCHES_A_POLL: Final = 1000


class DirectoryLog:
    """The log in a controller's folder, for reading; ``open_log`` opens it.

    ``refresh``, ``read`` and ``poll`` look for a new end of the log. With ``committed``, ``read``
    and ``poll`` stop at the offset in ``proven``. Raises ``InvalidSource`` if there is no readable
    metadata log, and ``CorruptLog`` if ``leader-epoch-checkpoint`` is damaged.
    """

    def __init__(
        self, path: str | Path, *, files: Files = LOCAL_FILES, committed: bool = False
    ) -> None:
        self.path = Path(path)
        self._files = files
        self._committed = committed
        self._known_ends: LogEnds | None = None
        self._known_voters: Voters | None = None
        self._reached: tuple[int, int] | None = None
        self._folder = read_folder(self.path, files)

    def refresh(self) -> None:
        """Read the folder again, and find the end of the log."""
        known = self._known_ends
        self._known_ends = self._known_voters = None
        self._folder = read_folder(self.path, self._files)
        if known is not None:
            self._known_ends = self._found_ends(known if self._still_holds(known) else None)

    @property
    def folder(self) -> LogFolder:
        """The folder's files, as last listed."""
        return self._folder

    @property
    def meta_properties(self) -> MetaProperties | None:
        """The node's ``meta.properties``, or None."""
        return self._folder.meta_properties

    @property
    def cluster_id(self) -> str | None:
        """The id in ``meta.properties`` or ``archive.properties``, or None."""
        for known in (self._folder.meta_properties, self._folder.archive):
            if known is not None and known.cluster_id is not None:
                return known.cluster_id
        return None

    @property
    def quorum_state(self) -> QuorumState | None:
        """The node's ``quorum-state``, or None."""
        return self._folder.quorum_state

    @property
    def leader_epochs(self) -> LeaderEpochs:
        """The node's ``leader-epoch-checkpoint``."""
        return self._folder.leader_epochs

    @property
    def ends(self) -> LogEnds:
        """The log's ends, as last found."""
        return self._ends

    @property
    def torn_tail(self) -> TornTail | None:
        """The incomplete batch that a crash left at the log's end, or None."""
        return self._ends.torn_tail

    @property
    def damage(self) -> CorruptLog | None:
        """The first damage that was found, or None; ``bounds`` ends before the damage."""
        return self._ends.damage

    @property
    def missing(self) -> CorruptLog | None:
        """The error if a file's name proves that the log lost its last records, else None."""
        return self._missing_after(self._ends, is_certain=True)

    @property
    def may_be_missing(self) -> CorruptLog | None:
        """The error if an index entry or an epoch suggests lost records, else None.

        A power cut can leave such a sign without a loss of records.
        """
        if self._ends.torn_tail is not None or self.missing is not None:
            return None
        return self._missing_after(self._ends, is_certain=False)

    def _missing_after(self, ends: LogEnds, *, is_certain: bool) -> CorruptLog | None:
        if ends.damage is not None or ends.replaced_by is not None:
            return None
        extents = list(self._folder.extents)
        # A newer epoch at the log's end suggests that its records are missing. The last batch's
        # epoch starts there after Kafka has deleted all records.
        if any(
            each.start_offset == ends.end and each.epoch > ends.epoch
            for each in self.leader_epochs.starts[-1:]
        ):
            extents.append(LogExtent(ends.end + 1, self.leader_epochs.file, is_certain=False))
        return missing_after(extents, ends.end, is_certain=is_certain)

    @property
    def voters(self) -> Voters:
        """The quorum's voters at the log's end."""
        if self._known_voters is None:
            self._known_voters = find_voters(self, self.quorum_state)
        return self._known_voters

    @property
    def proven(self) -> Proven:
        """The offset up to which this folder alone proves that records are committed."""
        if self._folder.archive is not None:
            return Proven(self._ends.end, ARCHIVED)
        snapshots = self.snapshots()
        properties = self._folder.meta_properties
        return proven_by_one(
            end=self._ends.end,
            newest_snapshot_end=snapshots[-1].end_offset if snapshots else None,
            voters=self.voters.ids,
            node_id=properties.node_id if properties is not None else None,
        )

    @property
    def problems(self) -> tuple[str, ...]:
        """Oddities that do not prevent reading, one line each."""
        problems = list(self._folder.problems)
        ends, state, partition = self._ends, self.quorum_state, self._folder.partition
        if ends.torn_tail is not None:
            problems.append(str(ends.torn_tail))
        if ends.replaced_by is not None:
            problems.append(
                f"{partition}: the snapshot {ends.replaced_by} replaces the log, which ends"
                " before it or has an older epoch"
            )
        problems += [
            f"{self._folder.snapshot_path(snapshot)}: {problem}"
            for snapshot in self._folder.snapshots
            if (problem := self._contradiction(snapshot)) is not None
        ]
        problems += [missing.found for missing in (self.missing, self.may_be_missing) if missing]
        if (newest := self.leader_epochs.starts[-1:]) and newest[0].start_offset > ends.end:
            problems.append(
                f"{partition}: leader-epoch-checkpoint starts epoch {newest[0].epoch} at offset"
                f" {newest[0].start_offset}, past the log's end at {ends.end}: records are missing,"
                " or this file was copied later than the log"
            )
        if state is not None and self._lacks_epoch(ends):
            problems.append(
                f"{partition}: the log has epoch {ends.epoch}, quorum-state only"
                f" {state.leader_epoch}; they were not copied at the same time"
            )
        return tuple(problems)

    def bounds(self) -> LogBounds:
        """The log's start, end and last epoch, without a high-water mark."""
        ends = self._ends
        return LogBounds(ends.start, ends.end, ends.epoch, None, NOT_ON_DISK)

    def read(self, start: int) -> Iterator[LogEvent]:
        """The events from offset ``start`` up to the current end of the log.

        Raises ``CorruptLog`` at damage, or if ``start`` is before the log and no snapshot exists.
        """
        self.refresh()
        ends = self._ends
        if start < ends.start:
            newest = self._newest_snapshot()
            yield SnapshotNeeded(newest)
            start = newest.end_offset
        elif start > ends.end:
            yield Truncated(ends.end)
        limit = self.proven.offset if self._committed else ends.end
        self._reached = (limit, ends.epoch)
        if self.missing is not None and limit == ends.end:
            yield CutShort(self.missing)
        if ends.damage is None or limit < ends.end:
            yield HighWatermark(limit)
        for batch in self.batches(start):
            if batch.next_offset > limit:
                return
            yield tuple.__new__(Appended, (batch,))
        if ends.damage is not None and limit == ends.end:
            raise ends.damage

    def poll(self, timeout_s: float) -> Sequence[LogEvent]:
        """The events after the last poll or read; empty if none comes in ``timeout_s`` seconds."""
        deadline = time.monotonic() + timeout_s
        while not (events := self._news()) and (left := deadline - time.monotonic()) > 0:
            time.sleep(min(left, _POLL_EVERY_S))
        return events

    def batches(self, start: int) -> Iterator[Batch]:
        """The batches with records at offset ``start`` or later, committed or not."""
        ends = self._ends
        if ends.read_position is None or ends.replaced_by is not None or start >= ends.end:
            return
        place = position_before(self._folder, self._files, start)
        for batch in SegmentWalk(self._folder, self._files, place):
            if batch.next_offset > start:
                yield batch
            if batch.next_offset >= ends.end:
                return

    def control_batches(self, start: int) -> Iterator[Batch]:
        """The control batches of ``batches(start)``."""
        ends = self._ends
        if ends.replaced_by is not None:
            return
        first = ends.end if ends.controls is None else ends.walked_from
        for batch in self.batches(start) if start < first else ():
            if batch.base_offset >= first:
                break
            if batch.is_control:
                yield batch
        for batch in ends.controls or ():
            if batch.next_offset > start:
                yield batch

    def splits(self) -> Sequence[Split]:
        """The log as input splits, in order; empty if a snapshot replaces the log."""
        if self._ends.replaced_by is not None:
            return []
        return [
            SegmentSplit(self._folder.segment_path(base), base, self.leader_epochs, self._files)
            for base in self._folder.segments
        ]

    def snapshots(self) -> Sequence[SnapshotId]:
        """The snapshots that fit this log, oldest first; ``problems`` names the other snapshots."""
        return [each for each in self._folder.snapshots if self._contradiction(each) is None]

    def open_snapshot(self, id: SnapshotId) -> Iterator[Batch]:
        """All batches of the snapshot ``id``. The caller checks header and footer.

        Raises ``InvalidSource`` if there is no such snapshot.
        """
        return read_checkpoint(self._folder.snapshot_path(id), self._files)

    def bootstrap(self) -> Iterator[Batch] | None:
        """The batches in ``bootstrap_path``; None without this file, or if the log has records."""
        path = None if self._ends.end > 0 else self.bootstrap_path
        return None if path is None else read_checkpoint(path, self._files)

    @property
    def bootstrap_path(self) -> Path | None:
        """The file with the first records of a new log, or None.

        Kafka 4.4 writes these records into the snapshot that ends at offset 0.
        """
        if FORMATTED_SNAPSHOT in self._folder.snapshots:
            path = self._folder.snapshot_path(FORMATTED_SNAPSHOT)
            whole = list(check_snapshot(read_checkpoint(path, self._files)))
            if not all(batch.is_control for batch in whole):
                return path
        return self._folder.bootstrap

    @property
    def _ends(self) -> LogEnds:
        if self._known_ends is None:
            self._known_ends = self._found_ends(None)
        return self._known_ends

    def _found_ends(self, known: LogEnds | None) -> LogEnds:
        """As ``find_ends``; reads the folder again if records or an election seem to be missing.

        Kafka can have truncated these records, or elected a leader, after the first reading.
        """
        ends = find_ends(self._folder, self._files, known)
        for _ in range(MOST_LISTINGS):
            is_missing = any(self._missing_after(ends, is_certain=each) for each in (True, False))
            if not is_missing and not self._lacks_epoch(ends):
                break
            before, self._folder = self._folder, read_folder(self.path, self._files)
            if self._folder == before:
                break
            ends = find_ends(self._folder, self._files)
        return ends

    def _lacks_epoch(self, ends: LogEnds) -> bool:
        """Whether ``quorum-state`` is older than the log; a leader writes it before the log."""
        state = self.quorum_state
        return state is not None and state.leader_epoch < ends.epoch

    def _contradiction(self, id: SnapshotId) -> str | None:
        """Why the snapshot ``id`` cannot belong to this log; None if it can."""
        if self._ends.damage is None and id.end_offset > self._ends.end:
            return (
                f"it ends past the log's end at {self._ends.end}, and in an older epoch; it is"
                " ignored, because it belongs to another log"
            )
        known = self.leader_epochs.epoch_at(id.end_offset - 1)
        if known is None or known == id.epoch or id.epoch > self.leader_epochs.starts[-1].epoch:
            return None
        return (
            f"it ends in epoch {id.epoch}, where leader-epoch-checkpoint has epoch {known}; it"
            " is ignored, because it belongs to another log"
        )

    def _newest_snapshot(self) -> SnapshotId:
        if snapshots := self.snapshots():
            return snapshots[-1]
        raise CorruptLog(
            f"the log begins at offset {self._ends.start}, and no snapshot has the earlier records",
            file=str(self._folder.partition),
        )

    def _news(self) -> list[LogEvent]:
        reached, epoch = self._reached or (self._ends.end, self._ends.epoch)
        place = self._ends.read_position
        self.refresh()
        ends = self._ends
        events: list[LogEvent] = []
        kept = min(
            (begin for later, begin in self.leader_epochs.starts if later > epoch), default=reached
        )
        kept = min(kept, reached, ends.end)
        if ends.start > kept:
            newest = self._newest_snapshot()
            events.append(SnapshotNeeded(newest))
            kept, epoch = newest
        elif kept < reached:
            events.append(Truncated(kept))
        limit = self.proven.offset if self._committed else ends.end
        news = [batch for batch in self._after(place, kept) if batch.next_offset <= limit]
        if news:
            kept, epoch = news[-1].next_offset, news[-1].epoch
            events.append(HighWatermark(kept))
        elif ends.damage is not None:
            raise ends.damage
        events.extend(Appended(batch) for batch in news)
        self._reached = (kept, epoch)
        return events

    def _after(self, place: ReadPosition | None, start: int) -> Iterator[Batch]:
        if place is not None and place.next_offset == start and self._ends.replaced_by is None:
            walk = iter(SegmentWalk(self._folder, self._files, place))
            return islice(walk, _MOST_BATCHES_A_POLL)
        return islice(self.batches(start), _MOST_BATCHES_A_POLL)

    def _still_holds(self, known: LogEnds) -> bool:
        """Whether the log before its ``known`` end seems unchanged."""
        place, last = known.read_position, known.last_batch
        if place is None or place.segment not in self._folder.segments:
            return False
        epoch = -1 if place.epoch is None else place.epoch
        for later, start in self.leader_epochs.starts:
            if later > epoch and start < place.next_offset:
                return False
        try:
            with opened(self._files, self._folder.segment_path(place.segment)) as file:
                if last is not None and file.read_at(last.byte, PREFIX_SIZE) != last.prefix:
                    return False
                return file.size() >= place.byte
        except OSError as error:
            raise unreadable(self.path, error) from None
