"""Combines the logs of a SOURCE into an ``Archive``: one log, or several folders of one log.

A controller deletes records that a snapshot covers. Copies of its folder, or ``metalog archive``,
keep these records. A pattern (``/archive/*``) names such folders. Each offset is read from one
folder, and every gap is reported. This module must not know Spark, nor how a split is read.
"""

from __future__ import annotations

import glob
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple, Protocol, runtime_checkable

from metalog.errors import CorruptLog, InvalidSource
from metalog.ids import SnapshotId
from metalog.log.folder.directory import DirectoryLog
from metalog.log.folder.layout import PARTITION_FOLDER
from metalog.log.folder.single_file import CheckpointLog, SegmentSplit
from metalog.log.opening import OpenedLog
from metalog.log.topic.reader import TopicSplit
from metalog.ports import Split
from metalog.records.batch import Batch
from metalog.text.plurals import noun_range, plural
from metalog_sources.replay import cluster_id_of
from metalog_sources.source import Source, open_source
from metalog_sources.source_kinds import LOGS, SourceKinds
from metalog_spark.history.splits import (
    OPEN_END,
    BootstrapSplit,
    LogHole,
    LogSplit,
    SnapshotSplit,
    WholeSplit,
)

_PATTERN: Final = re.compile(r"[*?\[]")


class Member(NamedTuple):
    """One log of an archive, read from offset ``start`` up to ``end``, exclusive."""

    source: Source
    start: int
    end: int
    command_config: Path | None = None

    @property
    def log(self) -> OpenedLog:
        return self.source.log

    @property
    def place(self) -> str:
        """The log's path or address."""
        return str(self.log.path)


class Archive(NamedTuple):
    """The records from offset ``start`` up to ``end``, exclusive. ``parts`` are in order of
    offsets, without overlaps; ``snapshots`` are oldest first."""

    text: str
    start: int
    end: int
    parts: tuple[LogSplit | LogHole, ...]
    snapshots: tuple[tuple[SnapshotId, Member], ...]

    @property
    def is_snapshot(self) -> bool:
        return any(
            isinstance(part, LogSplit) and isinstance(part.split, SnapshotSplit)
            for part in self.parts
        )

    def source_at(self) -> Callable[[int], str]:
        """A function from an offset to the ``source`` of its split."""
        splits = [part for part in self.parts if isinstance(part, LogSplit)]
        starts = [piece.start for piece in splits]
        return lambda offset: splits[bisect_right(starts, offset) - 1].source


class Unproven(NamedTuple):
    """A log whose records from ``offset`` up to ``end`` are not proven to be committed. ``why``
    says what proves the earlier records."""

    text: str
    offset: int
    end: int
    why: str

    def description(self) -> str:
        proven = f"only up to offset {self.offset:,} of {self.end:,}" if self.offset else "nothing"
        return f"{self.text}: {proven} proven to be committed ({self.why})"


@runtime_checkable
class _Growing(Protocol):
    """A log that can be read again for new records. The ``Protocol`` spares workers the import of
    the quorum's reader, which takes longer than their work."""

    def refresh(self) -> None: ...


@runtime_checkable
class _Connected(Protocol):
    def close(self) -> None: ...


