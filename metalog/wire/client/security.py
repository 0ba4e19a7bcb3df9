"""How a client secures a connection: Kafka's client keys as a TLS context and a login.

The keys are read by the one translator in ``client_settings``; what cannot be had here is
refused by name. No value appears in an error: values may be passwords. This module must not
connect.
"""

from __future__ import annotations

import ssl
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from metalog.config.client_settings import librdkafka_settings
from metalog.errors import InvalidRequest
from metalog.files import LOCAL_FILES, read_whole
from metalog.whole_numbers import whole_number
from metalog.wire.client.sasl import MECHANISMS, SaslCredentials

_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_STRICT: Final = ssl.VERIFY_X509_STRICT
"""Python 3.13 turns it on: an authority without a key usage is refused then, which Java takes."""
_NO_PKCS12: Final = (
    "no PKCS12 keystore with a private key and its certificate, or ssl.keystore.password is wrong"
)
_NO_IDENTITY: Final = "no private key with its own certificate in PEM, or ssl.key.password is wrong"
_NO_CERTIFICATES: Final = "no certificate in PEM"


class Security(NamedTuple):
    """``tls`` is None where nothing is encrypted, ``credentials`` where nobody logs in."""

    tls: ssl.SSLContext | None = None
    credentials: SaslCredentials | None = None

    @property
    def user(self) -> str | None:
        """The principal that the peer sees by default, where a login names it."""
        return None if self.credentials is None else f"User:{self.credentials.username}"


DEFAULT_CLIENT_ID: Final = "kraft-metalog"
DEFAULT_TIMEOUT_S: Final = 5.0
"""Kafka's clients wait for 30, its controllers for each other for 2."""
DEFAULT_CALL_TIMEOUT_S: Final = 60.0
"""Kafka's, too."""


class ClientSettings(NamedTuple):
    """``notes`` are lines about keys that are not used.

    A connection is given up after ``connect_timeout_s``, its TLS and login included, an answer
    after ``request_timeout_s``, and a request with its repetitions after ``call_timeout_s``.
    """

    security: Security
    client_id: str
    request_timeout_s: float
    notes: tuple[str, ...]
    connect_timeout_s: float = DEFAULT_TIMEOUT_S
    call_timeout_s: float = DEFAULT_CALL_TIMEOUT_S

    @property
    def opening_timeout_s(self) -> float:
        """Of one connection."""
        return min(self.connect_timeout_s, self.request_timeout_s)


PLAINTEXT: Final = ClientSettings(Security(), DEFAULT_CLIENT_ID, DEFAULT_TIMEOUT_S, ())


_OWN_KEYS: Final = ("default.api.timeout.ms",)
_PASSED_OVER: Final = frozenset(
    (
        "client.dns.lookup", "sasl.kerberos.service.name", "metadata.max.age.ms",
        "connections.max.idle.ms", "reconnect.backoff.ms", "reconnect.backoff.max.ms",
        "retry.backoff.ms", "retry.backoff.max.ms",
    )
)  # fmt: skip
"""What librdkafka makes use of, and this client does not."""


def client_settings(
    properties: Mapping[str, str], *, request_timeout_s: float = DEFAULT_TIMEOUT_S
) -> ClientSettings:
    """The settings that Kafka's keys give; ``InvalidRequest`` names what is wrong or cannot be had.

    ``request_timeout_s`` is the default of ``request.timeout.ms``.
    """
    translated = {key: value for key, value in properties.items() if key not in _OWN_KEYS}
    settings, notes = librdkafka_settings(translated)
    notes += [f"{key} is not used here" for key in settings if key in _PASSED_OVER]
    protocol = settings.get("security.protocol", "PLAINTEXT").upper()
    if protocol not in _PROTOCOLS:
        raise InvalidRequest(f"security.protocol: one of {', '.join(_PROTOCOLS)}")
    security = Security(
        tls=_tls_context(settings) if protocol.endswith("SSL") else None,
        credentials=_credentials(settings) if protocol.startswith("SASL_") else None,
    )
    return ClientSettings(
        security,
        settings.get("client.id", DEFAULT_CLIENT_ID),
        _seconds(properties, "request.timeout.ms", request_timeout_s),
        tuple(notes),
        _seconds(properties, "socket.connection.setup.timeout.ms", DEFAULT_TIMEOUT_S),
        _seconds(properties, "default.api.timeout.ms", DEFAULT_CALL_TIMEOUT_S),
    )


