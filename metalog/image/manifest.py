"""The offset of an image in the log, and the kinds of changes that make an image.

This module must not know images, deltas or records.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from metalog.ids import SnapshotId


class Provenance(NamedTuple):
    """The offset of an image: all committed records below ``offset`` are in the image.

    ``epoch`` and ``timestamp`` (ms) are those of the last batch below ``offset``. An image without
    records has offset 0, epoch -1 and timestamp -1.
    """

    offset: int
    epoch: int
    timestamp: int


NOTHING: Final = Provenance(0, -1, -1)


class Leader(NamedTuple):
    """The leader that writes the log, from a LEADER_CHANGE record; ``id`` is -1 if unknown."""

    id: int
    epoch: int


class LogManifest(NamedTuple):
    """A change that batches of the log made; ``size`` is the size of these batches in bytes."""

    provenance: Provenance
    leader: Leader
    batches: int
    records: int
    size: int


class SnapshotManifest(NamedTuple):
    """A change that replaced the whole image by a snapshot; it can include later batches, too."""

    provenance: Provenance
    leader: Leader
    batches: int
    records: int
    size: int
    snapshot: SnapshotId


Manifest = LogManifest | SnapshotManifest
"""Publishers receive the manifest of the latest change with each image."""
