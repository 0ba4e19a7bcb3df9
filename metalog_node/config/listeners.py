"""A node's listeners: addresses, security protocols, and advertised addresses.

Sources: Kafka's ``listeners``, ``advertised.listeners``, ``listener.security.protocol.map``
and ``controller.listener.names``. This module must not open anything.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from metalog.config.properties import comma_separated
from metalog.errors import ConfigException
from metalog.hosts.host_port import Address

LISTENERS: Final = "listeners"
ADVERTISED: Final = "advertised.listeners"
PROTOCOL_MAP: Final = "listener.security.protocol.map"
NO_ROLES: Final = "is missing; set it to broker, controller or both"

_URL: Final = re.compile(
    r"(?P<name>[A-Za-z0-9_.-]+)://(?:\[(?P<v6>[^\]]*)\]|(?P<host>[^:\[\]]*)):(?P<port>\d{1,5})"
)
ANY_ADDRESS: Final = ("", "0.0.0.0", "::")  # noqa: S104 read from a configuration, not bound
_LOOPBACK: Final = re.compile(r"localhost|127\.\d+\.\d+\.\d+|::1")


class SecurityProtocol(StrEnum):
    PLAINTEXT = "PLAINTEXT"
    SSL = "SSL"
    SASL_PLAINTEXT = "SASL_PLAINTEXT"
    SASL_SSL = "SASL_SSL"

    @property
    def has_tls(self) -> bool:
        return self.value.endswith("SSL")

    @property
    def has_login(self) -> bool:
        return self.value.startswith("SASL")


class Listener(NamedTuple):
    """A listener's name, address and security protocol. An empty ``host`` means every address of
    the machine; port 0 means any free port."""

    name: str
    host: str
    port: int
    protocol: SecurityProtocol
    is_for_controllers: bool

    @property
    def is_secure(self) -> bool:
        """Whether the listener encrypts or authenticates. (The word "secure" is KIP-11's.)"""
        return self.protocol is not SecurityProtocol.PLAINTEXT

    @property
    def is_loopback(self) -> bool:
        return _LOOPBACK.fullmatch(self.host) is not None


def parse_listeners(
    text: str, protocols: Mapping[str, SecurityProtocol], controller_names: Sequence[str]
) -> tuple[Listener, ...]:
    """The listeners in ``listeners``; ``protocols`` is the result of ``parse_protocols``."""
    listeners: list[Listener] = []
    for name, address in named_addresses(LISTENERS, text):
        is_for_controllers = name in controller_names
        protocol = protocols.get(name)
        if protocol is None:
            raise ConfigException(
                f"{LISTENERS}: {name} has no security protocol; add {name}:PLAINTEXT (or "
                f"another protocol) to {PROTOCOL_MAP}"
            )
        if any(earlier.name == name for earlier in listeners):
            raise ConfigException(f"{LISTENERS}: {name} is repeated")
        if address.port and any(earlier.port == address.port for earlier in listeners):
            raise ConfigException(f"{LISTENERS}: port {address.port} is used twice")
        listeners.append(Listener(name, address.host, address.port, protocol, is_for_controllers))
    if not listeners:
        raise ConfigException(f"{LISTENERS}: no listener, so nobody can reach this node")
    return tuple(listeners)


def parse_protocols(
    text: str | None, controller_names: Sequence[str]
) -> dict[str, SecurityProtocol]:
    """The protocols in ``listener.security.protocol.map``, by listener. Without the map, a
    listener's name is its protocol. A controllers' listener with any other name is PLAINTEXT."""
    defaults = {protocol.value: protocol for protocol in SecurityProtocol}
    if not text:
        return defaults | {
            name: SecurityProtocol.PLAINTEXT for name in controller_names if name not in defaults
        }
    named = {}
    for part in comma_separated(text):
        name, _, protocol = part.rpartition(":")
        try:
            named[name.upper()] = SecurityProtocol(protocol.upper())
        except ValueError:
            known = ", ".join(SecurityProtocol)
            raise ConfigException(
                f"{PROTOCOL_MAP}: {part} is not NAME:PROTOCOL; the protocols are {known}"
            ) from None
    return named


def parse_advertised(text: str | None, listeners: Sequence[Listener]) -> dict[str, Address]:
    """Each listener's address for clients: by default the address in ``listeners``, whose host can
    be empty."""
    advertised = {listener.name: Address(listener.host, listener.port) for listener in listeners}
    configured = dict(named_addresses(ADVERTISED, text or ""))
    for each in listeners:
        if (
            each.host in ANY_ADDRESS[1:]
            and not each.is_for_controllers
            and each.name not in configured
        ):
            raise ConfigException(
                f"{LISTENERS}: {each.name} listens on {each.host}, to which no client can "
                f"connect; give its address in {ADVERTISED}"
            )
    for name, address in configured.items():
        if name not in advertised:
            raise ConfigException(f"{ADVERTISED}: {name} is not in {LISTENERS}")
        if address.host in ANY_ADDRESS[1:]:
            raise ConfigException(
                f"{ADVERTISED}: {address.host} is not an address that a client can connect to"
            )
        advertised[name] = address
    return advertised


def parse_metrics(text: str | None) -> Address | None:
    """``metrics.listener``: the address of metrics and probes, if any."""
    if not text:
        return None
    match = _URL.fullmatch(text)
    if match is None or match["name"].upper() != "HTTP":
        raise ConfigException(f"metrics.listener: {text} is not http://HOST:PORT")
    [(_, address)] = named_addresses("metrics.listener", text)
    return address


def named_addresses(key: str, text: str) -> list[tuple[str, Address]]:
    """The addresses ``NAME://HOST:PORT`` in the value of ``key``."""
    urls = []
    for part in comma_separated(text):
        match = _URL.fullmatch(part)
        if match is None:
            raise ConfigException(f"{key}: {part} is not NAME://HOST:PORT")
        if int(match["port"]) >= 1 << 16:
            raise ConfigException(f"{key}: {part}: port {match['port']}: give 0 to 65535")
        host = match["v6"] if match["v6"] is not None else match["host"]
        urls.append((match["name"].upper(), Address(host, int(match["port"]))))
    return urls
