"""Turns Kafka's client settings into a TLS context, a login and timeouts.

A security setting that is not supported is an error. No error contains a secret. This module must
not connect.
"""

from __future__ import annotations

import ssl
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from metalog.config.client_settings import librdkafka_settings
from metalog.disk.files import LOCAL_FILES, read_whole
from metalog.errors import InvalidRequest
from metalog.text.whole_numbers import whole_number
from metalog.wire.client.sasl import MECHANISMS, SaslCredentials

_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_STRICT: Final = ssl.VERIFY_X509_STRICT
"""Python 3.13 refuses CA certificates without key usage; Java accepts them."""
ANY_TRUSTED: Final = ssl.VERIFY_X509_PARTIAL_CHAIN
"""As in Java, every certificate of a truststore is trusted by itself. By default, OpenSSL
trusts only authorities that signed themselves."""
_NO_PKCS12: Final = (
    "no PKCS12 keystore with a private key and its certificate was found, or"
    " ssl.keystore.password is wrong"
)
_NO_IDENTITY: Final = (
    "no private key with its certificate in PEM format was found, or ssl.key.password is wrong"
)
_NO_CERTIFICATES: Final = "no certificate in PEM format was found"


class Security(NamedTuple):
    """``tls`` is None without encryption; ``credentials`` is None without a login."""

    tls: ssl.SSLContext | None = None
    credentials: SaslCredentials | None = None

    @property
    def user(self) -> str | None:
        """The principal that the peer sees by default; None without a SASL login."""
        return None if self.credentials is None else f"User:{self.credentials.username}"


DEFAULT_CLIENT_ID: Final = "kraft-metalog"
DEFAULT_TIMEOUT_S: Final = 5.0
"""Seconds to wait for a connection or an answer. Kafka's clients wait 30 for an answer."""
DEFAULT_CALL_TIMEOUT_S: Final = 60.0
"""Seconds for a request with its retries, as in Kafka's clients."""


class ClientSettings(NamedTuple):
    """How a client connects; ``notes`` are lines about settings that are not used.

    ``connect_timeout_s`` includes TLS and the login. ``request_timeout_s`` is for one answer, and
    ``call_timeout_s`` for a request with its retries.
    """

    security: Security
    client_id: str
    request_timeout_s: float
    notes: tuple[str, ...]
    connect_timeout_s: float = DEFAULT_TIMEOUT_S
    call_timeout_s: float = DEFAULT_CALL_TIMEOUT_S

    @property
    def opening_timeout_s(self) -> float:
        return min(self.connect_timeout_s, self.request_timeout_s)


PLAINTEXT: Final = ClientSettings(Security(), DEFAULT_CLIENT_ID, DEFAULT_TIMEOUT_S, ())


_NOT_IN_LIBRDKAFKA: Final = ("default.api.timeout.ms",)
_IGNORED: Final = frozenset(
    (
        "client.dns.lookup", "sasl.kerberos.service.name", "metadata.max.age.ms",
        "connections.max.idle.ms", "reconnect.backoff.ms", "reconnect.backoff.max.ms",
        "retry.backoff.ms", "retry.backoff.max.ms",
    )
)  # fmt: skip
"""Settings of librdkafka that this client does not use.

Kerberos's setting has no effect, because the login with GSSAPI is refused."""


def client_settings(
    properties: Mapping[str, str], *, request_timeout_s: float = DEFAULT_TIMEOUT_S
) -> ClientSettings:
    """The settings in ``properties``, whose keys are Kafka's.

    ``request_timeout_s`` is the default for ``request.timeout.ms``. ``InvalidRequest`` if a setting
    is invalid or not supported.
    """
    translated = {key: value for key, value in properties.items() if key not in _NOT_IN_LIBRDKAFKA}
    settings, notes = librdkafka_settings(translated)
    notes += [f"{key} is not used here" for key in settings if key in _IGNORED]
    protocol = settings.get("security.protocol", "PLAINTEXT").upper()
    if protocol not in _PROTOCOLS:
        raise InvalidRequest(f"security.protocol: set one of {', '.join(_PROTOCOLS)}")
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
        raise InvalidRequest(f"{key}: set a whole number of milliseconds, from 1 to 9999999999")
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
        raise InvalidRequest("sasl.jaas.config is missing; set the username and the password in it")
    return SaslCredentials(mechanism, username, password)


def _tls_context(settings: Mapping[str, str]) -> ssl.SSLContext:
    """Certificates in the settings replace the system's trusted certificates."""
    trusted = settings.get("ssl.ca.location")
    try:
        context = ssl.create_default_context(cafile=trusted, cadata=settings.get("ssl.ca.pem"))
    except (OSError, ValueError) as error:
        raise _unusable("ssl.truststore", trusted, _why(error, _NO_CERTIFICATES)) from None
    context.check_hostname = settings.get("ssl.endpoint.identification.algorithm") != "none"
    context.verify_flags = context.verify_flags & ~_STRICT | ANY_TRUSTED
    try:
        _identify(context, settings)
    except (OSError, ValueError) as error:
        file = settings.get("ssl.certificate.location") or settings.get("ssl.keystore.location")
        raise _unusable("ssl.keystore", file, _why(error, _NO_IDENTITY)) from None
    return context


def _identify(context: ssl.SSLContext, settings: Mapping[str, str]) -> None:
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
            raise _unusable("ssl.keystore", store, _NO_PKCS12) from None
        _load(context, identity.pem, identity.password)
        return
    chain, key = settings.get("ssl.certificate.pem"), settings.get("ssl.key.pem")
    if chain is not None:
        _load(context, f"{key}\n{chain}\n", password)


def _load(context: ssl.SSLContext, pem: str, password: str) -> None:
    """Use a temporary file, because ``ssl`` reads only files. Only the owner can read it."""
    with tempfile.NamedTemporaryFile("w", suffix=".pem", encoding="utf-8") as file:
        file.write(pem)
        file.flush()
        context.load_cert_chain(file.name, password=password)


def _why(error: Exception, default: str) -> str:
    if isinstance(error, OSError) and not isinstance(error, ssl.SSLError):
        return error.strerror or default
    return default


def _unusable(keys: str, file: str | None, why: str) -> InvalidRequest:
    place = f"{keys}.*" if file is None else f"{keys}.location={file}"
    return InvalidRequest(f"{place}: the certificates or the key cannot be used: {why}")
