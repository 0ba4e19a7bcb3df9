"""The features that a node supports, and the features that its log has finalized (KIP-584).

This module must not know how clients learn of features.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from metalog.image.state.features import KRAFT_VERSION, LATEST_METADATA_VERSIONS, METADATA_VERSION
from metalog.replica.replica import Replica
from metalog.wire.versions import Features, VersionRange
from snapshot.initial_features import supported_levels

SUPPORTED: Final[Mapping[str, Mapping[str, VersionRange]]] = {
    kafka: {name: VersionRange(*levels) for name, levels in supported_levels(newest).items()}
    for kafka, newest in LATEST_METADATA_VERSIONS.items()
}
"""Feature versions, by Kafka's version and the feature's name."""


def features_of(replica: Replica, kafka: str) -> Features | None:
    """The features as the Kafka version ``kafka`` reports them; None while the log's
    metadata.version is unknown. As in Kafka, level 0 of kraft.version counts as not finalized."""
    image, kraft_version = replica.image, replica.kraft_version
    level = image.features.metadata_version
    if level is None:
        return None
    finalized = {METADATA_VERSION: level, **dict(image.features.finalized.items())}
    if kraft_version:
        finalized[KRAFT_VERSION] = kraft_version
    return Features(SUPPORTED[kafka], finalized, image.provenance.offset - 1)
