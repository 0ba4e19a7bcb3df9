"""Reads a KRaft node's server.properties.

This module must not know how the values are used.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from metalog.errors import InvalidRequest
from metalog.text.whole_numbers import whole_number
from metalog_node.config.listeners import ADVERTISED, LISTENERS, NO_ROLES, named_addresses


class NodeProperties(NamedTuple):
    """``directories`` include ``metadata_dir``. ``controller`` is the controller listener as
    (name, host, port), None if the node is not a controller. ``controller_listener`` is the first
    name in ``controller.listener.names``."""

    node_id: int
    roles: frozenset[str]
    metadata_dir: Path | None
    directories: tuple[Path, ...]
    has_static_voters: bool
    controller: tuple[str, str, int] | None
    controller_listener: str | None
    has_authorizer: bool
    allows_unstable: bool
    """Whether feature levels that no Kafka has released are accepted."""


def node_config(properties: Mapping[str, str], file: str) -> NodeProperties:
    """The settings in ``properties``; errors name ``file``.

    Raises:
        InvalidRequest: ``properties`` do not configure a KRaft node.
    """
    if "zookeeper.connect" in properties:
        raise InvalidRequest(
            f"{file}: zookeeper.connect is set; nodes of Kafka 4 keep their metadata in a log"
        )
    roles = frozenset(_words(properties.get("process.roles", "")))
    if not roles:
        raise InvalidRequest(f"{file}: process.roles: {NO_ROLES}")
    node_id = whole_number(properties.get("node.id", properties.get("broker.id", "")).strip())
    if node_id is None and not properties.keys() & {"node.id", "broker.id"}:
        raise InvalidRequest(f"{file}: node.id is missing; set it to a number, 0 or more")
    if node_id is None:
        raise InvalidRequest(f"{file}: node.id must be a number, 0 or more")
    directories = [Path(text) for text in _words(_first(properties, "log.dirs", "log.dir"))]
    metadata = properties.get("metadata.log.dir", "").strip()
    metadata_dir = Path(metadata) if metadata else next(iter(directories), None)
    if metadata_dir is not None and metadata_dir not in directories:
        directories.append(metadata_dir)
    return NodeProperties(
        node_id,
        roles,
        metadata_dir,
        tuple(directories),
        bool(properties.get("controller.quorum.voters", "").strip()),
        _controller(properties, file) if "controller" in roles else None,
        next(iter(_controller_listeners(properties)), None),
        bool(properties.get("authorizer.class.name", "").strip()),
        properties.get("unstable.feature.versions.enable", "").strip().lower() == "true",
    )


def _first(properties: Mapping[str, str], *keys: str) -> str:
    return next((properties[key] for key in keys if properties.get(key, "").strip()), "")


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _controller_listeners(properties: Mapping[str, str]) -> list[str]:
    return _words(properties.get("controller.listener.names", ""))


def _controller(properties: Mapping[str, str], file: str) -> tuple[str, str, int]:
    names = _controller_listeners(properties)
    if not names:
        raise InvalidRequest(f"{file}: a controller needs controller.listener.names")
    for key in (ADVERTISED, LISTENERS):
        try:
            named = dict(named_addresses(key, properties.get(key, "")))
        except InvalidRequest as error:
            raise InvalidRequest(f"{file}: {error}") from None
        address = named.get(names[0].upper())
        if address is not None:
            return names[0], address.host or "localhost", address.port
    raise InvalidRequest(f"{file}: listeners has no address for the listener {names[0]}")
