"""The versions of Kafka whose rules this authorizer can apply, and how their rules differ.

A version with different decisions gets a member here, and a property for each rule that differs.
This module must not know ACLs, nor where a version is configured.
"""

from __future__ import annotations

from enum import Enum


class KafkaVersion(Enum):
    """A version of Kafka; the value is its text in ``kafka.version``."""

    V4_3 = "4.3"
    V4_4 = "4.4"

    @property
    def matches_blocks(self) -> bool:
        """Whether a host that is a CIDR block matches all addresses in it (KIP-1276)."""
        return self is not KafkaVersion.V4_3

    @property
    def other(self) -> KafkaVersion:
        """The version to compare with: the next version or, for the newest, the previous."""
        return KafkaVersion.V4_4 if self is KafkaVersion.V4_3 else KafkaVersion.V4_3


def version_for(metadata_version: int | None) -> KafkaVersion:
    """The version of Kafka to assume for a log with this metadata.version.

    A log does not record the version of the brokers' software, which determines the decisions. But
    Kafka 4.3 or older cannot read a log with metadata.version 4.4-IV1 or newer.
    """
    from metalog.image.state.features import FeaturesImage

    return KafkaVersion(FeaturesImage(metadata_version).assumed_kafka)
