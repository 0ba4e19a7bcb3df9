"""The origin of an image: the log offset that it reaches, and its latest change.

This module must not know images, deltas or records.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from metalog.ids import SnapshotId


class Provenance(NamedTuple):
    """An image holds all committed records below ``offset`` (exclusive, as in a snapshot's name).

    ``epoch`` and ``timestamp`` (ms) are those of the last batch below ``offset``. Before any
    replay, both are -1 and ``offset`` is 0.
    """

    offset: int
    epoch: int
    timestamp: int


NOTHING: Final = Provenance(0, -1, -1)


class Leader(NamedTuple):
    """The leader that writes the log, from its LEADER_CHANGE record; ``id`` is -1 if unknown."""

    id: int
    epoch: int


class LogManifest(NamedTuple):
    """Batches of the log made this change; ``size`` is the batches' size in bytes."""

    provenance: Provenance
    leader: Leader
    batches: int
    records: int
    size: int


class SnapshotManifest(NamedTuple):
    """A snapshot replaced the whole image; the same change may include batches after it."""

    provenance: Provenance
    leader: Leader
    batches: int
    records: int
    size: int
    snapshot: SnapshotId


Manifest = LogManifest | SnapshotManifest
"""The source of the latest change; publishers receive it with the image."""
