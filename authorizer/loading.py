"""Loads, creates and configures the authorizer that a configuration names (KIP-11).

Kafka's class names stand for this project's classes. This module must not know listeners, nor
decide.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from authorizer.interface import Authorizer
from metalog.config.plugins import class_named, instance_of
from metalog.errors import ConfigException

CLASS_NAME: Final = "authorizer.class.name"
_KIP_11_CLASS: Final = "authorizer.compat.kip11.SimpleAclAuthorizer"
_STANDARD_CLASS: Final = "authorizer.StandardAuthorizer"
OURS: Final[Mapping[str, str]] = {
    "org.apache.kafka.metadata.authorizer.StandardAuthorizer": _STANDARD_CLASS,
    "kafka.security.auth.SimpleAclAuthorizer": _KIP_11_CLASS,
}
"""Kafka's class -> this project's class."""

_ZOOKEEPER_CLASS: Final = "kafka.security.authorizer.AclAuthorizer"
_NODE_KEYS: Final = ("process.roles", "node.id", "broker.id")


def load_authorizer(
    configs: Mapping[str, object], secure_listeners: Collection[str]
) -> Authorizer | None:
    """Make and configure the authorizer that ``authorizer.class.name`` names.

    ``secure_listeners`` are the listeners that authenticate or encrypt. Returns None if ``configs``
    names no class: then everything is allowed.

    Raises:
        ConfigException: the class or a value is invalid, or ``configs`` names no class although a
            listener is secure.
    """
    value = configs.get(CLASS_NAME)
    name = "" if value is None else str(value).strip()
    if not name:
        if secure_listeners:
            raise ConfigException(
                f"{CLASS_NAME} is not set, but clients of {', '.join(sorted(secure_listeners))}"
                f" authenticate or encrypt: set {CLASS_NAME} to {next(iter(OURS))}"
            )
        return None
    if name == _ZOOKEEPER_CLASS:
        raise ConfigException(
            f"{CLASS_NAME}={name} keeps its ACLs in ZooKeeper (KIP-801); "
            f"set {CLASS_NAME} to {next(iter(OURS))}, which makes the same decisions"
        )
    authorizer = _made(class_named(OURS.get(name, name), CLASS_NAME))
    authorizer.configure(configs)
    return authorizer


def why_decisions_differ(configs: Mapping[str, object]) -> str | None:
    """Why a node with ``configs`` can decide differently from StandardAuthorizer, or None."""
    name = str(configs.get(CLASS_NAME) or "").strip()
    if not name:
        return f"no {CLASS_NAME} is set, and Kafka without an authorizer allows everything"
    if OURS.get(name, name) in (_STANDARD_CLASS, _ZOOKEEPER_CLASS):
        return None
    return f"{CLASS_NAME}={name} can decide differently from StandardAuthorizer, which answers here"


def has_no_authorizer(configs: Mapping[str, object]) -> bool:
    """Whether ``configs`` is a node's whole configuration and names no authorizer."""
    is_whole = any(key in configs for key in _NODE_KEYS)
    return is_whole and not str(configs.get(CLASS_NAME) or "").strip()


def kip11_keys(configs: Mapping[str, object]) -> Collection[str]:
    """The keys that only KIP-11's authorizer reads; empty if another authorizer is configured."""
    name = str(configs.get(CLASS_NAME) or "").strip()
    if OURS.get(name, name) != _KIP_11_CLASS:
        return ()
    from authorizer.compat.kip11.config import KEYS

    return KEYS


def _made(found: type) -> Authorizer:
    if issubclass(found, Authorizer):
        made: Authorizer = instance_of(found, CLASS_NAME)
        return made
    from authorizer.compat.kip11.interface import Authorizer as Kip11Authorizer

    if issubclass(found, Kip11Authorizer):
        old: Kip11Authorizer = instance_of(found, CLASS_NAME)
        return old.as_todays()
    raise ConfigException(
        f"{CLASS_NAME}={found.__module__}.{found.__qualname__}: the class is neither an "
        "authorizer.Authorizer (KIP-504) nor an authorizer.compat.kip11.Authorizer (KIP-11)"
    )
