"""Reads from a log the history of ACLs, of users, or of one decision.

If a replay fills ``change_notes``, a history reads again only the log before the replay's
snapshot. This module must not know how a decision is found or shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from authorizer.analysis.changes.changes import CHANGE_RECORDS, Change, changes, mechanism_of
from authorizer.analysis.explain.since import Since, since
from authorizer.history.timeline import TimelineChange
from metalog.errors import CorruptLog
from metalog.image.selection import AUTHORIZATION
from metalog.loader import LoadDoubt, Loader
from metalog.ports import Appended, HighWatermark
from metalog.records.acl_codes import acl_of
from metalog.records.fast_decode.acl_fast_decode import messages_of
from metalog.records.messages import AccessControlEntryRecord, UserScramCredentialRecord
from metalog.records.unread import UnreadTypes
from metalog_sources.record_notes import NotedRecord, NotedRecords
from snapshot.log_range import read_range
from snapshot.reader import read_snapshot

if TYPE_CHECKING:
    from authorizer.config import AuthorizerConfig
    from authorizer.trace import Question
    from metalog.acl import Acl
    from metalog.ids import SnapshotId, Uuid
    from metalog.scram import ScramMechanism
    from metalog_sources.replay import Replayed

    Iterations = dict[tuple[str, ScramMechanism | None], int]
    """The iterations of credentials, by user and mechanism."""

Result = TypeVar("Result")

_UNREAD: Final = UnreadTypes.all_but(CHANGE_RECORDS)


def change_notes() -> NotedRecords:
    """Notes that a replay fills with the records that change ACLs or users."""
    return NotedRecords(CHANGE_RECORDS)


class ChangeHistory(NamedTuple):
    """The ``changes`` from offset ``start``, in log order.

    ``acls`` and ``iterations`` are the state at ``start``. ``doubts`` are faults in the records
    that were read.
    """

    start: int
    acls: dict[Uuid, Acl]
    iterations: Iterations
    changes: list[Change]
    doubts: tuple[LoadDoubt, ...] = ()

    @property
    def of_acls(self) -> Iterator[TimelineChange]:
        return (change for change in self.changes if isinstance(change, TimelineChange))


def history_of(replayed: Replayed, first: int | None = None) -> ChangeHistory | None:
    """The history, as far back as the log can be read. None for a store, or a log that is too
    damaged.

    With ``first``, the history begins at the last snapshot at or before offset ``first``, if any.
    """

    def read(start: int, base: SnapshotId | None) -> ChangeHistory:
        acls, iterations = _snapshot_state(replayed, base)
        records, doubts = _records(replayed, start, base)
        return ChangeHistory(start, acls, iterations, list(changes(records)), doubts)

    return _first_readable(replayed, _bases(replayed, first), read)


def answer_since(replayed: Replayed, config: AuthorizerConfig, question: Question) -> Since | None:
    """When the present answer began. None for a store, or a log that is too damaged."""

    def read(start: int, base: SnapshotId | None) -> Since:
        acls, _ = _snapshot_state(replayed, base)
        records, doubts = _records(replayed, start, base)
        if base != replayed.snapshot and doubts:
            raise doubts[0].fault
        of_acls = (each for each in changes(records) if isinstance(each, TimelineChange))
        return since(start, acls.items(), of_acls, config, question)

    return _first_readable(replayed, _bases(replayed), read)


def _first_readable(
    replayed: Replayed,
    bases: Iterable[SnapshotId | None],
    read: Callable[[int, SnapshotId | None], Result],
) -> Result | None:
    if replayed.source.store is not None:
        return None
    for base in bases:
        try:
            return read(_end_of(base), base)
        except CorruptLog:
            continue
    return None


def _records(
    replayed: Replayed, start: int, base: SnapshotId | None
) -> tuple[Iterator[NotedRecord], tuple[LoadDoubt, ...]]:
    """The records from offset ``start``, where ``base`` ends, and the doubts about the log."""
    noted, noted_from = replayed.notes, _end_of(replayed.snapshot)
    if not isinstance(noted, NotedRecords):
        noted, noted_from = change_notes(), replayed.offset
    if noted_from <= start:
        return noted.records(start), replayed.doubts
    notes = change_notes()
    loader = Loader(tolerant=True, selection=AUTHORIZATION, note_records=notes.note)
    loader.handle(HighWatermark(noted_from))
    if base is not None:
        loader.load_snapshot(base, read_snapshot(replayed.source.log, base))
    for event in read_range(replayed.source.log, start, noted_from):
        loader.handle(event)
    doubts = replayed.doubts
    if base != replayed.snapshot:
        all_doubts = [*loader.doubts.values(), *doubts]
        doubts = tuple({(doubt.fault.file, doubt.offset): doubt for doubt in all_doubts}.values())
    return chain(notes.records(start), noted.records(noted_from, notes.time_ms)), doubts


def time_of(replayed: Replayed, offset: int) -> int | None:
    """The timestamp of the batch with the record at ``offset``, in epoch milliseconds."""
    for event in read_range(replayed.source.log, offset, replayed.offset):
        if isinstance(event, Appended):
            return event.batch.max_timestamp
    return None


def _bases(replayed: Replayed, first: int | None = None) -> list[SnapshotId | None]:
    """The snapshots to begin at, the best first. None is the log's start.

    Snapshots at or before offset ``first`` come first, by descending offset. The other snapshots
    follow, by ascending offset.
    """
    bounds = replayed.bounds
    readable = [
        base for base in replayed.snapshots if bounds.start <= base.end_offset <= replayed.offset
    ]
    bases = [None, *readable] if bounds.start == 0 else [*readable]
    before = [base for base in bases if first is not None and _end_of(base) <= first]
    return [*sorted(before, key=_end_of, reverse=True), *bases[len(before) :]]


def _end_of(base: SnapshotId | None) -> int:
    return 0 if base is None else base.end_offset


def _snapshot_state(
    replayed: Replayed, base: SnapshotId | None
) -> tuple[dict[Uuid, Acl], Iterations]:
    acls: dict[Uuid, Acl] = {}
    iterations: Iterations = {}
    if base is None:
        return acls, iterations
    for batch in read_snapshot(replayed.source.log, base):
        for message in messages_of(batch.parts(_UNREAD)):
            if isinstance(message, AccessControlEntryRecord):
                acls[message.id] = acl_of(message)
            elif isinstance(message, UserScramCredentialRecord):
                iterations[message.name, mechanism_of(message.mechanism)] = message.iterations
    return acls, iterations
