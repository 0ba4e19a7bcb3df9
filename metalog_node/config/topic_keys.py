"""The keys of a node whose log is a Kafka topic: which topic, and how to connect to its cluster.

The keys are ``metadata.log.dir=topic://HOST:PORT/TOPIC``, and client keys with the prefix
``metadata.log.topic.``. This module must not connect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from metalog.config.client_settings import librdkafka_settings
from metalog.errors import ConfigException, InvalidRequest
from metalog.hosts.host_port import Address
from metalog.log.topic.address import is_topic, parse_address, split_snapshots
from metalog_node.config.listeners import ADVERTISED, ANY_ADDRESS, Listener

LOG_DIR: Final = "metadata.log.dir"
CLIENT_KEYS: Final = "metadata.log.topic."
"""The prefix of client keys for the connection to the topic's own cluster."""


class TopicLocation(NamedTuple):
    """The topic of the log; ``settings`` are librdkafka's, and can contain secrets."""

    address: str
    snapshots: Path | None
    settings: Mapping[str, str]

    def __repr__(self) -> str:
        return f"TopicLocation({self.address!r})"


def topic_location(properties: Mapping[str, str]) -> TopicLocation | None:
    """The topic, or None if the log is not a topic. ``ConfigException`` if a key is wrong."""
    text = properties.get(LOG_DIR, "").strip()
    if not is_topic(text):
        return None
    try:
        address, folder = split_snapshots(text)
        parse_address(address)
    except InvalidRequest as error:
        raise ConfigException(f"{LOG_DIR}: {error}") from None
    settings = _client_settings(properties)
    return TopicLocation(address, Path(folder) if folder else None, settings)


def _client_settings(properties: Mapping[str, str]) -> Mapping[str, str]:
    client_properties = {
        key.removeprefix(CLIENT_KEYS): value
        for key, value in properties.items()
        if key.startswith(CLIENT_KEYS)
    }
    try:
        settings, left_out = librdkafka_settings(client_properties)
    except InvalidRequest as error:
        raise ConfigException(f"{CLIENT_KEYS}{error}") from None
    if left_out:
        raise ConfigException(f"{CLIENT_KEYS}{left_out[0]}; take it out")
    return settings


def check_advertised(listeners: Sequence[Listener], advertised: Mapping[str, Address]) -> None:
    """Raise ``ConfigException`` if a controller listener has no address for the other nodes."""
    controllers = [listener.name for listener in listeners if listener.is_for_controllers]
    if not controllers:
        raise ConfigException(
            "controller.listener.names: is missing; the nodes of a topic forward to each other's "
            "controller listeners"
        )
    for name in controllers:
        address = advertised[name]
        if not address.port or address.host in ANY_ADDRESS:
            raise ConfigException(
                f"{ADVERTISED}: the other nodes need the address of {name}; give {name}://HOST:PORT"
            )
