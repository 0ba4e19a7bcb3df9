"""Finds the voters of a log's quorum.

With kraft.version 1, KRAFT_VOTERS control records in the log name the voters (KIP-853). With
version 0, each LEADER_CHANGE record and ``quorum-state`` name the static voters. This module must
not know how a log is stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Final, NamedTuple, Protocol

from metalog.errors import CorruptLog
from metalog.ids import SnapshotId
from metalog.image.policy import concerns_authorization
from metalog.log.folder.layout import QuorumState
from metalog.ports import Appended, Log
from metalog.records.batch import Batch
from metalog.records.fast_decode.acl_fast_decode import AnyMessage
from metalog.records.frame import Undecodable
from metalog.records.message import ControlMessage
from metalog.records.messages import KRaftVersionRecord, LeaderChangeMessage, VotersRecord


class Voters(NamedTuple):
    """The voters' node ids, lowest first. ``why`` names their source, or why none is known."""

    ids: tuple[int, ...]
    why: str


NOT_NAMED: Final = Voters((), "neither the log nor quorum-state names voters")


class Quorum(NamedTuple):
    """The quorum's state in control records: ``kraft_version``, and with version 1 the voters.

    ``is_in_log`` is false if only the snapshot at offset 0 names the voters. The quorum's first
    leader repeats the voters in the log (KIP-853).
    """

    kraft_version: int = 0
    voters: VotersRecord | None = None
    is_in_log: bool = False


class BatchSource(Protocol):
    def control_batches(self, start: int) -> Iterator[Batch]: ...

    def snapshots(self) -> Sequence[SnapshotId]: ...

    def open_snapshot(self, id: SnapshotId) -> Iterator[Batch]: ...


def quorum_at(log: Log, end: int) -> Quorum:
    """The newest KRAFT_VERSION and KRAFT_VOTERS below offset ``end``.

    Without voters if an unreadable control record could name other voters.
    """
    found, start = Quorum(), log.bounds().start
    for snapshot in reversed([each for each in log.snapshots() if each.end_offset <= end]):
        try:
            found = _applied(Quorum(), takewhile(_is_control, log.open_snapshot(snapshot)))
        except CorruptLog:
            continue
        start = snapshot.end_offset
        found = found._replace(is_in_log=start > 0 and found.voters is not None)
        break
    return _applied(found, _control_batches(log, start, end))


def quorum_records(quorum: Quorum) -> list[tuple[ControlMessage, int]]:
    """The control records that hold ``quorum``; empty for static voters.

    A dynamic quorum has these records in each snapshot, and in the first epoch.
    """
    if quorum.voters is None:
        return []
    return [
        (KRaftVersionRecord(0, quorum.kraft_version), 0),
        (quorum.voters, quorum.voters.version),
    ]


def _control_batches(log: Log, start: int, end: int) -> Iterator[Batch]:
    for event in log.read(start):
        if isinstance(event, Appended):
            if event.batch.base_offset >= end:
                return
            if event.batch.is_control:
                yield event.batch


def _applied(quorum: Quorum, batches: Iterable[Batch]) -> Quorum:
    for batch in batches:
        for message in batch.messages():
            if isinstance(message, KRaftVersionRecord):
                quorum = quorum._replace(kraft_version=message.kraft_version)
            elif isinstance(message, VotersRecord):
                quorum = quorum._replace(voters=message, is_in_log=True)
            elif _may_name_voters(message):
                quorum = quorum._replace(voters=None)
    return quorum


def find_voters(log: BatchSource, state: QuorumState | None) -> Voters:
    if state is not None and state.data_version == 0 and state.voters:
        return Voters(tuple(sorted(state.voters)), "quorum-state")
    start = 0
    found: Voters | None = None
    for snapshot in reversed(log.snapshots()):
        try:
            found = last_voters(takewhile(_is_control, log.open_snapshot(snapshot)))
        except CorruptLog:
            continue
        start = snapshot.end_offset
        break
    try:
        found = last_voters(log.control_batches(start)) or found
    except CorruptLog as error:
        return Voters((), f"the log is damaged at offset {error.offset}")
    return found or NOT_NAMED


def _is_control(batch: Batch) -> bool:
    return batch.is_control


def last_voters(batches: Iterable[Batch]) -> Voters | None:
    """The voters in the last KRAFT_VOTERS, or else in the last LEADER_CHANGE.

    If an unreadable control record could name other voters, the voters are unknown.
    """
    by_record = by_leader = None
    for batch in batches:
        if not batch.is_control:
            continue
        for message in batch.messages():
            if isinstance(message, VotersRecord):
                ids = tuple(sorted(voter.voter_id for voter in message.voters))
                by_record = Voters(ids, f"KRAFT_VOTERS at offset {batch.base_offset}")
            elif isinstance(message, LeaderChangeMessage):
                ids = tuple(sorted(voter.voter_id for voter in message.voters))
                by_leader = Voters(ids, f"LEADER_CHANGE at offset {batch.base_offset}")
            elif _may_name_voters(message):
                why = f"a control record in the batch at offset {batch.base_offset} cannot be read"
                return Voters((), why)
    return by_record or by_leader


def _may_name_voters(message: AnyMessage) -> bool:
    return isinstance(message, Undecodable) and concerns_authorization(message)
