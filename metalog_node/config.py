"""A node's configuration: Kafka's keys in a ``.properties`` file, checked before anything opens.

An error names the file, the line and the key, and never a value that may be a password. What
decides (``authorizer.config``) and KIP-506's keys are read by those that know them. This module
must not open anything but the file it is given.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from pydantic import ValidationError

from authorizer.config import EARLY_START_LISTENERS, ZOOKEEPER_CONNECT, from_properties
from authorizer.loading import own_keys
from metalog.controller.scram_password_config import (
    KEYS as SCRAM_PASSWORD_KEYS,
)
from metalog.controller.scram_password_config import (
    ScramPasswordConfig,
    scram_password_config,
)
from metalog.errors import ConfigException, InvalidRequest
from metalog.properties import Property, parse_properties, properties_mapping
from metalog.wire.hosts import Address, parse_addresses
from metalog_node.listeners import (
    ADVERTISED,
    LISTENERS,
    PROTOCOL_MAP,
    Listener,
    SecurityProtocol,
    parse_advertised,
    parse_listeners,
    parse_metrics,
    parse_protocols,
)
from metalog_node.principals import MAPPING_RULES, Rule, parse_rules
from metalog_node.settings import (
    CONTROLLER_MECHANISM,
    CONTROLLERS,
    METRICS,
    READ_ELSEWHERE,
    Settings,
)
from metalog_node.topic_place import (
    CLIENT_KEYS,
    LOG_DIR,
    TopicPlace,
    check_reachable,
    topic_place,
)

_ZOOKEEPER: Final = re.compile(r"zookeeper\..*|.*\.zookeeper\..*")
_PER_LISTENER: Final = re.compile(r"listener\.name\.(?P<listener>[^.]+)\.(?P<key>.+)")
_JAAS_USER: Final = re.compile(r"""\buser_(?P<name>[^\s=]+)\s*=\s*"(?P<password>[^"]*)\"""")
_JAAS: Final = "plain.sasl.jaas.config"
_TLS_CLIENT: Final = (
    "ssl.truststore.location",
    "ssl.truststore.type",
    "ssl.keystore.location",
    "ssl.keystore.type",
    "ssl.key.password",
    "ssl.endpoint.identification.algorithm",
)


class TlsFiles(NamedTuple):
    """Where a listener's certificates are, all PEM. ``identity`` holds key and chain;
    ``trusted`` those that may sign a client's."""

    identity: Path
    password: str | None
    trusted: Path | None
    client_auth: Literal["none", "requested", "required"]

    def __repr__(self) -> str:
        return f"TlsFiles(identity={str(self.identity)!r}, client_auth={self.client_auth!r})"


class NodeConfig(NamedTuple):
    """``properties`` is all that was given, for what reads its own keys from it;
    ``controller_client`` has a client's keys for the controllers' listener; ``notes`` are lines
    about keys that are not used."""

    roles: frozenset[str]
    node_id: int
    listeners: tuple[Listener, ...]
    advertised: Mapping[str, Address]
    tls: Mapping[str, TlsFiles]
    early_start: frozenset[str]
    bootstrap_servers: tuple[Address, ...]
    controller_client: Mapping[str, str]
    mechanisms: tuple[str, ...]
    plain_passwords: Mapping[str, Mapping[str, str]]
    mapping_rules: tuple[Rule, ...]
    metadata_dir: Path | None
    topic: TopicPlace | None
    controller_listener: str
    scram_passwords: ScramPasswordConfig
    max_connections: int
    idle_s: float
    refused_after_s: float
    request_max_bytes: int
    request_timeout_s: float
    metrics: Address | None
    properties: Mapping[str, str]
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return f"NodeConfig(node_id={self.node_id}, roles={sorted(self.roles)})"