class Logs:
    """The logs that ``text`` names: a SOURCE, or a pattern of folders.

    ``look`` opens the logs, and refuses a log that is not one of ``kinds``. With ``committed``,
    records that are not proven to be committed are left out.
    """

    def __init__(
        self,
        text: str,
        *,
        environ: Mapping[str, str],
        committed: bool = False,
        command_config: Path | None = None,
        kinds: SourceKinds = LOGS,
    ) -> None:
        self.text = text
        self._environ = environ
        self._committed = committed
        self._command_config = command_config
        self._kinds = kinds
        self._sources: dict[str, Source] = {}

    def look(self) -> Archive:
        """The archive as of now.

        Raises:
            InvalidSource: a log cannot be opened, or the folders do not hold the same log.
            CorruptLog: a log is too damaged to be combined.
        """
        known, self._sources = self._sources, {}
        for name in _named(self.text):
            self._sources[name] = self._looked_at(name, known.get(name))
        sources = list(self._sources.values())
        if len(sources) > 1:
            _check_one_log(sources)
        members = sorted(map(self._member, sources), key=lambda member: (member.start, -member.end))
        snapshots = (
            (snapshot, member) for member in members for snapshot in member.log.snapshots()
        )
        return Archive(
            self.text,
            members[0].start,
            max(member.end for member in members),
            tuple(_in_order(members)),
            tuple(sorted(snapshots, key=lambda pair: pair[0])),
        )

    def cluster_id(self) -> str | None:
        """The cluster's id in the logs of the last ``look``; None if it is unknown."""
        ids = map(cluster_id_of, self._sources.values())
        return next((each for each in ids if each is not None), None)

    def unproven(self) -> list[Unproven]:
        """The logs of the last ``look`` with records that no log proves to be committed; none
        without ``committed``. If such records begin at the same offset in several logs, only the
        longest log is listed."""
        members = sorted(map(self._member, self._sources.values()), key=lambda member: member.start)
        by_offset: dict[int, Unproven] = {}
        for member in members:
            end = member.log.bounds().end
            reached = _reached(member.end, members)
            if reached < end and (reached not in by_offset or by_offset[reached].end < end):
                by_offset[reached] = Unproven(
                    member.source.text, reached, end, member.log.proven.why
                )
        return list(by_offset.values())

    def close(self) -> None:
        for source in self._sources.values():
            if isinstance(source.log, _Connected):
                source.log.close()

    def _looked_at(self, name: str, known: Source | None) -> Source:
        if known is None:
            return open_source(
                name,
                environ=self._environ,
                cwd=Path.cwd(),
                command_config=self._command_config,
                kinds=self._kinds,
            )
        if isinstance(known.log, _Growing):
            known.log.refresh()
            return known
        return self._looked_at(name, None)

    def _member(self, source: Source) -> Member:
        bounds = source.log.bounds()
        proven = source.log.proven.offset if self._committed else bounds.end
        end = min(bounds.end, proven)
        command_config = self._command_config or source.command_config
        return Member(source, min(bounds.start, end), end, command_config)


def is_pattern(text: str) -> bool:
    """Whether ``text`` is a pattern of paths rather than a file or an address."""
    return "://" not in text and bool(_PATTERN.search(text)) and not Path(text).exists()


def _named(text: str) -> Sequence[str]:
    if not is_pattern(text):
        return [text]
    if matches := sorted(glob.glob(text)):  # noqa: PTH207 - the pattern can be absolute
        return matches
    raise InvalidSource(f"{text}: nothing matches this pattern")


def _in_order(members: Sequence[Member]) -> Iterator[LogSplit | LogHole]:
    reached: int | None = None
    before: Member | None = None
    damage: CorruptLog | None = None
    for member in members:
        if reached is None or before is None:
            begin = member.start
        elif member.start > reached:
            yield from _holes(reached, member.start, damage, members)
            begin = member.start
        else:
            _check_same_log(before, member, min(reached, member.end))
            begin = reached
        if reached is not None and member.end <= reached:
            if member.end == reached and damage is None:
                damage = _damage_after(member)
            continue
        yield from _pieces(member, begin)
        reached, before, damage = member.end, member, _damage_after(member)
    if damage is not None and reached is not None:
        yield LogHole(reached, OPEN_END, damage.found, is_damage=True)


def _damage_after(member: Member) -> CorruptLog | None:
    is_all = member.end == member.log.bounds().end
    return (member.log.damage or member.log.missing) if is_all else None


def _holes(
    start: int, end: int, damage: CorruptLog | None, members: Sequence[Member]
) -> Iterator[LogHole]:
    """One hole with ``damage``. Otherwise a hole of records that are not proven to be committed,
    then a hole of offsets that no folder has."""
    if damage is not None:
        yield LogHole(start, end, damage.found, is_damage=True)
        return
    with_records = [member for member in members if member.end <= start < member.log.bounds().end]
    if with_records:
        longest = max(with_records, key=lambda member: member.log.bounds().end)
        until = min(longest.log.bounds().end, end)
        why = f"{noun_range('record', start, until)} {plural(until - start, 'is', 'are')} in"
        why += f" {longest.source.text} and not proven to be committed ({longest.log.proven.why})"
        yield LogHole(start, until, why, is_damage=False)
        start = until
    if start < end:
        verb = plural(end - start, "is", "are")
        why = f"{noun_range('record', start, end)} {verb} in none of the folders"
        yield LogHole(start, end, why, is_damage=False)


