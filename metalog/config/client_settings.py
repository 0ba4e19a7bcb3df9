"""Translates a client's settings from Kafka's keys to librdkafka's.

No message contains a value, because a value can be a password. This module must not connect.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from metalog.config.jaas import PLAIN_MODULE, SCRAM_MODULE, login_module
from metalog.errors import InvalidRequest

_UNCHANGED: Final = frozenset(
    (
        "security.protocol", "client.id", "client.dns.lookup", "sasl.kerberos.service.name",
        "ssl.key.password", "metadata.max.age.ms", "connections.max.idle.ms",
        "reconnect.backoff.ms", "reconnect.backoff.max.ms", "retry.backoff.ms",
        "retry.backoff.max.ms", "socket.connection.setup.timeout.ms",
    )
)  # fmt: skip
_RENAMED: Final = {
    "sasl.mechanism": "sasl.mechanisms",
    "request.timeout.ms": "socket.timeout.ms",
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
}
_TRANSLATED: Final = frozenset(
    (
        "sasl.jaas.config", "ssl.endpoint.identification.algorithm",
        "ssl.truststore.type", "ssl.truststore.location", "ssl.truststore.password",
        "ssl.keystore.type", "ssl.keystore.location", "ssl.keystore.password",
    )
)  # fmt: skip
_JAAS: Final = "sasl.jaas.config"
_NAME_CHECK: Final = "ssl.endpoint.identification.algorithm"
_SECURITY: Final = ("ssl.", "sasl.", "security.")
_WITHOUT_TLS: Final = ("PLAINTEXT", "SASL_PLAINTEXT")


def librdkafka_settings(properties: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """librdkafka's settings, and one line for each unknown key, which is left out.

    As in Kafka, stores and the check of host names have no effect if ``security.protocol`` names a
    protocol without TLS.

    Raises:
        InvalidRequest: a security key or its value cannot be translated.
    """
    settings: dict[str, str] = {}
    left_out = []
    for key, value in properties.items():
        if key in _UNCHANGED:
            settings[key] = value
        elif key in _RENAMED:
            settings[_RENAMED[key]] = value
        elif key.startswith(_SECURITY) and key not in _TRANSLATED:
            raise InvalidRequest(f"{key} is not supported; leave it out if you can")
        elif key not in _TRANSLATED:
            left_out.append(f"{key} is not used here")
    if _JAAS in properties:
        settings |= _login(properties[_JAAS])
    if properties.get("security.protocol", "").strip().upper() in _WITHOUT_TLS:
        return settings, left_out
    algorithm = properties.get(_NAME_CHECK)
    if algorithm is not None:
        settings[_NAME_CHECK] = _name_check(algorithm.strip())
    return settings | _truststore(properties) | _keystore(properties), left_out


def store_type(key: str, value: str | None, *readable: str) -> str:
    """The type of a keystore or truststore; ``InvalidRequest`` if it is not one of ``readable``.

    A ``value`` of None means Kafka's default, JKS. As in Kafka, only PEM must be in capitals.
    """
    kind = "JKS" if value is None else value.strip()
    if kind.upper() != "PEM":
        kind = kind.upper()
    if kind not in readable:
        refused = "Kafka's default, JKS," if value is None else "this type"
        advice = f"set {' or '.join(readable)}; convert a file of another type"
        raise InvalidRequest(f"{key}: {refused} is not supported: {advice}")
    return kind


def _login(jaas: str) -> dict[str, str]:
    try:
        module = login_module(jaas)
    except InvalidRequest as error:
        raise InvalidRequest(f"{_JAAS}: {error}") from None
    options = module.options
    is_known = module.name in (PLAIN_MODULE, SCRAM_MODULE)
    if not is_known or options.keys() != {"username", "password"}:
        raise InvalidRequest(
            f"{_JAAS}: only PlainLoginModule and ScramLoginModule with a username and "
            'a password are read; write …ScramLoginModule required username="…" password="…";'
        )
    return {"sasl.username": options["username"], "sasl.password": options["password"]}


def _name_check(algorithm: str) -> str:
    """Java's handshake fails with any algorithm but https."""
    if algorithm.lower() not in ("https", ""):
        raise InvalidRequest(f"{_NAME_CHECK}: set https, or nothing to check no host names")
    return algorithm.lower() or "none"


def _truststore(properties: Mapping[str, str]) -> dict[str, str]:
    location, _ = _store(properties, "ssl.truststore", "PEM")
    return {} if location is None else {"ssl.ca.location": location}


def _keystore(properties: Mapping[str, str]) -> dict[str, str]:
    location, kind = _store(properties, "ssl.keystore", "PEM", "PKCS12")
    if location is None:
        return {}
    if kind == "PEM":
        return {"ssl.certificate.location": location, "ssl.key.location": location}
    settings = {"ssl.keystore.location": location}
    if "ssl.keystore.password" in properties:
        settings["ssl.keystore.password"] = properties["ssl.keystore.password"]
    return settings


def _store(properties: Mapping[str, str], store: str, *readable: str) -> tuple[str | None, str]:
    """The location, and the type. As Kafka's DefaultSslEngineFactory, refuse settings of which one
    would be without effect, and empty ones."""
    keys = [key for key in _RENAMED if key.startswith(store)]
    separate = [key for key in keys if key in properties]
    location, kind = properties.get(f"{store}.location"), "PEM"
    for key in (f"{store}.location", *separate):
        if not properties.get(key, "any").strip():
            raise InvalidRequest(f"{key} is empty; set it, or leave it out")
    if location is not None or separate:
        readable = ("PEM",) if separate else readable
        kind = store_type(f"{store}.type", properties.get(f"{store}.type"), *readable)
    if kind == "PEM" and f"{store}.password" in properties:
        raise InvalidRequest(f"{store}.password: {no_password(store)}")
    if location is not None and separate:
        raise InvalidRequest(f"{separate[0]}: {store}.location is set, too; leave one of them out")
    if separate and separate != keys:
        raise InvalidRequest(f"set both {' and '.join(keys)}")
    return location, kind


def no_password(store: str) -> str:
    """Why ``store``, ``ssl.keystore`` or ``ssl.truststore``, must not get a password in PEM."""
    return f"PEM has no such password, nor has a store without {store}.location; leave it out"
