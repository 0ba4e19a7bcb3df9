"""SCRAM's words in Kafka: the mechanisms, and one stored credential (KIP-84, KIP-554).

This module must not know records, images or the wire.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class ScramMechanism(IntEnum):
    """``org.apache.kafka.common.security.scram.internals.ScramMechanism``, by record code."""

    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2

    @property
    def mechanism_name(self) -> str:
        """The name by which SASL and Kafka's tools know it (RFC 7677)."""
        return self.name.replace("_", "-")


class ScramCredential(NamedTuple):
    """What a server keeps of a password (RFC 5802, section 3); never shown by ``repr``."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    def __repr__(self) -> str:
        return (
            "ScramCredential(salt=[hidden], stored_key=[hidden], server_key=[hidden], "
            f"iterations={self.iterations})"
        )
