"""The features that a node supports, and those that its log has finalized (KIP-584).

This module must not know how clients are told.
"""

from __future__ import annotations

from typing import Final

from metalog.image.features import (
    KRAFT_VERSION,
    LATEST_METADATA_VERSION,
    METADATA_VERSION,
    OLDEST_METADATA_VERSION,
)
from metalog.replica.replica import Replica
from metalog.wire.versions import Features, VersionRange
from snapshot.initial_features import FEATURES

SUPPORTED: Final = {
    METADATA_VERSION: VersionRange(OLDEST_METADATA_VERSION, LATEST_METADATA_VERSION),
    KRAFT_VERSION: VersionRange(0, 1),
    **{name: VersionRange(0, levels[-1].level) for name, levels in FEATURES.items()},
}


def features_of(replica: Replica) -> Features | None:
    """None before a log was read that says its metadata.version. Of kraft.version a level of 0
    is not finalized, as in Kafka."""
    image, kraft_version = replica.image, replica.kraft_version
    level = image.features.metadata_version
    if level is None:
        return None
    finalized = {METADATA_VERSION: level, **dict(image.features.finalized.items())}
    if kraft_version:
        finalized[KRAFT_VERSION] = kraft_version
    return Features(SUPPORTED, finalized, image.provenance.offset - 1)
