"""The whole state of a cluster at one offset.

An image is deeply immutable and shares with the image before it what did not change.
Two images are equal when all their facts are. Its fields are ``provenance`` and the subjects,
in their order; a test holds them against ``SUBJECTS``. This module must not know what a subject
holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any, Final, NamedTuple

from metalog.image import (
    acls,
    client_quotas,
    cluster,
    configs,
    delegation_tokens,
    features,
    manifest,
    producer_ids,
    scram,
    topics,
)
from metalog.image.subjects import SUBJECTS


class MetadataImage(NamedTuple):
    """All that a log's records came to at one offset; deeply immutable."""

    provenance: manifest.Provenance = manifest.NOTHING
    features: features.FeaturesImage = features.EMPTY
    cluster: cluster.ClusterImage = cluster.EMPTY
    topics: topics.TopicsImage = topics.EMPTY
    configs: configs.ConfigsImage = configs.EMPTY
    client_quotas: client_quotas.ClientQuotasImage = client_quotas.EMPTY
    producer_ids: producer_ids.ProducerIdsImage = producer_ids.EMPTY
    acls: acls.AclsImage = acls.EMPTY
    scram: scram.ScramImage = scram.EMPTY
    delegation_tokens: delegation_tokens.DelegationTokensImage = delegation_tokens.EMPTY

    def write(self) -> Iterator[tuple[Any, int]]:
        """The records of a snapshot of this image with their versions, in Kafka's order.

        Versions are those that the image's own metadata.version writes. Replaying them
        makes an equal image; inside a subject they are sorted, so that equal images
        give equal snapshots.
        """
        level = self.features.level_to_write
        return chain.from_iterable(getattr(self, subject.name).write(level) for subject in SUBJECTS)

    def __repr__(self) -> str:
        return f"<MetadataImage at {self.provenance.offset}, epoch {self.provenance.epoch}>"


EMPTY: Final = MetadataImage()
