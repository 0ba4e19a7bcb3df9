"""The history in a log of ACLs, of users, and of one answer.

This module must not know how an answer is found or shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from authorizer.analysis.changes.changes import TELLING, Change, changes
from authorizer.analysis.explain.since import Since, since
from authorizer.history.timeline import TimelineChange
from metalog.errors import CorruptLog
from metalog.image.policy import readable_of
from metalog.image.selection import AUTHORIZATION
from metalog.loader import LoadDoubt, Loader
from metalog.ports import Appended, HighWatermark
from metalog.records.acl_codes import acl_of
from metalog.records.acl_fast_decode import messages_of, numbered
from metalog.records.messages import AccessControlEntryRecord
from metalog.records.unread import UnreadRun, UnreadTypes
from snapshot.log_range import read_range
from snapshot.reader import read_snapshot

if TYPE_CHECKING:
    from authorizer.config import AuthorizerConfig
    from authorizer.trace import Question
    from metalog.acl import Acl
    from metalog.ids import SnapshotId, Uuid
    from metalog.records.batch import Batch
    from metalog_sources.replay import Replayed

Result = TypeVar("Result")

_UNREAD: Final = UnreadTypes.all_but(TELLING)


class ChangeHistory(NamedTuple):
    """``changes`` in log order from offset ``start``; ``base`` are the ACLs bound at that offset.

    ``doubts`` are faults in the records from ``start`` on.
    """

    start: int
    base: dict[Uuid, Acl]
    changes: list[Change]
    doubts: tuple[LoadDoubt, ...] = ()

    @property
    def of_acls(self) -> Iterator[TimelineChange]:
        return (each for each in self.changes if isinstance(each, TimelineChange))


def history_of(replayed: Replayed) -> ChangeHistory | None:
    """The history, as far back as the log can be read; None if the source is not a log, or is too
    damaged."""

    def found(start: int, base: SnapshotId | None) -> ChangeHistory:
        acls, doubts = dict(_snapshot_acls(replayed, base)), _doubts(replayed, start, base)
        return ChangeHistory(start, acls, list(_changes(replayed, start)), doubts)

    return _as_far_back_as_possible(replayed, found)


def answer_since(replayed: Replayed, config: AuthorizerConfig, question: Question) -> Since | None:
    """Since when the answer has been the same, as far back as there is no doubt; None if the
    source is not a log, or is too damaged to tell."""

    def found(start: int, base: SnapshotId | None) -> Since:
        if base != replayed.snapshot and (doubts := _doubts(replayed, start, base)):
            raise doubts[0].fault
        acls = dict(_snapshot_acls(replayed, base))
        of_acls = (each for each in _changes(replayed, start) if isinstance(each, TimelineChange))
        return since(start, acls.items(), of_acls, config, question)

    return _as_far_back_as_possible(replayed, found)


def _as_far_back_as_possible(
    replayed: Replayed, read: Callable[[int, SnapshotId | None], Result]
) -> Result | None:
    if replayed.source.store is not None:
        return None
    for base in _bases(replayed):
        start = replayed.bounds.start if base is None else base.end_offset
        try:
            return read(start, base)
        except CorruptLog:
            continue
    return None


def _doubts(replayed: Replayed, start: int, base: SnapshotId | None) -> tuple[LoadDoubt, ...]:
    """The doubts about records from ``start`` on. The replay may have begun later, and so miss
    some."""
    if base == replayed.snapshot:
        return replayed.doubts
    loader = Loader(tolerant=True, selection=AUTHORIZATION)
    loader.handle(HighWatermark(replayed.offset))
    if base is not None:
        loader.load_snapshot(base, read_snapshot(replayed.source.log, base))
    for event in read_range(replayed.source.log, start, replayed.offset):
        loader.handle(event)
    found = [*loader.doubts.values(), *replayed.doubts]
    return tuple({(each.fault.file, each.offset): each for each in found}.values())


def time_of(replayed: Replayed, offset: int) -> int | None:
    """The timestamp of the batch with the record at ``offset``, in epoch milliseconds."""
    for batch in _batches(replayed, offset):
        return batch.max_timestamp
    return None


def _bases(replayed: Replayed) -> list[SnapshotId | None]:
    """The states from which the ACLs can be followed, the longest history first. None is the log's
    start."""
    bounds = replayed.bounds
    reaching = [
        each for each in replayed.snapshots if bounds.start <= each.end_offset <= replayed.offset
    ]
    return [None, *reaching] if bounds.start == 0 else [*reaching]


def _snapshot_acls(replayed: Replayed, base: SnapshotId | None) -> Iterator[tuple[Uuid, Acl]]:
    if base is None:
        return
    for batch in read_snapshot(replayed.source.log, base):
        for _, message in _telling(batch):
            if isinstance(message, AccessControlEntryRecord):
                yield message.id, acl_of(message)


def _changes(replayed: Replayed, start: int) -> Iterator[Change]:
    """The changes of ACLs and users from offset ``start`` to the end of the replay."""
    return changes(_records(_batches(replayed, start), start, replayed.offset))


def _records(batches: Iterable[Batch], start: int, end: int) -> Iterator[tuple[int, int, Any]]:
    """The records between two offsets, each with the largest timestamp so far."""
    time_ms = 0
    for batch in batches:
        time_ms = max(time_ms, batch.max_timestamp)
        for offset, message in _telling(batch):
            if start <= offset < end:
                yield offset, time_ms, readable_of(message) or message


def _telling(batch: Batch) -> Iterator[tuple[int, Any]]:
    """The records that concern ACLs or users, with their offsets."""
    for offset, part in numbered(batch.parts(_UNREAD), batch.base_offset):
        if not isinstance(part, UnreadRun):
            yield from enumerate(messages_of([part]), offset)


def _batches(replayed: Replayed, start: int) -> Iterator[Batch]:
    for event in read_range(replayed.source.log, start, replayed.offset):
        if isinstance(event, Appended):
            yield event.batch
