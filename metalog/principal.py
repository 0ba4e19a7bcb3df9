"""Principals as Kafka writes them: ``Type:name``, split at the first colon.

This module must not know what a principal may do.
"""

from __future__ import annotations

from typing import NamedTuple

from metalog.errors import InvalidRequest


class KafkaPrincipal(NamedTuple):
    """``org.apache.kafka.common.security.auth.KafkaPrincipal``."""

    principal_type: str
    name: str

    def __str__(self) -> str:
        return f"{self.principal_type}:{self.name}"


ANONYMOUS = KafkaPrincipal("User", "ANONYMOUS")


def parse_principal(text: str) -> KafkaPrincipal:
    """``Type:name`` parsed as in Kafka; ``InvalidRequest`` if ``text`` has no colon."""
    principal_type, colon, name = text.partition(":")
    if not colon:
        raise InvalidRequest(f"principal {text!r} has no type; write it as User:{text}")
    return KafkaPrincipal(principal_type, name)