def _seconds(properties: Mapping[str, str], key: str, default_s: float) -> float:
    text = properties.get(key)
    if text is None:
        return default_s
    number = whole_number(text.strip())
    if not number:
        raise InvalidRequest(f"{key}: a number of milliseconds from 1 on, of 10 digits at most")
    return number / 1000


def _credentials(settings: Mapping[str, str]) -> SaslCredentials:
    mechanism = settings.get("sasl.mechanisms", "GSSAPI")
    username, password = settings.get("sasl.username"), settings.get("sasl.password")
    if mechanism not in MECHANISMS:
        default = "" if "sasl.mechanisms" in settings else " (the default)"
        raise InvalidRequest(
            f"sasl.mechanism: {mechanism}{default} is not supported; "
            f"set one of {', '.join(MECHANISMS)}"
        )
    if username is None or password is None:
        raise InvalidRequest("sasl.jaas.config is missing: it gives the username and password")
    return SaslCredentials(mechanism, username, password)


def _tls_context(settings: Mapping[str, str]) -> ssl.SSLContext:
    """Certificates that are given are trusted in place of the system's."""
    try:
        context = ssl.create_default_context(
            cafile=settings.get("ssl.ca.location"), cadata=settings.get("ssl.ca.pem")
        )
    except (OSError, ValueError) as error:
        raise _unusable("ssl.truststore", _why(error, _NO_CERTIFICATES)) from None
    context.check_hostname = settings.get("ssl.endpoint.identification.algorithm") != "none"
    context.verify_flags &= ~_STRICT
    try:
        _identify(context, settings)
    except (OSError, ValueError) as error:
        raise _unusable("ssl.keystore", _why(error, _NO_IDENTITY)) from None
    return context


def _identify(context: ssl.SSLContext, settings: Mapping[str, str]) -> None:
    """Give the client's own certificate, where there is one."""
    password = settings.get("ssl.key.password", "")
    location = settings.get("ssl.certificate.location")
    if location is not None:
        context.load_cert_chain(location, password=password)
        return
    store = settings.get("ssl.keystore.location")
    if store is not None:
        from metalog.wire.client.keystore import pkcs12_identity

        data = read_whole(LOCAL_FILES, Path(store))
        try:
            identity = pkcs12_identity(data, settings.get("ssl.keystore.password"))
        except ValueError:
            raise _unusable("ssl.keystore", _NO_PKCS12) from None
        _load(context, identity.pem, identity.password)
        return
    chain, key = settings.get("ssl.certificate.pem"), settings.get("ssl.key.pem")
    if chain is None and key is None:
        return
    if chain is None or key is None:
        raise InvalidRequest("ssl.keystore.certificate.chain and ssl.keystore.key go together")
    _load(context, f"{key}\n{chain}\n", password)


def _load(context: ssl.SSLContext, pem: str, password: str) -> None:
    """``ssl`` takes a certificate from a file only: that file is the owner's to read and gone at
    once."""
    with tempfile.NamedTemporaryFile("w", suffix=".pem", encoding="utf-8") as file:
        file.write(pem)
        file.flush()
        context.load_cert_chain(file.name, password=password)


def _why(error: Exception, unread: str) -> str:
    """What the system says of a file; ``unread`` of contents, for which OpenSSL has codes only."""
    if isinstance(error, OSError) and not isinstance(error, ssl.SSLError):
        return error.strerror or unread
    return unread


def _unusable(keys: str, why: str) -> InvalidRequest:
    return InvalidRequest(f"{keys}.*: the certificates or the key cannot be used: {why}")
