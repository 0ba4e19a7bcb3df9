"""The offset of an image in the log, and the kinds of changes that make an image.

This module must not know images, deltas or records.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from metalog.ids import SnapshotId


class Provenance(NamedTuple):
    """The offset of an image: all committed records below ``offset`` are in the image.

    ``epoch`` and ``timestamp`` (ms) are those of the last batch or snapshot; -1 without either.
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
    """A change that batches of the log made; ``size`` is in bytes."""

    provenance: Provenance
    leader: Leader
    batches: int
    records: int
    size: int


class SnapshotManifest(NamedTuple):
    """A change that replaced the image by a snapshot and perhaps later batches."""

    provenance: Provenance
    leader: Leader
    batches: int
    records: int
    size: int
    snapshot: SnapshotId


Manifest = LogManifest | SnapshotManifest
"""Publishers receive the manifest of the latest change with each image."""
