"""A node's configuration: Kafka's keys in a ``.properties`` file, checked before anything opens.

An error names the file, the key and the line if they are known. No error shows a value that can be
a password. This module must open only the configuration file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, NamedTuple

from pydantic import ValidationError

from authorizer.config import EARLY_START_LISTENERS, ZOOKEEPER_CONNECT, from_properties
from authorizer.loading import kip11_keys
from metalog.config.located_properties import LocatedProperties
from metalog.config.properties import Property, comma_separated, parse_properties
from metalog.controller.scram_password_config import KEYS as SCRAM_PASSWORD_KEYS
from metalog.controller.scram_password_config import ScramPasswordConfig
from metalog.disk.files import LOCAL_FILES, read_whole
from metalog.errors import ConfigException, InvalidRequest
from metalog.hosts.host_port import Address, parse_addresses
from metalog.log.config import LogConfig, log_config
from metalog.text.whole_numbers import whole_number
from metalog_node.auth.principals import MAPPING_RULES, MappingRule, parse_rules
from metalog_node.config.kafka_keys import refuse_restricting_keys
from metalog_node.config.listener_keys import (
    SaslKeys,
    TlsFiles,
    controller_client,
    max_connections,
    sasl_keys,
    tls_files,
)
from metalog_node.config.listeners import (
    ADVERTISED,
    LISTENERS,
    NO_ROLES,
    PROTOCOL_MAP,
    Listener,
    SecurityProtocol,
    parse_advertised,
    parse_listeners,
    parse_metrics,
    parse_protocols,
)
from metalog_node.config.settings import CONTROLLERS, METRICS, READ_ELSEWHERE, VOTERS, Settings
from metalog_node.config.topic_keys import (
    CLIENT_KEYS,
    LOG_DIR,
    TopicLocation,
    check_advertised,
    topic_location,
)

_ZOOKEEPER: Final = re.compile(r"zookeeper\..*|.*\.zookeeper\..*")
_CONTROLLER_NAMES: Final = "controller.listener.names"
_MESSAGES: Final = {
    "missing": "is missing",
    "too_short": NO_ROLES,
    "literal_error": "unknown role {input!r}; use broker, controller or both",
    "int_parsing": "give a whole number",
    "greater_than_equal": "give a whole number, {ge} or more",
    "less_than": "give a whole number below {lt}",
}
"""Messages, by pydantic's name of the error."""


class NodeConfig(NamedTuple):
    """A node's checked configuration.

    - ``properties`` has all keys.
    - ``tls``, ``sasl``, ``mapping_rules`` and ``max_connections_of`` map listeners to their
      settings.
    - ``bootstrap_servers`` are the controllers to follow; ``controller_client`` has a client's keys
      for their listener.
    - ``notes`` are warnings about unused keys and doubtful values.
    """

    roles: frozenset[str]
    node_id: int
    listeners: tuple[Listener, ...]
    advertised: Mapping[str, Address]
    tls: Mapping[str, TlsFiles]
    sasl: Mapping[str, SaslKeys]
    early_start: frozenset[str]
    bootstrap_servers: tuple[Address, ...]
    controller_client: Mapping[str, str]
    mapping_rules: Mapping[str, tuple[MappingRule, ...]]
    metadata_dir: Path | None
    topic: TopicLocation | None
    log: LogConfig
    controller_listener: str
    scram_passwords: ScramPasswordConfig
    max_connections: int
    max_connections_per_ip: int
    max_connections_of: Mapping[str, int]
    idle_s: float
    failed_login_delay_s: float
    request_max_bytes: int
    request_timeout_s: float
    metrics: Address | None
    properties: Mapping[str, str]
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return f"NodeConfig(node_id={self.node_id}, roles={sorted(self.roles)})"


