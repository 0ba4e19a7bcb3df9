"""Who votes in the quorum that a log belongs to.

With kraft.version 1 the log says it (KRAFT_VOTERS control records, KIP-853); before that
each LEADER_CHANGE repeats the static voters, and quorum-state has them too.
This module must not know how a log is stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple, Protocol

from metalog.errors import CorruptLog
from metalog.ids import SnapshotId
from metalog.log.layout import QuorumState
from metalog.records.batch import Batch
from metalog.records.messages import LeaderChangeMessage, VotersRecord


class Voters(NamedTuple):
    """Node ids, lowest first; none means that they are not known. ``why`` says from where."""

    ids: tuple[int, ...]
    why: str


class BatchSource(Protocol):
    def batches(self, start: int) -> Iterator[Batch]: ...

    def snapshots(self) -> Sequence[SnapshotId]: ...

    def open_snapshot(self, id: SnapshotId) -> Iterator[Batch]: ...


def find_voters(log: BatchSource, state: QuorumState | None) -> Voters:
    """The voters at the end of ``log``."""
    if state is not None and state.data_version == 0 and state.voters:
        return Voters(tuple(sorted(state.voters)), "quorum-state")
    start = 0
    found: Voters | None = None
    for snapshot in reversed(log.snapshots()):
        try:
            found = last_voters(takewhile(_before_data, log.open_snapshot(snapshot)))
        except CorruptLog:
            continue
        start = snapshot.end_offset
        break
    try:
        found = last_voters(log.batches(start)) or found
    except CorruptLog as error:
        return Voters((), f"the log is damaged at offset {error.offset}")
    return found or Voters((), "nothing says who votes")


def _before_data(batch: Batch) -> bool:
    return batch.is_control


def last_voters(batches: Iterable[Batch]) -> Voters | None:
    """The voters that the last of the control batches to name them names.

    KRAFT_VOTERS outranks LEADER_CHANGE, whose voters are those that its leader asked.
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
    return by_record or by_leader
