"""Kafka's JSON form of a message: lowerCamel names, base64 bytes, UUIDs as Kafka prints them.

As in Kafka's converters, tagged fields with their default value are left out. The JSON contains
secrets. This module must not know batches.
"""

from __future__ import annotations

from json import loads

from metalog.errors import InvalidRequest
from metalog.records.message import ControlMessage, Message
from metalog.records.messages.registry import CONTROL, METADATA, control_type, message_type
from metalog.records.primitives.json_fields import JsonObject


def to_json(message: Message | ControlMessage, version: int) -> dict[str, object]:
    """The JSON that Kafka's JsonConverter makes of ``message`` in ``version``."""
    found: dict[str, object] = loads(message.json_text(version))
    return found


def from_json(type_name: str, data: JsonObject, version: int) -> Message | ControlMessage:
    """The inverse of ``to_json``; ``type_name`` is Kafka's, such as ``TOPIC_RECORD``.

    ``InvalidRequest`` names the field that is missing or does not fit.
    """
    message_class = _type_named(type_name)
    if version not in message_class.VERSIONS:
        raise InvalidRequest(f"{type_name} has no version {version}")
    return message_class.from_json(data, version)


def _type_named(type_name: str) -> type[Message] | type[ControlMessage]:
    metadata = map(message_type, METADATA)
    control = map(control_type, CONTROL)
    for known in (*metadata, *control):
        if known is not None and type_name == known.TYPE_NAME:
            return known
    raise InvalidRequest(f"{type_name} is not a record type of Kafka 4.4")