def _reached(offset: int, members: Sequence[Member]) -> int:
    """The offset that ``members``, sorted by their start, reach from ``offset`` without a gap."""
    for member in members:
        if member.start <= offset:
            offset = max(offset, member.end)
    return offset


def _pieces(member: Member, begin: int) -> Iterator[LogSplit]:
    log, end, place = member.log, member.end, member.place
    if isinstance(log, CheckpointLog):
        yield LogSplit(SnapshotSplit(log.path), 0, OPEN_END, OPEN_END, False, place)
        return
    if isinstance(log, DirectoryLog) and end == 0 and (path := log.bootstrap_path) is not None:
        yield LogSplit(BootstrapSplit(path), 0, OPEN_END, OPEN_END, False, place)
        return
    splits = list(log.splits())
    if not splits and begin < end:
        whole = WholeSplit(member.source.describe, member.command_config, begin, end)
        yield LogSplit(whole, begin, end, end, False, place)
        return
    starts = [_start_of(split, member.start) for split in splits]
    ends = [*starts, end][1:]
    for split, first, last in zip(splits, starts, ends, strict=True):
        if max(first, begin) < min(last, end):
            dense = isinstance(split, SegmentSplit)
            until = min(last, end) if dense else end
            yield LogSplit(split, max(first, begin), min(last, end), until, dense, place)


def _start_of(split: Split, otherwise: int) -> int:
    if isinstance(split, TopicSplit):
        return split.start
    if isinstance(split, SegmentSplit) and split.base_offset is not None:
        return split.base_offset
    return otherwise


def _check_one_log(sources: Sequence[Source]) -> None:
    first: tuple[str, Source] | None = None
    for source in sources:
        if isinstance(source.log, CheckpointLog):
            raise InvalidSource(
                f"{source.text} is a snapshot, but a pattern must match folders: give the snapshot"
                " alone, or put it into its own folder:"
                f" FOLDER/{PARTITION_FOLDER}/{source.log.path.name}"
            )
        cluster = cluster_id_of(source)
        if cluster is None:
            continue
        if first is not None and cluster != first[0]:
            raise InvalidSource(
                f"{first[1].text} is of cluster {first[0]} and {source.text} of {cluster};"
                " give the folders of one log"
            )
        first = cluster, source


def _check_same_log(earlier: Member, later: Member, offset: int) -> None:
    """Logs with the same epoch at an offset have equal records below this offset (KIP-595)."""
    both = f"{earlier.source.text} and {later.source.text} are not of one log"
    epochs = [_epoch_before(offset, member.log) for member in (earlier, later)]
    if None not in epochs and epochs[0] != epochs[1]:
        raise InvalidSource(
            f"{both}, or one of them has a tail that was never committed: before offset {offset}"
            f" they have epochs {epochs[0]} and {epochs[1]}"
        )
    checksums = [_checksum_before(offset, member.log) for member in (earlier, later)]
    if None not in checksums and checksums[0] != checksums[1]:
        raise InvalidSource(f"{both}: before offset {offset} they have different records")


def _epoch_before(offset: int, log: OpenedLog) -> int | None:
    if not isinstance(log, DirectoryLog) or not log.bounds().start < offset <= log.bounds().end:
        return None
    if offset == log.bounds().end:
        return log.bounds().epoch
    if log.leader_epochs.starts:
        return log.leader_epochs.epoch_at(offset - 1)
    batch = _batch_before(offset, log)
    return None if batch is None else batch.epoch


def _checksum_before(offset: int, log: OpenedLog) -> tuple[int, int] | None:
    """The base offset and the checksum of the batch with the record before ``offset``."""
    batch = _batch_before(offset, log)
    return None if batch is None else (batch.base_offset, batch.crc)


def _batch_before(offset: int, log: OpenedLog) -> Batch | None:
    """None if the batch is in no folder, or is damaged: damage is found by the scan."""
    if isinstance(log, DirectoryLog) and log.bounds().start < offset <= log.bounds().end:
        with suppress(CorruptLog):
            return next(iter(log.batches(offset - 1)), None)
    return None
