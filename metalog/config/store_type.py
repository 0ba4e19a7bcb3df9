"""The type of a file with keys or certificates: ``ssl.keystore.type`` and ``ssl.truststore.type``.

Kafka's default is JKS, which nothing here reads. So a type must be set, for a client and for a
node's listener. This module must not open a file.
"""

from __future__ import annotations

from metalog.errors import InvalidRequest


def store_type(value: str | None, *readable: str) -> str:
    """The type ``value``; ``InvalidRequest`` unless it is one of ``readable``."""
    kind = "JKS" if value is None else value.upper()
    if kind not in readable:
        refused = "Kafka's default, JKS," if value is None else "this type"
        raise InvalidRequest(
            f"{refused} is not supported; set {' or '.join(readable)}, and convert the file if it"
            " is of another type"
        )
    return kind
