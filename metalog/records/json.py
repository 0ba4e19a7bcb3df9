"""Kafka's JSON form of a message: lowerCamel names, base64 bytes, UUIDs as Kafka prints them.

As in Kafka's converters, tagged fields with their default value are left out. The JSON contains
secrets. This module must not know batches.
"""

from __future__ import annotations

from json import loads

from metalog.records.message import ControlMessage, Message


def to_json(message: Message | ControlMessage, version: int) -> dict[str, object]:
    """``message`` in ``version``, as Kafka's JsonConverter writes it."""
    fields: dict[str, object] = loads(message.json_text(version))
    return fields
