"""The origin of an image: the offset that it holds, and its latest change.

This module must not know images, deltas or records.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from metalog.ids import SnapshotId


class Provenance(NamedTuple):
    """An image holds all committed records below ``offset`` (exclusive, as in a snapshot's name).

    ``epoch`` and ``timestamp`` (ms) are those of the batch that ends there; both -1 and
    ``offset`` 0 where nothing was replayed.
    """

    offset: int
    epoch: int
    timestamp: int


NOTHING: Final = Provenance(0, -1, -1)


class Leader(NamedTuple):
    """Who writes the log, as of its LEADER_CHANGE record; ``id`` -1 where it is not known."""

    id: int
    epoch: int


class LogManifest(NamedTuple):
    """Batches of the log made this change; ``size`` is theirs in bytes."""

    provenance: Provenance
    leader: Leader
    batches: int
    records: int
    size: int


class SnapshotManifest(NamedTuple):
    """A snapshot replaced everything; the log after it may have added to the same change."""

    provenance: Provenance
    leader: Leader
    batches: int
    records: int
    size: int
    snapshot: SnapshotId


Manifest = LogManifest | SnapshotManifest
"""What made the latest change, handed to publishers with the image."""
