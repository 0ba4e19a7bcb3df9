"""Reads the keys for a listener's TLS, logins and clients, and for connections to controllers.

A key with the prefix ``listener.name.NAME.`` is only for the listener NAME. No error shows a value
that can be a password. This module must not open any file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple

from metalog.config.client_settings import no_password, store_type
from metalog.config.jaas import PLAIN_MODULE, login_module
from metalog.config.located_properties import LISTENER_PREFIX, LocatedProperties
from metalog.config.properties import comma_separated
from metalog.errors import InvalidRequest
from metalog.scram import MOST_NAME_BYTES
from metalog.text.whole_numbers import java_number
from metalog_node.config.listeners import Listener, SecurityProtocol
from metalog_node.config.tls_limits import TlsLimits, limits, protocols

CONTROLLER_MECHANISM: Final = "sasl.mechanism.controller.protocol"
MECHANISMS: Final = "sasl.enabled.mechanisms"
MAX_REAUTH: Final = "connections.max.reauth.ms"
PROTOCOLS: Final = "ssl.enabled.protocols"
SUITES: Final = "ssl.cipher.suites"

PLAIN: Final = "PLAIN"
_SUPPORTED_MECHANISMS: Final = (PLAIN, "SCRAM-SHA-256", "SCRAM-SHA-512")
_USER: Final = "user_"
_JAAS: Final = "sasl.jaas.config"
_MOST_PASSWORD_BYTES: Final = 4 << 10
"""A login with the longest name and a password of this size does not exceed the size limit for
requests of clients that are not logged in."""
_SHOWN_CHARACTERS: Final = 100
_PLAIN_FORM: Final = f'{PLAIN_MODULE} required user_NAME="…";'
_TLS_CLIENT: Final = (
    "ssl.truststore.location",
    "ssl.truststore.type",
    "ssl.keystore.location",
    "ssl.keystore.type",
    "ssl.key.password",
    "ssl.endpoint.identification.algorithm",
)


class TlsFiles(NamedTuple):
    """The PEM files of a listener. ``identity`` has the listener's key and certificates.
    ``trusted`` has the certificates that may sign clients' certificates."""

    identity: Path
    password: str | None
    trusted: Path | None
    client_auth: Literal["none", "requested", "required"]
    limits: TlsLimits

    def __repr__(self) -> str:
        return f"TlsFiles(identity={str(self.identity)!r}, client_auth={self.client_auth!r})"


class SaslKeys(NamedTuple):
    """The SASL keys of a listener. ``passwords`` maps users to their PLAIN passwords.
    ``sessions_ms`` maps mechanisms to the lifetime of a login. With any other mechanism, logins
    never expire."""

    mechanisms: tuple[str, ...]
    passwords: Mapping[str, str]
    sessions_ms: Mapping[str, int]

    def __repr__(self) -> str:
        return f"SaslKeys({self.mechanisms!r}, [hidden])"


def tls_files(properties: LocatedProperties, listener: Listener) -> TlsFiles:
    name = listener.name
    identity = _pem_file(properties, name, "ssl.keystore")
    if identity is None:
        raise properties.wrong(
            "ssl.keystore.location",
            f"is missing; {name} needs a PEM file with its key and certificates",
        )
    trusted = _pem_file(properties, name, "ssl.truststore")
    _, password = properties.of_listener(name, "ssl.key.password")
    key, client_auth = _client_auth(properties, listener)
    if client_auth not in ("none", "requested", "required"):
        raise properties.wrong(key, "write 'none', 'requested' or 'required'")
    if client_auth != "none" and trusted is None:
        raise properties.wrong(
            key, "set ssl.truststore.location to the file of the trusted certificates, too"
        )
    return TlsFiles(
        identity,
        password,
        trusted,
        client_auth,  # type: ignore[arg-type]  # checked above
        _tls_limits(properties, name),
    )


def _pem_file(properties: LocatedProperties, name: str, store: str) -> Path | None:
    _, location = properties.of_listener(name, f"{store}.location")
    key, kind = properties.of_listener(name, f"{store}.type")
    password_key, password = properties.of_listener(name, f"{store}.password")
    if password is not None:
        raise properties.wrong(password_key, no_password(store))
    if location is None:
        return None
    properties.read(key, store_type, key, kind, "PEM")
    return Path(location)


def _tls_limits(properties: LocatedProperties, name: str) -> TlsLimits:
    key, text = properties.of_listener(name, PROTOCOLS)
    try:
        versions = protocols(text)
        key, text = properties.of_listener(name, SUITES)
        return limits(versions, text)
    except InvalidRequest as error:
        raise properties.wrong(key, str(error)) from None


def _client_auth(properties: LocatedProperties, listener: Listener) -> tuple[str, str]:
    """The key and value of ``ssl.client.auth``. If clients log in by SASL, this key has no effect
    without the listener's prefix (KIP-684)."""
    key, value = properties.of_listener(listener.name, "ssl.client.auth")
    if listener.protocol.has_login and key == "ssl.client.auth":
        value = None
    return key, (value or "none").lower()


