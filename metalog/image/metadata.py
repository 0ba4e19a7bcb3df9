"""The whole state of a cluster at one offset.

An image shares its unchanged parts with the previous image. The fields of an image are
``provenance`` and the subjects, in the order of ``SUBJECTS``. This module must not know what a
subject holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any, Final, NamedTuple

from metalog.image import manifest
from metalog.image.state import (
    acls,
    client_quotas,
    cluster,
    configs,
    delegation_tokens,
    features,
    producer_ids,
    scram,
    topics,
)
from metalog.image.subjects import SUBJECTS
from metalog.records.frame import encode_value


class MetadataImage(NamedTuple):
    """The state of a cluster after all records below one offset; deeply immutable."""

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

        The image's metadata.version determines the record versions. A replay of the records gives
        equal subjects, and equal subjects give equal records.
        """
        level = self.features.level_to_write
        return chain.from_iterable(getattr(self, subject.name).write(level) for subject in SUBJECTS)

    def write_values(self) -> Iterator[bytes]:
        """The encoded records of ``write``."""
        level = self.features.level_to_write
        for subject in SUBJECTS:
            image = getattr(self, subject.name)
            if image is self.acls:
                yield from self.acls.write_values()
            else:
                for message, version in image.write(level):
                    yield encode_value(message, version)

    def __repr__(self) -> str:
        return f"<MetadataImage at {self.provenance.offset}, epoch {self.provenance.epoch}>"


EMPTY: Final = MetadataImage()
