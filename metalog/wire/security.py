"""How a client secures a connection: Kafka's client keys as a TLS context and a login.

The keys are read by the one translator in ``client_settings``; what cannot be had here is
refused by name. No value appears in an error: values may be passwords. This module must not
connect.
"""

from __future__ import annotations

import ssl
import tempfile
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from metalog.client_settings import librdkafka_settings
from metalog.errors import InvalidRequest
from metalog.wire.sasl import Credentials

_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_STRICT: Final = ssl.VERIFY_X509_STRICT
"""Python 3.13 turns it on: an authority without a key usage is refused then, which Java takes."""


class Security(NamedTuple):
    """``tls`` is None where nothing is encrypted, ``credentials`` where nobody logs in."""

    tls: ssl.SSLContext | None = None
    credentials: Credentials | None = None

    @property
    def user(self) -> str | None:
        """The principal that the peer sees by default, where a login names it."""
        return None if self.credentials is None else f"User:{self.credentials.username}"


class ClientSettings(NamedTuple):
    """``notes`` are lines about keys that are not used."""

    security: Security
    client_id: str
    request_timeout_s: float
    notes: tuple[str, ...]


DEFAULT_CLIENT_ID: Final = "kraft-metalog"
DEFAULT_TIMEOUT_S: Final = 5.0
"""Kafka's clients wait for 30, its controllers for each other for 2."""
PLAINTEXT: Final = ClientSettings(Security(), DEFAULT_CLIENT_ID, DEFAULT_TIMEOUT_S, ())


def client_settings(properties: Mapping[str, str]) -> ClientSettings:
    """Of Kafka's keys; ``InvalidRequest`` names what is wrong or cannot be had."""
    return translated_settings(*librdkafka_settings(properties))


def translated_settings(settings: Mapping[str, str], notes: Sequence[str]) -> ClientSettings:
    """Of what the translator made of Kafka's keys, and of what it left out."""
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
        _timeout_s(settings.get("socket.timeout.ms")),
        tuple(notes),
    )


def _timeout_s(text: str | None) -> float:
    if text is None:
        return DEFAULT_TIMEOUT_S
    if not text.strip().isdecimal() or int(text) == 0:
        raise InvalidRequest("request.timeout.ms: a number of milliseconds from 1 on")
    return int(text) / 1000


def _credentials(settings: Mapping[str, str]) -> Credentials:
    mechanism = settings.get("sasl.mechanisms", "GSSAPI")
    username, password = settings.get("sasl.username"), settings.get("sasl.password")
    if mechanism == "GSSAPI":
        raise InvalidRequest("sasl.mechanism: GSSAPI (the default) is not spoken here; set another")
    if username is None or password is None:
        raise InvalidRequest("sasl.jaas.config is missing: it gives the username and password")
    return Credentials(mechanism, username, password)


def _tls_context(settings: Mapping[str, str]) -> ssl.SSLContext:
    """Certificates that are given are trusted in place of the system's."""
    if "ssl.keystore.location" in settings:
        raise InvalidRequest(
            "ssl.keystore.location: only PEM is read here; convert it (openssl pkcs12 -nodes) "
            "and set ssl.keystore.type=PEM"
        )
    try:
        context = ssl.create_default_context(
            cafile=settings.get("ssl.ca.location"), cadata=settings.get("ssl.ca.pem")
        )
    except (OSError, ValueError) as error:
        raise _unusable("ssl.truststore", error) from None
    context.check_hostname = settings.get("ssl.endpoint.identification.algorithm") != "none"
    context.verify_flags &= ~_STRICT
    try:
        _identify(context, settings)
    except (OSError, ValueError) as error:
        raise _unusable("ssl.keystore", error) from None
    return context


def _identify(context: ssl.SSLContext, settings: Mapping[str, str]) -> None:
    """Give the client's own certificate, where there is one. ``ssl`` takes it from a file only;
    where it stands in the settings, that file is the owner's to read and gone at once."""
    password = settings.get("ssl.key.password", "")
    location = settings.get("ssl.certificate.location")
    if location is not None:
        context.load_cert_chain(location, password=password)
        return
    chain, key = settings.get("ssl.certificate.pem"), settings.get("ssl.key.pem")
    if chain is None and key is None:
        return
    if chain is None or key is None:
        raise InvalidRequest("ssl.keystore.certificate.chain and ssl.keystore.key go together")
    with tempfile.NamedTemporaryFile("w", suffix=".pem", encoding="utf-8") as file:
        file.write(f"{key}\n{chain}\n")
        file.flush()
        context.load_cert_chain(file.name, password=password)


def _unusable(keys: str, error: Exception) -> InvalidRequest:
    why = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
    return InvalidRequest(f"{keys}.*: the certificates or the key cannot be used: {why}")
