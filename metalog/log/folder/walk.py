"""Reads a folder's segments, batch by batch, from one position to the end.

Segments follow one another without a gap, and only the last segment may have a torn tail. This
module must not know the contents of snapshots, and it does not apply records.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Final, NamedTuple

from metalog.disk.files import Files, opened
from metalog.errors import CorruptLog
from metalog.ids import SnapshotId
from metalog.log.continuity import Continuity
from metalog.log.folder.location import LogFolder, unreadable
from metalog.log.folder.segment import SegmentReader, TornTail, find_batch
from metalog.records.batch import Batch, prefix_of
from metalog.text.plurals import noun_range

MOST_CONTROLS: Final = 1024
LARGEST_CONTROL: Final = 4096
"""The limits for ``LogEnds.controls``: the number of batches, and the size of each in bytes."""


class ReadPosition(NamedTuple):
    """A reader's position: before ``byte`` of a segment.

    ``next_offset`` is the previous batch's end offset. ``epoch`` is the previous batch's epoch, or
    None if unknown.
    """

    segment: int
    byte: int
    next_offset: int
    epoch: int | None


class LastBatch(NamedTuple):
    """The position in the file and the first bytes of a batch."""

    byte: int
    prefix: bytes


class SegmentWalk:
    """The batches from ``read_position`` on; the iteration advances ``read_position``."""

    def __init__(self, folder: LogFolder, files: Files, read_position: ReadPosition) -> None:
        self._folder = folder
        self._files = files
        self._start = read_position
        self._reader: SegmentReader | None = None
        self._segment = read_position.segment
        self._continuity = Continuity(
            read_position.next_offset, read_position.epoch, folder.leader_epochs
        )
        self.torn_tail: TornTail | None = None

    @property
    def read_position(self) -> ReadPosition:
        if self._reader is None:
            return self._start
        next_offset, epoch = self._continuity.next_offset, self._continuity.epoch
        return ReadPosition(self._segment, self._reader.position, next_offset or 0, epoch)

    def __iter__(self) -> Iterator[Batch]:
        last = self._folder.segments[-1]
        start, continuity = self.read_position, self._continuity
        for segment in segments_from(self._folder, start.segment):
            path = self._folder.segment_path(segment)
            byte = start.byte if segment == start.segment else 0
            if segment != start.segment:
                _expect_segment(segment, continuity.next_offset, str(path))
            try:
                with opened(self._files, path) as file:
                    reader = SegmentReader(
                        file, str(path), continuity, position=byte, may_be_torn=segment == last
                    )
                    for batch in reader:
                        self._reader, self._segment = reader, segment
                        yield batch
                    self.torn_tail = reader.torn_tail
            except OSError as error:
                raise unreadable(path, error) from None


def segments_from(folder: LogFolder, start: int) -> tuple[int, ...]:
    """Base offsets of the segments with records from ``start`` on."""
    return folder.segments[max(bisect_right(folder.segments, start) - 1, 0) :]


def position_before(folder: LogFolder, files: Files, offset: int) -> ReadPosition:
    """The position before the batch that has ``offset``; earlier batches are not checked."""
    segment = segments_from(folder, offset)[0]
    if offset <= segment:
        return beginning(segment)
    path = folder.segment_path(segment)
    try:
        with opened(files, path) as file:
            byte, base_offset = find_batch(file, segment, offset)
    except OSError as error:
        raise unreadable(path, error) from None
    return ReadPosition(segment, byte, base_offset, None)


def beginning(segment: int) -> ReadPosition:
    return ReadPosition(segment, 0, segment, None)


def _expect_segment(segment: int, expected: int | None, file: str) -> None:
    if expected is None or segment == expected:
        return
    if segment > expected:
        verb, them = ("is", "it") if segment == expected + 1 else ("are", "them")
        raise CorruptLog(
            f"{noun_range('record', expected, segment)} {verb} missing: no segment holds {them}",
            file=file,
            offset=expected,
        )
    raise CorruptLog(
        f"the segment overlaps the previous segment, which ends at offset {expected}",
        file=file,
        offset=segment,
    )


class LogEnds(NamedTuple):
    """The start and end of a folder's log, and the reader's position at the log's end."""

    start: int
    end: int
    epoch: int
    replaced_by: SnapshotId | None
    """The snapshot that, as in Kafka, replaces segments with a lower (epoch, end offset)."""
    torn_tail: TornTail | None
    damage: CorruptLog | None
    """The first damage that was found; ``end`` is before the damage."""
    read_position: ReadPosition | None
    """The position after the last batch; None if there are no segments."""
    walked_from: int
    """The base offset of the first segment that was read; ``end`` if there are no segments."""
    controls: tuple[Batch, ...] | None
    """The control batches from ``walked_from`` on; None if they are too many or too large."""
    last_batch: LastBatch | None
    """The batch before ``read_position``, or None."""


def find_ends(folder: LogFolder, files: Files, known: LogEnds | None = None) -> LogEnds:
    """Find the end of a folder's log.

    Reading continues at the end of the earlier result ``known``, if the caller passes one. No
    snapshot replaces a damaged log, because the log can have continued past the snapshot.
    """
    newest = folder.snapshots[-1] if folder.snapshots else SnapshotId(0, 0)
    if not folder.segments:
        return LogEnds(
            newest.end_offset, *newest, None, None, None, None, newest.end_offset, (), None
        )
    survey = _survey(folder, files, known)
    place, damage = survey.walk.read_position, survey.damage
    end, epoch = place.next_offset, place.epoch
    start, replaced_by, torn_tail = folder.segments[0], None, survey.walk.torn_tail
    if epoch is None:
        epoch = newest.epoch if end == newest.end_offset else 0
    if damage is None and (newest.epoch, newest.end_offset) > (epoch, end):
        start, replaced_by, torn_tail = newest.end_offset, newest, None
        end, epoch = newest
    return LogEnds(
        start,
        end,
        epoch,
        replaced_by,
        torn_tail,
        damage,
        read_position=place,
        walked_from=survey.walked_from,
        controls=survey.controls,
        last_batch=survey.last_batch,
    )


class _Survey(NamedTuple):
    walk: SegmentWalk
    damage: CorruptLog | None
    walked_from: int
    controls: tuple[Batch, ...] | None
    last_batch: LastBatch | None


def _survey(folder: LogFolder, files: Files, known: LogEnds | None) -> _Survey:
    place = None if known is None else known.read_position
    if known is not None and place is not None and place.segment in folder.segments:
        survey = _walked(SegmentWalk(folder, files, place), known.walked_from, known.controls)
        return survey if survey.last_batch else survey._replace(last_batch=known.last_batch)
    for segment in reversed(folder.segments):
        survey = _walked(SegmentWalk(folder, files, beginning(segment)), segment, ())
        if survey.walk.read_position.epoch is not None:
            break
    return survey


def _walked(walk: SegmentWalk, walked_from: int, controls: tuple[Batch, ...] | None) -> _Survey:
    found: list[Batch] = []
    damage = batch = None
    try:
        for batch in walk:
            if batch.is_control and controls is not None:
                found.append(batch)
                if batch.size > LARGEST_CONTROL or len(controls) + len(found) > MOST_CONTROLS:
                    controls = None
    except CorruptLog as error:
        damage = error
    if found and controls is not None:
        controls = (*controls, *found)
    last_batch = None if batch is None else LastBatch(batch.position, prefix_of(batch))
    return _Survey(walk, damage, walked_from, controls, last_batch)
