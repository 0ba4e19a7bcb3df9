"""Classifies every key of Kafka's brokers: supported, refused, or harmless.

Some keys restrict connections or permissions. If a node does not support such a key, it does not
start: to ignore the key would fail open. A test compares this table with Kafka's own list of keys.
``settings`` has the supported keys; ``OF_LISTENERS`` has those of listeners. This module must not
open anything.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from metalog_node.config.located_properties import LocatedProperties

CREATION_RATE: Final = "max.connection.creation.rate"
NO_LIMIT: Final = str((1 << 31) - 1)


class RefusedKey(NamedTuple):
    """``do`` says what to write instead; ``harmless`` are the values that restrict nothing."""

    do: str
    harmless: frozenset[str] = frozenset()


_LOGINS: Final = RefusedKey(
    "take it out: users are in the log (SCRAM) or in listener.name.NAME.plain.sasl.jaas.config"
)
_IN_A_FILE: Final = RefusedKey("put it into a PEM file, and name that by ssl.keystore.location")
_OPENSSL: Final = RefusedKey("take it out: TLS is OpenSSL's here, as Python has it")
REFUSED: Final[Mapping[str, RefusedKey]] = {
    "principal.builder.class": RefusedKey(
        "take it out, and name the owners of certificates by ssl.principal.mapping.rules",
        frozenset(("org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder",)),
    ),
    "sasl.server.callback.handler.class": _LOGINS,
    "sasl.login.callback.handler.class": _LOGINS,
    "sasl.client.callback.handler.class": _LOGINS,
    "sasl.login.class": _LOGINS,
    "max.connections.per.ip.overrides": RefusedKey(
        "take it out, and set max.connections.per.ip to the lowest of them"
    ),
    CREATION_RATE: RefusedKey("take it out, and limit by max.connections", frozenset((NO_LIMIT,))),
    "ssl.engine.factory.class": _OPENSSL,
    "ssl.provider": _OPENSSL,
    "security.providers": _OPENSSL,
    "ssl.protocol": RefusedKey(
        "name the versions in ssl.enabled.protocols", frozenset(("TLSv1.3", "TLS"))
    ),
    "ssl.trustmanager.algorithm": RefusedKey(_OPENSSL.do, frozenset(("PKIX",))),
    "ssl.keystore.key": _IN_A_FILE,
    "ssl.keystore.certificate.chain": _IN_A_FILE,
    "ssl.truststore.certificates": RefusedKey(
        "put them into a PEM file, and name that by ssl.truststore.location"
    ),
    "config.providers": RefusedKey(
        "write the values themselves: ${…} would be taken literally, even as a password"
    ),
}
OF_LISTENERS: Final = (
    "ssl.keystore.type", "ssl.keystore.location", "ssl.key.password", "ssl.client.auth",
    "ssl.truststore.type", "ssl.truststore.location", "ssl.endpoint.identification.algorithm",
    "sasl.jaas.config",
)  # fmt: skip
"""Supported keys of listeners, beside the keys in ``settings``; with and without the prefix
``listener.name.NAME.``."""
HARMLESS: Final = (
    "ssl.keystore.password", "ssl.truststore.password", "ssl.keymanager.algorithm",
    "ssl.secure.random.implementation", "ssl.allow.dn.changes", "ssl.allow.san.changes",
    "sasl.kerberos.*", "sasl.oauthbearer.*", "sasl.login.*", "sasl.server.max.receive.size",
    "sasl.mechanism.inter.broker.protocol", "delegation.token.*",
    "inter.broker.listener.name", "security.inter.broker.protocol",
    "alter.*", "create.topic.policy.class.name", "client.quota.callback.class",
    "auto.*", "delete.*", "unstable.*", "unclean.*", "queued.*", "max.request.*", "max.inc*",
    "add.*", "background.*", "broker.*", "compression.*", "controlled.*", "controller.p*",
    "controller.quota.*", "controller.socket.*", "controller.quorum.*", "cordoned.*",
    "default.*", "fetch.*", "follower.*", "group.*", "initial.*", "internal.*", "kafka.*",
    "leader.*", "log.*", "message.*", "metric.*", "metrics.*", "min.*", "num.*", "offset.*",
    "offsets.*", "producer.*", "quota.*", "remote.*", "replica.*", "replication.*",
    "server.*", "share.*", "socket.*", "telemetry.*", "transaction.*", "transactional.*",
)  # fmt: skip
"""Keys that let nobody in. They set amounts, times and rates, or belong to mechanisms and requests
that a node does not have. ``*`` ends a prefix of keys; another table may have some of these
keys."""

_OF_A_LISTENER: Final = "listener.name."
_MECHANISMS: Final = ("plain", "scram-sha-256", "scram-sha-512", "gssapi", "oauthbearer")


def is_harmless(key: str) -> bool:
    return any(
        key.startswith(each[:-1]) if each.endswith("*") else key == each for each in HARMLESS
    )


def refuse_what_restricts(properties: LocatedProperties, listeners: Collection[str]) -> None:
    """Refuse keys that restrict access and are not supported.

    ``listeners`` are the names of the listeners whose ``listener.name.NAME.`` keys count.

    Raises:
        ConfigException: names the first such key.
    """
    for key, value in properties.properties.items():
        refused = REFUSED.get(_without_listener(key, listeners))
        if refused is not None and value.strip() and value.strip() not in refused.harmless:
            raise properties.wrong(
                key, f"is not supported here, and ignoring it could allow more; {refused.do}"
            )


def _without_listener(key: str, listeners: Collection[str]) -> str:
    """The key without the prefix of its listener, and without the mechanism that may follow the
    prefix."""
    for name in listeners:
        key = key.removeprefix(f"{_OF_A_LISTENER}{name.lower()}.")
    mechanism, _, rest = key.partition(".")
    return rest if mechanism in _MECHANISMS else key
