"""Writes a message in Kafka's JSON form, with or without its secrets.

This module must not know where records are shown.
"""

from __future__ import annotations

from json import dumps, loads
from typing import Final

from metalog.records.message import ControlMessage, Message
from metalog.records.messages.config_record import ConfigRecord

REDACTED: Final = "[redacted]"
_SECRET_ENDINGS: Final = (
    "password",
    "passphrase",
    "secret",
    "secret.key",
    "keystore.key",
    "certificate.chain",
    "truststore.certificates",
    "jaas.config",
)
"""The endings of Kafka's configuration keys of type PASSWORD, and of most secret keys of plugins. A
key can begin with the name of a listener or a mechanism."""


def to_json(message: Message | ControlMessage, version: int) -> dict[str, object]:
    """``message`` in ``version``, as Kafka's JsonConverter writes it: lowerCamel names, base64
    bytes, no tagged fields with their default value. The result contains the secrets."""
    fields: dict[str, object] = loads(message.json_text(version))
    return fields


def is_secret_config(name: str) -> bool:
    return name.endswith(_SECRET_ENDINGS)


def masked(message: Message | ControlMessage, version: int) -> str:
    """The JSON form of ``message``, without its secrets."""
    is_open = isinstance(message, ConfigRecord) and not is_secret_config(message.name)
    if is_open or not message.SECRETS:
        return message.json_text(version)
    data = to_json(message, version) | dict.fromkeys(map(_json_name, message.SECRETS), REDACTED)
    return dumps(data, ensure_ascii=False, separators=(",", ":"))


def _json_name(field: str) -> str:
    head, *rest = field.split("_")
    return head + "".join(map(str.capitalize, rest))
