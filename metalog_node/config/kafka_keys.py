"""Refuses unsupported keys that restrict access in Kafka's brokers.

Ignoring such a key could allow more access. A test compares ``REFUSED`` and the supported keys with
Kafka's list of keys. This module must not open anything.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from metalog.config.located_properties import LISTENER_PREFIX, LocatedProperties

CREATION_RATE: Final = "max.connection.creation.rate"
NO_LIMIT: Final = str((1 << 31) - 1)


class RefusedKey(NamedTuple):
    """``advice`` says what to do instead; ``harmless`` are the values that restrict nothing."""

    advice: str
    harmless: frozenset[str] = frozenset()


_LOGINS: Final = RefusedKey(
    "take it out: users are in the log (SCRAM) or in listener.name.NAME.plain.sasl.jaas.config"
)
_IN_A_FILE: Final = RefusedKey("put it into a PEM file, and set ssl.keystore.location to that file")
_OPENSSL: Final = RefusedKey("take it out: TLS is done by Python's OpenSSL here")
REFUSED: Final[Mapping[str, RefusedKey]] = {
    "principal.builder.class": RefusedKey(
        "take it out; ssl.principal.mapping.rules turns certificates into principals",
        frozenset(("org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder",)),
    ),
    "sasl.server.callback.handler.class": _LOGINS,
    "sasl.login.callback.handler.class": _LOGINS,
    "sasl.client.callback.handler.class": _LOGINS,
    "sasl.login.class": _LOGINS,
    "max.connections.per.ip.overrides": RefusedKey(
        "take it out, and set max.connections.per.ip to the lowest override"
    ),
    CREATION_RATE: RefusedKey("take it out, and set max.connections", frozenset((NO_LIMIT,))),
    "ssl.engine.factory.class": _OPENSSL,
    "ssl.provider": _OPENSSL,
    "security.providers": _OPENSSL,
    "ssl.protocol": RefusedKey(
        "take it out, and set ssl.enabled.protocols", frozenset(("TLSv1.3", "TLS"))
    ),
    "ssl.trustmanager.algorithm": RefusedKey(_OPENSSL.advice, frozenset(("PKIX",))),
    "ssl.keystore.key": _IN_A_FILE,
    "ssl.keystore.certificate.chain": _IN_A_FILE,
    "ssl.truststore.certificates": RefusedKey(
        "put them into a PEM file, and set ssl.truststore.location to that file"
    ),
    "config.providers": RefusedKey(
        "write the values themselves: ${…} would be taken literally, even as a password"
    ),
}

_MECHANISMS: Final = ("plain", "scram-sha-256", "scram-sha-512", "gssapi", "oauthbearer")


def refuse_restricting_keys(properties: LocatedProperties, listeners: Collection[str]) -> None:
    """Raise ``ConfigException`` for the first key that restricts access and is not supported.

    ``listeners`` are the names of the listeners whose ``listener.name.NAME.`` keys count.
    """
    for key, value in properties.properties.items():
        refused = REFUSED.get(_without_listener(key, listeners))
        if refused is not None and value.strip() and value.strip() not in refused.harmless:
            raise properties.wrong(
                key,
                f"is not supported here, and ignoring it could allow more access; {refused.advice}",
            )


def _without_listener(key: str, listeners: Collection[str]) -> str:
    """The key without ``listener.name.NAME.``, and without the mechanism that can follow."""
    for name in listeners:
        key = key.removeprefix(f"{LISTENER_PREFIX}{name.lower()}.")
    mechanism, _, rest = key.partition(".")
    return rest if mechanism in _MECHANISMS else key