def read_config(path: Path) -> NodeConfig:
    """Read a node's configuration from a ``server.properties``.

    Args:
        path: the file.

    Raises:
        ConfigException: the file cannot be read, or a value is missing or cannot be used; the
            message names the file, the key and the line.
    """
    try:
        parsed = parse_properties(read_whole(LOCAL_FILES, path))
    except OSError as error:
        raise ConfigException(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise ConfigException(f"{path}: {error}") from None
    return _Reading(parsed, str(path)).config()


def config_of(properties: Mapping[str, str]) -> NodeConfig:
    """Read a node's configuration from keys and values.

    Args:
        properties: Kafka's keys, as in a ``server.properties``.

    Raises:
        ConfigException: a value cannot be used; the message names the key.
    """
    return _Reading([Property(key, value, 0) for key, value in properties.items()], "").config()


class _Reading:
    def __init__(self, properties: Sequence[Property], file: str) -> None:
        self._located = LocatedProperties(properties, file)

    def config(self) -> NodeConfig:
        self._refuse_zookeeper()
        located, settings = self._located, self._settings()
        names = settings.controller_listener_names
        protocols = located.read(PROTOCOL_MAP, parse_protocols, settings.protocol_map, names)
        listeners = located.read(LISTENERS, parse_listeners, settings.listeners, protocols, names)
        advertised = located.read(
            ADVERTISED, parse_advertised, settings.advertised_listeners, listeners
        )
        refuse_restricting_keys(located, {listener.name for listener in listeners} | set(names))
        authorizer_config, notes = located.read("super.users", from_properties, located.properties)
        roles = frozenset(settings.process_roles)
        topic = located.read(LOG_DIR, topic_location, located.properties)
        controllers = self._controllers(settings, roles, is_on_topic=topic is not None)
        self._check_roles(roles, listeners, settings, is_on_topic=topic is not None)
        if topic is not None and "controller" in roles:
            located.read(ADVERTISED, check_advertised, listeners, advertised)
        follows = topic is not None or "controller" not in roles
        return NodeConfig(
            roles=roles,
            node_id=settings.node_id,
            listeners=listeners,
            advertised=advertised,
            tls={
                listener.name: tls_files(located, listener)
                for listener in listeners
                if listener.protocol.has_tls
            },
            sasl={
                listener.name: sasl_keys(located, listener)
                for listener in listeners
                if listener.protocol.has_login
            },
            early_start=self._early_start(authorizer_config.early_start_listeners, listeners),
            bootstrap_servers=controllers,
            controller_client=self._controller_client(settings, protocols) if follows else {},
            mapping_rules={
                listener.name: _mapping_rules(located, listener.name) for listener in listeners
            },
            metadata_dir=None if topic else _metadata_dir(settings),
            topic=topic,
            log=located.read(LOG_DIR, log_config, located.properties),
            controller_listener=next(iter(names), ""),
            scram_passwords=located.read(
                SCRAM_PASSWORD_KEYS[0], ScramPasswordConfig.configured, located.properties
            ),
            max_connections=settings.max_connections,
            max_connections_per_ip=settings.max_connections_per_ip,
            max_connections_of={
                listener.name: limit
                for listener in listeners
                if (limit := max_connections(located, listener)) is not None
            },
            idle_s=settings.idle_ms / 1000,
            failed_login_delay_s=settings.failed_login_delay_ms / 1000,
            request_max_bytes=settings.request_max_bytes,
            request_timeout_s=settings.request_timeout_ms / 1000,
            metrics=located.read(METRICS, parse_metrics, settings.metrics_listener),
            properties=located.properties,
            notes=(*notes, *self._not_used(notes)),
        )

    def _settings(self) -> Settings:
        try:
            return Settings.model_validate({"process.roles": "", **self._located.properties})
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            raise self._located.wrong(str(first["loc"][0]), _message(first)) from None

    def _refuse_zookeeper(self) -> None:
        for key in self._located.properties:
            if key == ZOOKEEPER_CONNECT or _ZOOKEEPER.fullmatch(key):
                raise self._located.wrong(
                    key,
                    "this node keeps its metadata in a log of its own and has no ZooKeeper mode "
                    "(KIP-801); take the key out, and move the ACLs by `metalog apply`",
                )

    def _check_roles(
        self,
        roles: frozenset[str],
        listeners: tuple[Listener, ...],
        settings: Settings,
        *,
        is_on_topic: bool,
    ) -> None:
        wrong, names = self._located.wrong, settings.controller_listener_names
        has_controllers = any(listener.is_for_controllers for listener in listeners)
        if "controller" in roles and names and not has_controllers:
            raise wrong(_CONTROLLER_NAMES, f"none of these names is in {LISTENERS}")
        if roles == {"broker"}:
            if has_controllers:
                why = "with process.roles=broker, no listener can be a controller listener"
                raise wrong(LISTENERS, why)
            if is_on_topic and not names:
                why = "is missing; a broker forwards to the active node's controller listener"
                raise wrong(_CONTROLLER_NAMES, why)

    def _controllers(
        self, settings: Settings, roles: frozenset[str], *, is_on_topic: bool
    ) -> tuple[Address, ...]:
        """The controllers to follow. A controller with its log in a folder is a quorum of one, and
        follows nobody."""
        located = self._located
        voters = located.read(VOTERS, _voters, settings.voters or "")
        if "controller" in roles and not is_on_topic:
            others = sorted(set(voters) - {settings.node_id})
            if others:
                raise located.wrong(
                    VOTERS,
                    f"node {others[0]} is a voter, but this node must be the only voter of its "
                    "log; to follow the other voters, set process.roles=broker",
                )
            return ()
        if settings.bootstrap_servers is not None:
            return tuple(
                located.read(CONTROLLERS, _addresses, CONTROLLERS, settings.bootstrap_servers)
            )
        if not voters and not is_on_topic:
            raise located.wrong(CONTROLLERS, "is missing; give the controllers to follow")
        return tuple(voters.values())

    def _controller_client(
        self, settings: Settings, protocols: Mapping[str, SecurityProtocol]
    ) -> dict[str, str]:
        if not settings.controller_listener_names:
            return {}
        name = settings.controller_listener_names[0]
        return {
            **controller_client(
                self._located, name, protocols.get(name, SecurityProtocol.PLAINTEXT)
            ),
            "client.id": str(settings.node_id),
            "request.timeout.ms": str(settings.request_timeout_ms),
        }

    def _early_start(
        self, named: frozenset[str], listeners: tuple[Listener, ...]
    ) -> frozenset[str]:
        upper = frozenset(map(str.upper, named))
        if EARLY_START_LISTENERS in self._located.properties:
            unknown = sorted(upper - {listener.name for listener in listeners})
            if unknown:
                raise self._located.wrong(
                    EARLY_START_LISTENERS, f"{unknown[0]} is not in {LISTENERS}"
                )
        return upper & {listener.name for listener in listeners}

    def _not_used(self, notes_so_far: Sequence[str]) -> list[str]:
        """A note for each unused key that looks misspelt, and one note for all other unused keys.
        Keys with a note in ``notes_so_far`` are left out."""
        located = self._located
        known = [
            *(str(field.alias) for field in Settings.model_fields.values()),
            *READ_ELSEWHERE,
            *kip11_keys(located.properties),
            *located.used,
        ]
        notes, others = [], []
        for key in located.properties:
            if key in known or key.startswith(CLIENT_KEYS):
                continue
            if any(note.startswith(f"{key} ") for note in notes_so_far):
                continue
            near = get_close_matches(key, known, n=1, cutoff=0.9)
            if near and near[0] not in located.properties:
                notes.append(located.message(key, f"is unknown; did you mean {near[0]}?"))
            else:
                others.append(key)
        if others:
            notes.append(f"not used here: {', '.join(sorted(others))}")
        return notes


def _message(error: Any) -> str:
    template = _MESSAGES.get(error["type"])
    context = {"input": error["input"], **error.get("ctx", {})}
    return str(error["msg"]) if template is None else template.format(**context)


def _voters(text: str) -> dict[int, Address]:
    voters: dict[int, Address] = {}
    for voter in comma_separated(text):
        number, _, address = voter.partition("@")
        node_id = whole_number(number)
        if node_id is None:
            raise ConfigException(f"{VOTERS}: {voter} is not ID@HOST:PORT")
        [voters[node_id]] = _addresses(VOTERS, address)
    return voters


def _addresses(key: str, text: str) -> list[Address]:
    try:
        return parse_addresses(text)
    except InvalidRequest as error:
        raise ConfigException(f"{key}: {error}") from None


def _mapping_rules(located: LocatedProperties, listener: str) -> tuple[MappingRule, ...]:
    key, text = located.of_listener(listener, MAPPING_RULES)
    return located.read(key, parse_rules, text)


def _metadata_dir(settings: Settings) -> Path | None:
    if settings.metadata_log_dir is not None:
        return settings.metadata_log_dir
    dirs = settings.log_dirs or settings.log_dir
    return None if dirs is None else Path(dirs.split(",")[0].strip())