def sasl_keys(properties: LocatedProperties, listener: Listener) -> SaslKeys:
    key, text = properties.of_listener(listener.name, MECHANISMS)
    mechanisms = _SUPPORTED_MECHANISMS[1:] if text is None else tuple(comma_separated(text.upper()))
    for mechanism in mechanisms:
        if mechanism not in _SUPPORTED_MECHANISMS:
            raise properties.wrong(
                key, f"{mechanism} is not supported; use {', '.join(_SUPPORTED_MECHANISMS)}"
            )
    if not mechanisms:
        raise properties.wrong(
            key, f"is empty, and {listener.name} requires a login; give at least one mechanism"
        )
    passwords = _plain_passwords(properties, listener) if PLAIN in mechanisms else {}
    return SaslKeys(mechanisms, passwords, _sessions_ms(properties, listener.name, mechanisms))


def _sessions_ms(
    properties: LocatedProperties, name: str, mechanisms: Sequence[str]
) -> dict[str, int]:
    """KIP-368: a key with a mechanism's name takes precedence over the listener's key."""
    lifetimes_ms = {}
    for mechanism in mechanisms:
        key, text = _of_mechanism(properties, name, mechanism, MAX_REAUTH)
        if text is None:
            key, text = properties.of_listener(name, MAX_REAUTH)
        limit = _number(properties, key, text or "0", least=0)
        if limit:
            lifetimes_ms[mechanism] = limit
    return lifetimes_ms


def _of_mechanism(
    properties: LocatedProperties, name: str, mechanism: str, key: str
) -> tuple[str, str | None]:
    """The key with a listener's and a mechanism's name, and its value. The key without the
    listener's name is refused, because Kafka ignores it."""
    key = f"{mechanism.lower()}.{key}"
    own = f"{LISTENER_PREFIX}{name.lower()}.{key}"
    read_key, text = properties.of_listener(name, key)
    if text is not None and read_key != own:
        raise properties.wrong(key, f"Kafka needs a listener's name in this key; write {own}")
    return own, text


def max_connections(properties: LocatedProperties, listener: Listener) -> int | None:
    """The limit in the key with the listener's prefix (KIP-402), or None."""
    key, text = properties.of_listener(listener.name, "max.connections")
    is_own = text is not None and key != "max.connections"
    return _number(properties, key, text or "", least=1) if is_own else None


def _number(properties: LocatedProperties, key: str, text: str, *, least: int) -> int:
    number = java_number(text, bits=64, least=least)
    if number is None:
        raise properties.wrong(key, f"give a whole number from {least} to {(1 << 63) - 1}")
    return number


def _plain_passwords(properties: LocatedProperties, listener: Listener) -> dict[str, str]:
    """The passwords by user, from the options ``user_NAME="…"`` of Kafka's JAAS text."""
    key, text = _of_mechanism(properties, listener.name, PLAIN, _JAAS)
    if text is None:
        raise properties.wrong(key, f"is missing, and SASL PLAIN is enabled; give {_PLAIN_FORM}")
    try:
        module = login_module(text)
    except InvalidRequest as error:
        raise properties.wrong(key, f"{error}; give {_PLAIN_FORM}") from None
    if module.name != PLAIN_MODULE:
        raise properties.wrong(
            key, f"its login module is not Kafka's PlainLoginModule; give {_PLAIN_FORM}"
        )
    users = {
        option.removeprefix(_USER): password
        for option, password in module.options.items()
        if option.startswith(_USER)
    }
    if not users:
        raise properties.wrong(
            key, f"SASL PLAIN is enabled, but no user has a password; give {_PLAIN_FORM}"
        )
    for user, password in users.items():
        for what, text, most in (
            ("name", user, MOST_NAME_BYTES),
            ("password", password, _MOST_PASSWORD_BYTES),
        ):
            if len(text.encode()) > most or "\0" in text:
                raise properties.wrong(
                    key,
                    f"user {user[:_SHOWN_CHARACTERS]!r} can never log in: a {what} may have at "
                    f"most {most:,} bytes and no NUL; give {_PLAIN_FORM}",
                )
    return users


def controller_client(
    properties: LocatedProperties, name: str, protocol: SecurityProtocol
) -> dict[str, str]:
    """The client keys for connections to the controllers' listener ``name``."""
    client = {"security.protocol": protocol.value}
    wanted = list(_TLS_CLIENT) if protocol.has_tls else []
    if protocol.has_login:
        mechanism = properties.value(CONTROLLER_MECHANISM)
        if mechanism is None:
            raise properties.wrong(CONTROLLER_MECHANISM, f"is missing; {name} requires a login")
        client["sasl.mechanism"] = mechanism
        _, jaas = properties.of_listener(name, f"{mechanism.lower()}.{_JAAS}")
        if jaas is not None:
            client[_JAAS] = jaas
        else:
            wanted.append(_JAAS)
    for key in wanted:
        _, value = properties.of_listener(name, key)
        if value is not None:
            client[key] = value
    return client
