"""The base of all generated messages.

A message is a NamedTuple, the cheapest immutable object in Python. Messages of different types are
never equal, even with equal fields. The ``repr`` masks secrets.

This module must not know any particular message, nor how fields are encoded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, cast

from metalog.ids import Uuid, uuid_text

MASK = "********"

_fields_equal = cast("Callable[[object, object], bool]", tuple.__eq__)
_fields_hash = cast("Callable[[object], int]", tuple.__hash__)


class Struct:
    """The base of messages and of their structs. Each such class is also a NamedTuple.

    ``repr`` masks the fields in ``SECRETS``, and shows those in ``UUIDS`` as Kafka's UUID text.
    """

    __slots__ = ()
    SECRETS: ClassVar[frozenset[str]] = frozenset()
    UUIDS: ClassVar[frozenset[str]] = frozenset()
    unknown_tagged_fields: tuple[tuple[int, bytes], ...]

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[Struct, int]:
        """The struct at position ``at``, and the position after it."""
        raise NotImplementedError

    def encode(self, out: bytearray, version: int) -> None:
        raise NotImplementedError

    def json_text(self, version: int) -> str:
        """Kafka's JSON form, without blanks."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and _fields_equal(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return _fields_hash(self)

    def __repr__(self) -> str:
        fields = cast("Mapping[str, object]", self._asdict())  # type: ignore[attr-defined]
        shown = []
        for name, value in fields.items():
            if name in self.SECRETS:
                shown.append(f"{name}={MASK}")
            elif name in self.UUIDS:
                shown.append(f"{name}={_uuids_text(value)}")
            elif name != "unknown_tagged_fields" or value:
                shown.append(f"{name}={value!r}")
        return f"{type(self).__name__}({', '.join(shown)})"


class Message(Struct):
    """A metadata record. ``TYPE_NAME`` is the name in Kafka's MetadataRecordType."""

    __slots__ = ()
    API_KEY: ClassVar[int]
    TYPE_NAME: ClassVar[str]
    VERSIONS: ClassVar[range]

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[Message, int]:
        raise NotImplementedError


class ControlMessage(Struct):
    """The value of a control record. ``TYPE_NAME`` is the name in Kafka's ControlRecordType.

    A control record has no frame. The field ``version`` says how to read the later fields.
    """

    __slots__ = ()
    version: int
    CONTROL_TYPE: ClassVar[int]
    TYPE_NAME: ClassVar[str]
    VERSIONS: ClassVar[range]

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[ControlMessage, int]:
        raise NotImplementedError


def _uuids_text(value: object) -> str:
    if isinstance(value, bytes):
        return uuid_text(Uuid(value))
    if isinstance(value, tuple):
        return f"({', '.join(map(_uuids_text, value))})"
    return repr(value)
