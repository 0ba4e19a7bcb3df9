"""What is a secret in a log, and what stands in its place.

This module must not know where secrets are shown.
"""

from __future__ import annotations

from typing import Final

REDACTED: Final = "[redacted]"

_SECRET_CONFIGS: Final = (
    "password",
    "sasl.jaas.config",
    "ssl.keystore.key",
    "ssl.keystore.certificate.chain",
    "ssl.truststore.certificates",
)
"""How the names of Kafka's configurations of type PASSWORD end, listener prefixes aside."""


def is_secret_config(name: str) -> bool:
    return name.endswith(_SECRET_CONFIGS)
