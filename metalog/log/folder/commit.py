"""Proves from files alone which records are committed.

The high-water mark is not on disk. There are four other proofs:

- A snapshot has only committed records.
- An archive, made by ``metalog archive``, has only committed records.
- A node that is the only voter has only committed records.
- A majority of the voters has the same records, and must keep them (see ``_kept_by_majority``).

Pure. This module must not read anything.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from itertools import dropwhile
from typing import Final, NamedTuple

from metalog.errors import CorruptLog
from metalog.ids import SnapshotId

NOT_ON_DISK: Final = "the high-water mark is not on disk"
ARCHIVED: Final = "only committed records go into an archive"


class Proven(NamedTuple):
    """All records below ``offset`` are committed; ``why`` is the proof."""

    offset: int
    why: str


def proven_by_one(
    *, end: int, newest_snapshot_end: int | None, voters: Collection[int], node_id: int | None
) -> Proven:
    """The proof from one node's folder. If the voters are unknown, ``voters`` is empty."""
    if node_id is not None and set(voters) == {node_id}:
        return Proven(end, f"node {node_id} is the only voter")
    if newest_snapshot_end is not None:
        return Proven(newest_snapshot_end, f"a snapshot ends at {newest_snapshot_end}")
    return Proven(0, "no snapshot, and other voters may hold other records")


class Stamp(NamedTuple):
    """The identity of a batch."""

    base_offset: int
    next_offset: int
    epoch: int
    crc: int


class Copy(NamedTuple):
    """The log in one folder: its batches in order from ``start`` on.

    ``voter`` is the node's id, or None if the folder does not name the node. ``snapshot`` is the
    newest snapshot, or (0, 0).
    """

    name: str
    voter: int | None
    start: int
    end: int
    snapshot: SnapshotId
    stamps: Sequence[Stamp]
    is_archive: bool = False

    @property
    def epoch(self) -> int:
        return self.stamps[-1].epoch if self.stamps else self.snapshot.epoch

    def epoch_before(self, offset: int) -> int | None:
        """The epoch of the record before ``offset``; None if unknown."""
        place = bisect_left(self.stamps, offset, key=lambda stamp: stamp.next_offset)
        if place < len(self.stamps) and self.stamps[place].base_offset < offset:
            return self.stamps[place].epoch
        return self.snapshot.epoch if offset == self.snapshot.end_offset else None


class Divergence(NamedTuple):
    """Two copies differ from ``offset`` on; at most one copy has committed records there."""

    first: str
    second: str
    offset: int

    def __str__(self) -> str:
        return f"{self.first} and {self.second} differ from offset {self.offset} on"


class Agreement(NamedTuple):
    """The proof from all copies of one quorum.

    ``holders`` are the indexes of the copies with all records below ``committed``.
    """

    committed: int
    why: str
    holders: tuple[int, ...]
    divergences: tuple[Divergence, ...]


def agree(copies: Sequence[Copy], voters: Collection[int]) -> Agreement:
    """The longest prefix of the log that a snapshot or archive has, or that a majority must keep.

    If ``voters`` is empty, there is no majority. A copy without ``voter`` does not count for the
    majority: it can be an observer's copy. Raises ``CorruptLog`` if two copies have different
    records of the same epoch at one offset.
    """
    divergences: list[Divergence] = []
    shared = [[copy.end] * len(copies) for copy in copies]
    for left, first in enumerate(copies):
        for right in range(left + 1, len(copies)):
            end = _common_end(first, copies[right])
            shared[left][right] = shared[right][left] = end
            if end < min(first.end, copies[right].end):
                divergences.append(Divergence(first.name, copies[right].name, end))
    majority = len(voters) // 2 + 1
    best = Proven(0, _why_nothing(copies, voters))
    reference = 0
    for index, copy in enumerate(copies):
        for candidate in (
            Proven(copy.snapshot.end_offset, f"a snapshot of {copy.name} ends there"),
            Proven(copy.end if copy.is_archive else 0, f"{copy.name} is an archive"),
            Proven(
                _kept_by_majority(index, copies, shared[index], voters),
                f"{majority} of {len(voters)} voters hold the same records up to there",
            ),
        ):
            if candidate.offset > best.offset:
                best, reference = candidate, index
    holders = tuple(index for index, end in enumerate(shared[reference]) if end >= best.offset)
    return Agreement(*best, holders, tuple(divergences))


def _why_nothing(copies: Sequence[Copy], voters: Collection[int]) -> str:
    if not voters:
        return "the voters are unknown"
    if len(_by_voter(copies, [copy.end for copy in copies], voters)) <= len(voters) // 2:
        return "these are the folders of less than a majority of the voters"
    return "no majority holds a record of the newest epoch"


def _kept_by_majority(
    index: int, copies: Sequence[Copy], shared: Sequence[int], voters: Collection[int]
) -> int:
    """The end of the records of copy ``index`` that a majority of the voters has and must keep.

    A majority must keep records in two cases:

    - The last record has the newest epoch of all copies. This is the rule of Kafka's leader.
    - There is a copy of each voter, and no voter without the records ends with a newer epoch. So no
      voter without the records can win an election.
    """
    ends = _by_voter(copies, shared, voters)
    epochs = _by_voter(copies, [copy.epoch for copy in copies], voters)
    newest = max(copy.epoch for copy in copies)
    for end in sorted(ends.values(), reverse=True)[len(voters) // 2 :]:
        epoch = copies[index].epoch_before(end)
        if epoch is None:
            continue
        others = [epochs[voter] for voter, voter_end in ends.items() if voter_end < end]
        if epoch == newest or (len(ends) >= len(voters) and max(others, default=0) <= epoch):
            return end
    return 0


def _by_voter(
    copies: Sequence[Copy], numbers: Sequence[int], voters: Collection[int]
) -> Mapping[int, int]:
    """For each voter, the largest of its copies' ``numbers``."""
    by_voter: dict[int, int] = {}
    for copy, number in zip(copies, numbers, strict=True):
        if copy.voter is not None and copy.voter in voters:
            by_voter[copy.voter] = max(number, by_voter.get(copy.voter, 0))
    return by_voter


def _common_end(first: Copy, second: Copy) -> int:
    start = max(first.start, second.start)
    end = min(first.end, second.end)
    lefts = dropwhile(lambda stamp: stamp.next_offset <= start, first.stamps)
    rights = dropwhile(lambda stamp: stamp.next_offset <= start, second.stamps)
    for left, right in zip(lefts, rights, strict=False):
        if left == right:
            continue
        if left.base_offset == right.base_offset and left.epoch == right.epoch:
            raise CorruptLog(
                f"{first.name} and {second.name} have different records there in the same epoch"
                f" {left.epoch}; they are not of one quorum, or one of them is damaged",
                offset=left.base_offset,
            )
        end = min(left.base_offset, right.base_offset)
        break
    if end == start and _epochs_differ_before(start, first, second):
        return start - 1
    return end


def _epochs_differ_before(offset: int, first: Copy, second: Copy) -> bool:
    epochs = first.epoch_before(offset), second.epoch_before(offset)
    return None not in epochs and epochs[0] != epochs[1]
