"""The authorizer's configuration: Kafka's keys, parsed as in Kafka, and two keys of this project.

This module must not know files: its callers parse the ``.properties`` file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from authorizer.kafka_version import KafkaVersion, version_for
from metalog.errors import ConfigException

if TYPE_CHECKING:
    from metalog.config.located_properties import LocatedProperties

SUPER_USERS: Final = "super.users"
ALLOW_EVERYONE: Final = "allow.everyone.if.no.acl.found"
EARLY_START_LISTENERS: Final = "early.start.listeners"
CONTROLLER_LISTENERS: Final = "controller.listener.names"
STALE_DENY_AFTER: Final = "stale.deny.after.ms"
KAFKA_VERSION: Final = "kafka.version"
ZOOKEEPER_CONNECT: Final = "zookeeper.connect"

CONFIG_PROVIDERS: Final = "config.providers"
_KEYS: Final = (
    SUPER_USERS,
    ALLOW_EVERYONE,
    EARLY_START_LISTENERS,
    CONTROLLER_LISTENERS,
    STALE_DENY_AFTER,
    KAFKA_VERSION,
)
_LEAST_SIMILARITY: Final = 0.9
_JAVA_BLANKS: Final = "".join(map(chr, range(0x21)))
_LONGEST_NUMBER: Final = 18
_PLACEHOLDER: Final = re.compile(r"\$\{[^}]*:[^}]*\}")
"""``${PROVIDER:KEY}``, which a configuration provider replaces (KIP-297)."""
_ANOTHER_PRINCIPAL: Final = re.compile(r",\s*[A-Za-z]+:")


class AuthorizerConfig(NamedTuple):
    """An authorizer's settings.

    - ``allow_everyone``: allow all access to a resource that no ACL's pattern matches.
    - ``early_start_listeners``: listeners that open before the authorizer is ready. Until then, the
      authorizer decides only for super users.
    - ``stale_deny_after_ms``: how long the last good image stays in force if the log is unreadable;
      None means forever.
    - ``kafka_version``: the version whose rules decide; if None, the log determines it.
    """

    super_users: frozenset[str] = frozenset()
    allow_everyone: bool = False
    early_start_listeners: frozenset[str] = frozenset()
    stale_deny_after_ms: int | None = None
    kafka_version: KafkaVersion | None = None

    @property
    def kafka(self) -> KafkaVersion:
        """``kafka_version``, or 4.3 if it is None."""
        return self.kafka_version or KafkaVersion.V4_3

    def for_log(self, metadata_version: int | None) -> AuthorizerConfig:
        """A copy that takes a missing ``kafka_version`` from ``metadata_version``."""
        return self._replace(kafka_version=self.kafka_version or version_for(metadata_version))


def from_properties(properties: Mapping[str, object]) -> tuple[AuthorizerConfig, list[str]]:
    """The configuration, and warnings, each in one line.

    Unknown keys are ignored, but a key that looks misspelt gets a warning.

    Raises:
        ConfigException: a value is invalid (such as a super user without a colon), a value needs a
            configuration provider, or the node keeps its ACLs in ZooKeeper (KIP-801).
    """
    if ZOOKEEPER_CONNECT in properties:
        raise ConfigException(
            f"{ZOOKEEPER_CONNECT}: a node that keeps its ACLs in ZooKeeper does not decide by a "
            "metadata log (KIP-801); take the configuration of a KRaft node"
        )
    _check_resolved(properties)
    if not isinstance(properties.get(SUPER_USERS), str | None):
        raise ConfigException(f"{SUPER_USERS}: give the users as one text, separated by semicolons")
    super_users, warnings = _super_users(_text(properties, SUPER_USERS))
    allow_everyone = _text(properties, ALLOW_EVERYONE).lower()
    if allow_everyone not in ("", "true", "false"):
        warnings.append(f"{ALLOW_EVERYONE}={allow_everyone} is taken as false; write true or false")
    warnings += _misspelt(properties)
    is_set = properties.get(EARLY_START_LISTENERS) is not None
    early = _text(properties, EARLY_START_LISTENERS if is_set else CONTROLLER_LISTENERS)
    config = AuthorizerConfig(
        super_users,
        allow_everyone == "true",
        frozenset(filter(None, map(str.strip, early.split(",")))),
        _milliseconds(_text(properties, STALE_DENY_AFTER)),
        read_kafka_version(_text(properties, KAFKA_VERSION)),
    )
    return config, warnings


def from_located(located: LocatedProperties) -> tuple[AuthorizerConfig, list[str]]:
    """As ``from_properties``; errors and warnings name the line or option of their key."""
    try:
        config, warnings = from_properties(located.properties)
    except ConfigException as error:
        raise ConfigException(located.placed_text(str(error))) from None
    return config, list(map(located.placed_text, warnings))


def _check_resolved(properties: Mapping[str, object]) -> None:
    """Refuse placeholders if ``config.providers`` is set: no provider is called here."""
    if not _text(properties, CONFIG_PROVIDERS):
        return
    for key in _KEYS:
        if _PLACEHOLDER.search(_text(properties, key)):
            raise ConfigException(
                f"{key}={_text(properties, key)}: {CONFIG_PROVIDERS} are not supported; "
                "write the value itself"
            )


def _misspelt(keys: Iterable[str]) -> list[str]:
    from difflib import SequenceMatcher

    return [
        f"{key} is not a known key; did you mean {known}?"
        for key in keys
        for known in _KEYS
        if key != known
        and abs(len(key) - len(known)) <= 2
        and SequenceMatcher(None, key.lower(), known).ratio() >= _LEAST_SIMILARITY
    ]


def _text(properties: Mapping[str, object], key: str) -> str:
    value = properties.get(key)
    return "" if value is None else str(value).strip(_JAVA_BLANKS)


def _super_users(text: str) -> tuple[frozenset[str], list[str]]:
    users = [user for part in text.split(";") if (user := part.strip(_JAVA_BLANKS))]
    for user in users:
        if ":" not in user:
            raise ConfigException(f"{SUPER_USERS}: {user!r} has no type; write it as User:{user}")
    warnings = [
        f"{SUPER_USERS}: {user!r} is taken as one user; separate users by semicolons, not commas"
        for user in users
        if _ANOTHER_PRINCIPAL.search(user) or ("," in user and "=" not in user)
    ]
    return frozenset(users), warnings


def read_kafka_version(text: str, key: str = f"{KAFKA_VERSION}=") -> KafkaVersion | None:
    """The version that ``text`` names; None for "". An error's message begins with ``key``."""
    if not text:
        return None
    for version in KafkaVersion:
        if text == version.value:
            return version
    known = " or ".join(version.value for version in KafkaVersion)
    raise ConfigException(f"{key}{text}: supported versions are Kafka {known}")


def _milliseconds(text: str) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER):
        raise ConfigException(
            f"{STALE_DENY_AFTER}={text}: give milliseconds, at most {_LONGEST_NUMBER} digits"
        )
    return int(text)
