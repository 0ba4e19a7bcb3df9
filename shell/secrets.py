"""What is a secret in a log, and what stands in its place.

This module must not know where secrets are shown.
"""

from __future__ import annotations

from typing import Final

REDACTED: Final = "[redacted]"

_SECRET_ENDINGS: Final = (
    "password",
    "passphrase",
    "secret",
    "secret.key",
    "keystore.key",
    "certificate.chain",
    "truststore.certificates",
    "jaas.config",
)
"""How the names of Kafka's configurations of type PASSWORD end, whatever listener or mechanism
stands before them; what plugins call theirs mostly ends so too."""


def is_secret_config(name: str) -> bool:
    return name.endswith(_SECRET_ENDINGS)
