"""What is provably committed, from files alone.

The high-water mark is not on disk, so a copy of a leader whose followers lag looks like
one whose followers caught up. Proof is: a snapshot (only committed records go into one),
being the only voter, or the same records in the folders of a majority.
Pure. This module must not read anything.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import dropwhile
from typing import Final, NamedTuple

from metalog.errors import CorruptLog

NOT_ON_DISK: Final = "the high-water mark is not on disk"


class Proven(NamedTuple):
    """All records below ``offset`` are committed, because of ``why``."""

    offset: int
    why: str


def proven_by_one(
    *,
    end: int,
    newest_snapshot_end: int | None,
    voters: Collection[int],
    node_id: int | None,
) -> Proven:
    """What one node's folder proves; no ``voters`` means that they are not known."""
    if node_id is not None and set(voters) == {node_id}:
        return Proven(end, f"node {node_id} is the only voter")
    if newest_snapshot_end is not None:
        return Proven(newest_snapshot_end, f"a snapshot ends at {newest_snapshot_end}")
    return Proven(0, "no snapshot, and other voters may hold other records")


class Stamp(NamedTuple):
    """A batch's place, and what tells it from another batch in that place."""

    base_offset: int
    next_offset: int
    epoch: int
    crc: int


class Copy(NamedTuple):
    """One node's log: its batches in order from ``start`` on.

    A snapshot vouches for what lies below ``start``. ``voter`` is the node's id, or None
    where its folder does not say it, ``snapshot_end`` the end of its newest snapshot or 0.
    """

    name: str
    voter: int | None
    start: int
    end: int
    snapshot_end: int
    stamps: Sequence[Stamp]


class Divergence(NamedTuple):
    """Two copies hold other records from ``offset`` on: one of them was not committed."""

    first: str
    second: str
    offset: int

    def __str__(self) -> str:
        return f"{self.first} and {self.second} differ from offset {self.offset} on"


class Agreement(NamedTuple):
    """What the copies of one quorum prove together.

    ``holders`` are the places, among the copies, of those that hold all that is committed.
    """

    committed: int
    why: str
    holders: tuple[int, ...]
    divergences: tuple[Divergence, ...]


def agree(copies: Sequence[Copy], voters: Collection[int]) -> Agreement:
    """The longest prefix that a majority of ``voters`` shares, or that a snapshot holds.

    Where the voters are not known, the copies given are taken for all of them.
    """
    divergences: list[Divergence] = []
    shared = [[copy.end] * len(copies) for copy in copies]
    for left, first in enumerate(copies):
        for right in range(left + 1, len(copies)):
            end = _common_end(first, copies[right])
            shared[left][right] = shared[right][left] = end
            if end < min(first.end, copies[right].end):
                divergences.append(Divergence(first.name, copies[right].name, end))
    count = len(voters) or len(copies)
    majority = count // 2 + 1
    best = Proven(0, "fewer than a majority of the voters' folders were given")
    reference = 0
    for place, copy in enumerate(copies):
        for candidate in (
            Proven(copy.snapshot_end, f"a snapshot of {copy.name} ends there"),
            Proven(
                _held_by(majority, copies, shared[place], voters),
                f"{majority} of {count} voters hold the same up to there",
            ),
        ):
            if candidate.offset > best.offset:
                best, reference = candidate, place
    holders = tuple(place for place, end in enumerate(shared[reference]) if end >= best.offset)
    return Agreement(*best, holders, tuple(divergences))


def _held_by(
    majority: int, copies: Sequence[Copy], shared: Sequence[int], voters: Collection[int]
) -> int:
    """How far ``majority`` different voters share what one copy holds."""
    by_voter: dict[object, int] = {}
    for place, (copy, end) in enumerate(zip(copies, shared, strict=True)):
        if copy.voter is None or not voters or copy.voter in voters:
            voter = copy.voter if copy.voter is not None else f"copy {place}"
            by_voter[voter] = max(end, by_voter.get(voter, 0))
    ends = sorted(by_voter.values(), reverse=True)
    return ends[majority - 1] if len(ends) >= majority else 0


def _common_end(first: Copy, second: Copy) -> int:
    """The offset up to which both hold the same records."""
    start = max(first.start, second.start)
    end = min(first.end, second.end)
    lefts = dropwhile(lambda stamp: stamp.next_offset <= start, first.stamps)
    rights = dropwhile(lambda stamp: stamp.next_offset <= start, second.stamps)
    for left, right in zip(lefts, rights, strict=False):
        if left == right:
            continue
        if left.base_offset == right.base_offset and left.epoch == right.epoch:
            raise CorruptLog(
                f"{first.name} and {second.name} hold other records there in the same epoch"
                f" {left.epoch}; they are not of one quorum, or one of them is damaged",
                offset=left.base_offset,
            )
        return min(left.base_offset, right.base_offset)
    return end
