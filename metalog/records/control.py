"""Decodes and encodes control records: a key with version and type, and a message.

Only the types that a metadata quorum writes have a message class. Any other record, such as a
producer's transaction marker, becomes an ``Undecodable``. As in Kafka, only a negative version in
the key matters. This module must not know batches.
"""

from __future__ import annotations

import struct
from typing import Final

from metalog.errors import InvalidRequest
from metalog.records.frame import UNKNOWN_VERSION, Undecodable, encode_body
from metalog.records.message import ControlMessage
from metalog.records.messages.registry import control_message_type
from metalog.records.primitives.fields import UNREADABLE

_KEY: Final = struct.Struct(">hh")
_VERSION: Final = struct.Struct(">h")
_KEY_VERSION: Final = 0
_TRANSACTION_MARKERS: Final = {0: "ABORT", 1: "COMMIT"}


def decode_control(key: bytes | None, value: bytes) -> tuple[int, ControlMessage | Undecodable]:
    """The version of a control record (-1 if unknown), and its message."""
    if key is None or len(key) < _KEY.size:
        return UNKNOWN_VERSION, Undecodable(value, "a control record without a type in its key")
    key_version, kind = _KEY.unpack_from(key)
    message_class = control_message_type(kind)
    if message_class is None or key_version < 0:
        reason = _why_no_message(key_version, kind)
        return UNKNOWN_VERSION, Undecodable(value, reason, control_type=kind)
    version = UNKNOWN_VERSION
    try:
        version = _VERSION.unpack_from(value)[0]
        message, end = message_class.decode(value, 0, version)
    except UNREADABLE as error:
        reason = f"{message_class.TYPE_NAME} cannot be read: {error}"
        return version, Undecodable(value, reason, version=version, control_type=kind)
    if end != len(value):
        reason = f"{len(value) - end} bytes follow {message_class.TYPE_NAME}"
        return version, Undecodable(value, reason, version=version, control_type=kind)
    if version not in message_class.VERSIONS:
        reason = f"{message_class.TYPE_NAME} has no version {version}"
        return version, Undecodable(
            value, reason, version=version, control_type=kind, lenient=message
        )
    return version, message


def _why_no_message(key_version: int, kind: int) -> str:
    if key_version < 0:
        return f"a control record whose key has version {key_version}"
    name = _TRANSACTION_MARKERS.get(kind)
    return f"a transaction marker ({name})" if name else f"control type {kind} is unknown"


def encode_control(message: ControlMessage, version: int) -> tuple[bytes, bytes]:
    """Key and value; ``InvalidRequest`` if ``version`` cannot express the message."""
    if message.version != version:
        raise InvalidRequest(f"{message.TYPE_NAME} has version {message.version}, not {version}")
    value = bytearray()
    encode_body(message, version, value)
    return _KEY.pack(_KEY_VERSION, message.CONTROL_TYPE), bytes(value)