def read_config(path: Path) -> NodeConfig:
    """``ConfigException`` names the file, the line and the key."""
    try:
        given = parse_properties(path.read_bytes())
    except OSError as error:
        raise ConfigException(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise ConfigException(f"{path}: {error}") from None
    return _Reading(given, str(path)).config()


def config_of(properties: Mapping[str, str]) -> NodeConfig:
    """The same of properties that stand in no file."""
    return _Reading([Property(key, value, 0) for key, value in properties.items()], "").config()


class _Reading:
    """One configuration being read; knows on which line each key stands."""

    def __init__(self, given: Iterable[Property], file: str) -> None:
        self._lines = {each.key: each.line for each in given}
        self._properties = properties_mapping(given)
        self._file = file

    def config(self) -> NodeConfig:
        self._refuse_zookeeper()
        settings = self._settings()
        names = settings.controller_listener_names
        with_place = self._with_place
        protocols = with_place(PROTOCOL_MAP, parse_protocols, settings.protocol_map, names)
        listeners = with_place(LISTENERS, parse_listeners, settings.listeners, protocols, names)
        advertised = with_place(
            ADVERTISED, parse_advertised, settings.advertised_listeners, listeners
        )
        decides, notes = with_place("super.users", from_properties, self._properties)
        roles = frozenset(settings.process_roles)
        topic: TopicPlace | None = with_place(LOG_DIR, topic_place, self._properties)
        self._check_roles(roles, listeners, settings, is_on_topic=topic is not None)
        if topic is not None and "controller" in roles:
            with_place(ADVERTISED, check_reachable, listeners, advertised)
        return NodeConfig(
            roles=roles,
            node_id=settings.node_id,
            listeners=listeners,
            advertised=advertised,
            tls={each.name: self._tls(each) for each in listeners if each.protocol.has_tls},
            early_start=self._early_start(decides.early_start_listeners, listeners),
            bootstrap_servers=self._bootstrap_servers(settings.bootstrap_servers),
            controller_client=self._controller_client(settings, protocols),
            mechanisms=settings.sasl_enabled_mechanisms,
            plain_passwords=self._plain_passwords(settings, listeners),
            mapping_rules=with_place(
                MAPPING_RULES, parse_rules, self._properties.get(MAPPING_RULES, "")
            ),
            metadata_dir=None if topic else _metadata_dir(settings),
            topic=topic,
            controller_listener=next(iter(names), ""),
            scram_passwords=with_place(
                SCRAM_PASSWORD_KEYS[0], scram_password_config, self._properties
            ),
            max_connections=settings.max_connections,
            idle_s=settings.idle_ms / 1000,
            refused_after_s=settings.failed_login_delay_ms / 1000,
            request_max_bytes=settings.request_max_bytes,
            request_timeout_s=settings.request_timeout_ms / 1000,
            metrics=with_place(METRICS, parse_metrics, settings.metrics_listener),
            properties=self._properties,
            notes=(*notes, *self._not_used(told=notes)),
        )

    def _settings(self) -> Settings:
        try:
            return Settings.model_validate(self._properties)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            key = str(first["loc"][0])
            if first["type"] == "missing":
                raise self._wrong(key, "is missing") from None
            raise self._wrong(key, str(first["msg"])) from None

    def _refuse_zookeeper(self) -> None:
        for key in self._properties:
            if key == ZOOKEEPER_CONNECT or _ZOOKEEPER.fullmatch(key):
                raise self._wrong(
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
        has_controllers = any(each.is_controllers for each in listeners)
        if "controller" in roles and settings.controller_listener_names and not has_controllers:
            raise self._wrong("controller.listener.names", f"none of them is in {LISTENERS}")
        if roles == {"broker"}:
            if has_controllers:
                raise self._wrong(LISTENERS, "a broker alone has no listener of controllers")
            if is_on_topic and not settings.controller_listener_names:
                key = "controller.listener.names"
                raise self._wrong(key, "is missing; a broker forwards to that of the active node")
            if settings.bootstrap_servers is None and not is_on_topic:
                raise self._wrong(CONTROLLERS, "is missing; a broker follows them")

    def _early_start(
        self, named: frozenset[str], listeners: tuple[Listener, ...]
    ) -> frozenset[str]:
        upper = frozenset(map(str.upper, named))
        if EARLY_START_LISTENERS in self._properties:
            unknown = sorted(upper - {each.name for each in listeners})
            if unknown:
                raise self._wrong(EARLY_START_LISTENERS, f"{unknown[0]} is not in {LISTENERS}")
        return upper & {each.name for each in listeners}

    def _bootstrap_servers(self, text: str | None) -> tuple[Address, ...]:
        if text is None:
            return ()
        key = CONTROLLERS
        return tuple(self._with_place(key, parse_addresses, text))

    def _controller_client(
        self, settings: Settings, protocols: Mapping[str, SecurityProtocol]
    ) -> dict[str, str]:
        """How this node connects to the controllers, in the keys of a client."""
        if not settings.controller_listener_names:
            return {}
        name = settings.controller_listener_names[0]
        protocol = protocols.get(name, SecurityProtocol.PLAINTEXT)
        client = {
            "security.protocol": protocol.value,
            "client.id": str(settings.node_id),
            "request.timeout.ms": str(settings.request_timeout_ms),
        }
        wanted = list(_TLS_CLIENT) if protocol.has_tls else []
        if protocol.has_login:
            mechanism = self._properties.get(CONTROLLER_MECHANISM)
            if mechanism is None:
                raise self._wrong(CONTROLLER_MECHANISM, f"is missing; {name} wants a login")
            client["sasl.mechanism"] = mechanism
            _, jaas = self._for_name(name, f"{mechanism.lower()}.sasl.jaas.config")
            if jaas is not None:
                client["sasl.jaas.config"] = jaas
            else:
                wanted.append("sasl.jaas.config")
        for key in wanted:
            _, value = self._for_name(name, key)
            if value is not None:
                client[key] = value
        return client

    def _plain_passwords(
        self, settings: Settings, listeners: tuple[Listener, ...]
    ) -> dict[str, dict[str, str]]:
        """By listener, user to password; Kafka's JAAS text, one ``user_NAME="…"`` each."""
        if "PLAIN" not in settings.sasl_enabled_mechanisms:
            return {}
        found = {}
        for listener in listeners:
            if not listener.protocol.has_login:
                continue
            key, text = self._for_listener(listener, _JAAS)
            users = {each["name"]: each["password"] for each in _JAAS_USER.finditer(text or "")}
            if not users:
                raise self._wrong(
                    key,
                    "SASL PLAIN is enabled and nobody has a password; give org.apache.kafka."
                    'common.security.plain.PlainLoginModule required user_NAME="…";',
                )
            found[listener.name] = users
        return found

    def _tls(self, listener: Listener) -> TlsFiles:
        for kind in ("ssl.keystore.type", "ssl.truststore.type"):
            key, value = self._for_listener(listener, kind)
            if value is not None and value.upper() != "PEM":
                raise self._wrong(key, "only PEM is read here; convert it and set PEM")
        key, identity = self._for_listener(listener, "ssl.keystore.location")
        if identity is None:
            raise self._wrong(
                key, f"is missing; {listener.name} needs a PEM file with its key and certificates"
            )
        _, trusted = self._for_listener(listener, "ssl.truststore.location")
        _, password = self._for_listener(listener, "ssl.key.password")
        key, asked = self._for_listener(listener, "ssl.client.auth")
        client_auth = (asked or "none").lower()
        if client_auth not in ("none", "requested", "required"):
            raise self._wrong(key, "give none, requested or required")
        if client_auth != "none" and trusted is None:
            raise self._wrong(key, "ssl.truststore.location says whom to trust, and is missing")
        return TlsFiles(
            Path(identity),
            password,
            None if trusted is None else Path(trusted),
            client_auth,  # type: ignore[arg-type]  # checked above
        )

    def _for_listener(self, listener: Listener, key: str) -> tuple[str, str | None]:
        return self._for_name(listener.name, key)

    def _for_name(self, name: str, key: str) -> tuple[str, str | None]:
        """The key that is in force for the listener called ``name``, and its value."""
        own = f"listener.name.{name.lower()}.{key}"
        return (
            (own, self._properties[own])
            if own in self._properties
            else (
                key,
                self._properties.get(key),
            )
        )

    def _not_used(self, told: Iterable[str]) -> list[str]:
        """``told`` are the notes that there are already, each beginning with its key."""
        known = [
            *(str(field.alias) for field in Settings.model_fields.values()),
            *READ_ELSEWHERE,
            *own_keys(self._properties),
        ]
        notes, others = [], []
        for key in self._properties:
            if (
                key in known
                or key.startswith(("ssl.", CLIENT_KEYS))
                or _PER_LISTENER.fullmatch(key)
            ):
                continue
            if any(note.startswith(f"{key} ") for note in told):
                continue
            near = get_close_matches(key, known, n=1, cutoff=0.9)
            if near:
                notes.append(self._placed(key, f"is not known; did you mean {near[0]}?"))
            else:
                others.append(key)
        if others:
            notes.append(f"not used here: {', '.join(sorted(others))}")
        return notes

    def _with_place(self, key: str, read: Any, *arguments: Any) -> Any:
        try:
            return read(*arguments)
        except InvalidRequest as error:
            said = [given for given in self._lines if str(error).startswith(given)]
            raise ConfigException(self._at(max(said, key=len, default=key)) + str(error)) from None

    def _wrong(self, key: str, why: str) -> ConfigException:
        return ConfigException(self._placed(key, why))

    def _placed(self, key: str, why: str) -> str:
        return f"{self._at(key)}{key}: {why}"

    def _at(self, key: str) -> str:
        line = self._lines.get(key)
        if not self._file:
            return ""
        return f"{self._file}: " if line is None else f"{self._file}, line {line}: "


def _metadata_dir(settings: Settings) -> Path | None:
    if settings.metadata_log_dir is not None:
        return settings.metadata_log_dir
    dirs = settings.log_dirs or settings.log_dir
    return None if dirs is None else Path(dirs.split(",")[0].strip())
