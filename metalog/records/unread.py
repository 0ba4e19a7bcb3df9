"""Skips records whose type the reader does not need, without decoding the messages.

Only a plain record (see ``record``) with a known frame version, type and record version is skipped.
The general code reads any other record. The batch's checksum also covers skipped records.

This module must not know which types a reader wants, nor batches.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, Self

from metalog.records.message import Message
from metalog.records.messages.registry import METADATA, message_type
from metalog.records.record import plain_value

_FRAME_VERSION: Final = 1
_FRAME_SIZE: Final = 3
_LARGEST_ONE_BYTE: Final = 0x7F

_PREFIX_SIZE: Final = 11
"""In bytes: the largest size of a record's part before the message."""
_CACHED_DELTAS: Final = 64
MAX_PREFIXES: Final = 256
"""Maximum entries per cache of record prefixes. A full cache is emptied."""


class UnreadRun(NamedTuple):
    """Consecutive records that were not decoded."""

    record_count: int


class UnreadRecord(NamedTuple):
    """One record that was not decoded."""

    TYPE_NAME: str = "record that was not decoded"


UNREAD_RECORD: Final = UnreadRecord()


class UnreadTypes:
    """The record types that a reader does not need, in all known versions."""

    def __init__(self, types: Iterable[type[Message]]) -> None:
        self._frames = frozenset(
            bytes((_FRAME_VERSION, kind.API_KEY, version))
            for kind in types
            for version in kind.VERSIONS
            if max(kind.API_KEY, version) <= _LARGEST_ONE_BYTE
        )
        self._sizes: tuple[dict[bytes, int], ...] = tuple({} for _ in range(_CACHED_DELTAS))

    @classmethod
    def all_but(cls, types: Iterable[type]) -> Self:
        """All known types of metadata records except ``types``."""
        known = filter(None, map(message_type, METADATA))
        return cls(set(known).difference(types))

    def skip(self, payload: bytes, at: int, index: int, starts: Sequence[bytes]) -> tuple[int, int]:
        """Skip records, beginning with number ``index`` at byte ``at`` of the inflated ``payload``.

        Returns the byte and the number of the first record to decode. ``starts`` are the
        ``plain_starts`` of the records.
        """
        for number in range(index, len(starts)):
            try:
                if number < _CACHED_DELTAS:
                    sizes = self._sizes[number]
                    prefix = payload[at : at + _PREFIX_SIZE]
                    size = sizes.get(prefix)
                    if size is None:
                        size = self._size(payload, at, starts[number])
                        if size is None:
                            return at, number
                        if len(sizes) >= MAX_PREFIXES:
                            sizes.clear()
                        sizes[prefix] = size
                else:
                    size = self._size(payload, at, starts[number])
                if not size or payload[at + size - 1]:
                    return at, number
            except IndexError:
                return at, number
            at += size
        return at, len(starts)

    def _size(self, payload: bytes, at: int, start: bytes) -> int | None:
        """The size of the plain record at ``at``; 0 if the record must be decoded.

        None if the record is not plain. The caller must not cache None by prefix, because the
        reason can be in later bytes.
        """
        plain = plain_value(payload, at, start)
        if plain is None:
            return None
        value, end = plain
        return end - at if value[:_FRAME_SIZE] in self._frames else 0
