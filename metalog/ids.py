"""Identifiers of the log: Kafka's Uuid, and the id of a snapshot.

A ``Uuid`` is 16 plain ``bytes``, most significant first, so one slice reads it from a record. As
in Kafka (``org.apache.kafka.common.Uuid``), its text has 22 characters of base64url.

This module must not know what an id identifies.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode
from binascii import b2a_base64
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple, NewType, TypeVar

Uuid = NewType("Uuid", bytes)
B = TypeVar("B", bound=bytes)
V = TypeVar("V")

_CACHE_SIZE: Final = 1 << 12
_MAX_PART_SIZE: Final = 4096
_URL_SAFE: Final = bytes.maketrans(b"+/", b"-_")

ZERO_UUID = Uuid(bytes(16))
METADATA_TOPIC_ID = Uuid((1).to_bytes(16, "big"))
"""The topic id that KRaft reserves for ``__cluster_metadata`` (KIP-595)."""


@lru_cache(_CACHE_SIZE)
def uuid_text(uuid: Uuid) -> str:
    """``uuid`` as Kafka prints it."""
    return b2a_base64(uuid, newline=False).translate(_URL_SAFE)[:22].decode("ascii")


def parse_uuid(text: str) -> Uuid:
    """The Uuid that Kafka prints as ``text``; ``ValueError`` if there is no such Uuid."""
    problem = f"{text!r} is not a Kafka UUID (22 characters of base64url)"
    if len(text) != 22 or not text.isascii():
        raise ValueError(problem)
    try:
        uuid = Uuid(urlsafe_b64decode(text + "=="))
    except ValueError:
        raise ValueError(problem) from None
    if len(uuid) == 16 and uuid_text(uuid)[:-1] == text[:-1] and text[-1] not in "AQgw":
        raise ValueError(f"{text!r} is not a Kafka UUID: its last character is not A, Q, g or w")
    if len(uuid) != 16 or uuid_text(uuid) != text:
        raise ValueError(problem)
    return uuid


def in_order(entries: Iterable[tuple[Uuid, V]]) -> Iterator[tuple[Uuid, V]]:
    """Yields ``entries`` sorted by id. The ids must be distinct."""
    by_id = dict(entries)
    for uuid in bytes_in_order(by_id):
        yield uuid, by_id[uuid]


def bytes_in_order(values: Iterable[B], at: int = 0) -> Iterator[B]:
    """Yields ``values`` sorted. They must be distinct, and equal in their first ``at`` bytes.

    One sort of 500,000 ids would stop every thread for more than a second.
    """
    parts: list[list[B]] = [[] for _ in range(256)]
    for value in values:
        parts[value[at]].append(value)
    parts.reverse()
    while parts:
        part = parts.pop()
        if len(part) > _MAX_PART_SIZE:
            yield from bytes_in_order(part, at + 1)
        else:
            yield from sorted(part)


Entropy = Callable[[int], bytes]
"""``entropy(n)`` returns ``n`` random bytes."""


def random_uuid(entropy: Entropy) -> Uuid:
    """A random version 4 UUID. Its text has no leading ``-``, which would look like an option."""
    while True:
        drawn = bytearray(entropy(16))
        drawn[6] = drawn[6] & 0x0F | 0x40
        drawn[8] = drawn[8] & 0x3F | 0x80
        uuid = Uuid(bytes(drawn))
        if not uuid_text(uuid).startswith("-"):
            return uuid


class SnapshotId(NamedTuple):
    """The id of the snapshot of all records below ``end_offset``; the last record has ``epoch``."""

    end_offset: int
    epoch: int

    def __str__(self) -> str:
        return f"{self.end_offset:020d}-{self.epoch:010d}"


FORMATTED_SNAPSHOT: Final = SnapshotId(0, 0)
"""The id of the snapshot that formatting writes into a node's folder."""
