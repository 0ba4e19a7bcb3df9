"""The versions of Kafka whose decisions this authorizer gives, and what differs between them.

Another version that decides otherwise gets a member here, and a property for each rule in which
it differs. This module must not know ACLs, nor where a version is configured.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

FIRST_OF_4_4: Final = 32
"""The metadata.version (4.4-IV1) from which on Kafka creates ACLs for CIDR blocks."""


class KafkaVersion(Enum):
    """A version of Kafka, by the text that ``kafka.version`` has for it."""

    V4_3 = "4.3"
    V4_4 = "4.4"

    @property
    def matches_blocks(self) -> bool:
        """Whether a host that is a CIDR block matches all addresses in it (KIP-1276)."""
        return self is not KafkaVersion.V4_3

    @property
    def other(self) -> KafkaVersion:
        """The version to compare with: the next one, or of the newest the one before it."""
        return KafkaVersion.V4_4 if self is KafkaVersion.V4_3 else KafkaVersion.V4_3


def version_for(metadata_version: int | None) -> KafkaVersion:
    """The version that is assumed to decide by a log of this metadata.version.

    Only the software decides, whatever the log says; but no Kafka before 4.4 reads such a log.
    """
    if metadata_version is not None and metadata_version >= FIRST_OF_4_4:
        return KafkaVersion.V4_4
    return KafkaVersion.V4_3
