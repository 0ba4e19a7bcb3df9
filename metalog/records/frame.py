"""The frame around a metadata record: frame version, api key, version, then the message.

A value that cannot be decoded is not an error here. It becomes an ``Undecodable``, and the
caller decides what to do. This module must not know batches.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from metalog.errors import InvalidRequest
from metalog.records.acl_fast_encode import plain_acl_value
from metalog.records.message import ControlMessage, Message
from metalog.records.messages.access_control_entry_record import AccessControlEntryRecord
from metalog.records.messages.registry import message_type
from metalog.records.primitives.fields import UNREADABLE, UNWRITABLE
from metalog.records.primitives.varint import read_unsigned_varint, write_unsigned_varint

FRAME_VERSION: Final = 1
UNKNOWN_VERSION: Final = -1
_NO_FRAME: Final = b"\x00no frame: "
"""Begins a result of ``unreadable_value``; the reason follows."""
_FRAME_SIZE: Final = 3
"""In bytes, if each varint has one byte, as in all of Kafka's frames."""
_MAX_INT16: Final = 0x7FFF


class Undecodable(NamedTuple):
    """The value of a record that cannot be used, and the reason.

    ``api_key`` and ``version`` are None if unknown. A control record has a ``control_type`` instead
    of an ``api_key``. ``lenient`` is the message if only the version is unknown, or if Kafka
    refuses the record.
    """

    value: bytes
    reason: str
    api_key: int | None = None
    version: int | None = None
    control_type: int | None = None
    lenient: Message | ControlMessage | None = None

    def __repr__(self) -> str:
        return (
            f"Undecodable({len(self.value)} bytes, {self.reason!r}, api_key={self.api_key}, "
            f"version={self.version}, control_type={self.control_type})"
        )


_Decode = Callable[[bytes, int, int], tuple[Message, int]]
_decoders: dict[bytes, _Decode] = {}
"""A cache of decoders, by the frame's bytes."""


def decode_value(value: bytes) -> tuple[int, Message | Undecodable]:
    """The version of the record in ``value`` (-1 if unknown), and its message."""
    decode = _decoders.get(value[:_FRAME_SIZE])
    if decode is not None:
        version = value[_FRAME_SIZE - 1]
        try:
            message, end = decode(value, _FRAME_SIZE, version)
        except UNREADABLE:
            return _decode_any(value)
        if end == len(value):
            return version, message
    return _decode_any(value)


def _decode_any(value: bytes) -> tuple[int, Message | Undecodable]:
    """``decode_value`` for a new frame, or for a faulty value."""
    try:
        frame_version, at = read_unsigned_varint(value, 0)
    except UNREADABLE:
        return UNKNOWN_VERSION, Undecodable(value, "the value does not begin with a varint")
    if frame_version != FRAME_VERSION:
        reason = f"frame version {frame_version} is not {FRAME_VERSION}"
        if value.startswith(_NO_FRAME):
            reason = value[len(_NO_FRAME) :].decode(errors="replace")
        return UNKNOWN_VERSION, Undecodable(value, reason)
    try:
        api_key, at = read_unsigned_varint(value, at)
    except UNREADABLE:
        return UNKNOWN_VERSION, Undecodable(value, "the api key is cut short")
    try:
        version, at = read_unsigned_varint(value, at)
    except UNREADABLE:
        return UNKNOWN_VERSION, Undecodable(value, "the version is cut short", api_key)
    if max(api_key, version) > _MAX_INT16:
        reason = f"api key {api_key} or version {version} is larger than {_MAX_INT16}"
        is_type = api_key <= _MAX_INT16
        return version, Undecodable(value, reason, api_key if is_type else None, version)
    return version, _decode_message(value, at, api_key, version)


def _decode_message(value: bytes, at: int, api_key: int, version: int) -> Message | Undecodable:
    message_class = message_type(api_key)
    if message_class is None:
        reason = f"record type {api_key} is unknown: perhaps a newer Kafka wrote the log"
        return Undecodable(value, reason, api_key, version)
    try:
        message, end = message_class.decode(value, at, version)
    except UNREADABLE as error:
        reason = f"{message_class.TYPE_NAME} version {version} cannot be read: {error}"
        return Undecodable(value, reason, api_key, version)
    if end != len(value):
        reason = f"{len(value) - end} bytes follow {message_class.TYPE_NAME} version {version}"
        return Undecodable(value, reason, api_key, version)
    if version not in message_class.VERSIONS:
        newest = message_class.VERSIONS[-1]
        reason = f"{message_class.TYPE_NAME} has no version {version} (the newest is {newest})"
        return Undecodable(value, reason, api_key, version, lenient=message)
    if at == _FRAME_SIZE:
        _decoders[value[:at]] = message_class.decode
    return message


def refused(message: Message | ControlMessage | Undecodable, value: bytes, why: str) -> Undecodable:
    """The ``Undecodable`` for a record that Kafka's reader refuses for the reason ``why``."""
    lenient = None if isinstance(message, Undecodable) else message
    return Undecodable(value, f"{why}, which Kafka refuses", lenient=lenient)


def unreadable_value(reason: str) -> bytes:
    """A value that ``decode_value`` turns into an ``Undecodable`` with ``reason``.

    The result replaces an unreadable value in another encoding, such as Avro. Kafka never writes
    such a value.
    """
    return _NO_FRAME + reason.encode()


def encode_value(message: Message, version: int) -> bytes:
    """The message with its frame; ``InvalidRequest`` if ``version`` cannot express the message."""
    if type(message) is AccessControlEntryRecord and version == 0:
        value = plain_acl_value(message)
        if value is not None:
            return value
    out = bytearray((FRAME_VERSION,))
    write_unsigned_varint(out, message.API_KEY)
    write_unsigned_varint(out, version)
    encode_body(message, version, out)
    return bytes(out)


def encode_body(message: Message | ControlMessage, version: int, out: bytearray) -> None:
    if version not in message.VERSIONS:
        raise InvalidRequest(f"{message.TYPE_NAME} has no version {version}")
    try:
        message.encode(out, version)
    except UNWRITABLE as error:
        raise InvalidRequest(f"{message.TYPE_NAME} cannot be written: {error}") from None
