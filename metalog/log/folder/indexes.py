"""Builds the entries of a segment's ``.index`` and ``.timeindex`` as Kafka's LogSegment does.

There is an offset entry for approximately every 4096 bytes of log: the last offset of a batch, and
the position of this batch. A time entry comes with it if the largest timestamp has grown after the
last one: this timestamp, and the last offset of its batch. Offsets are relative to the segment's
base. Pure. This module must not know files.
"""

from __future__ import annotations

import struct
from typing import Final

from metalog.records.batch import Batch

_INTERVAL_BYTES: Final = 4096
_OFFSET_ENTRY: Final = struct.Struct(">ii")
_TIME_ENTRY: Final = struct.Struct(">qi")


class IndexBuilder:
    """Takes a segment's batches in order, and returns the entries that each adds to both files."""

    __slots__ = ("_base", "_indexed_time", "_largest", "_since_entry")

    def __init__(self, base_offset: int) -> None:
        self._base = base_offset
        self._since_entry = 0
        self._largest = (-1, base_offset)
        self._indexed_time = -1

    def add(self, batch: Batch, position: int) -> tuple[bytes, bytes]:
        """The entries that ``batch`` at byte ``position`` adds; usually none."""
        if batch.max_timestamp > self._largest[0]:
            self._largest = (batch.max_timestamp, batch.last_offset)
        offset_entry = time_entry = b""
        if self._since_entry > _INTERVAL_BYTES:
            offset_entry = _OFFSET_ENTRY.pack(batch.last_offset - self._base, position)
            time_entry = self.last_time_entry()
            self._since_entry = 0
        self._since_entry += batch.size
        return offset_entry, time_entry

    def last_time_entry(self) -> bytes:
        """The entry of the largest timestamp so far; empty if the time index has it already."""
        timestamp, offset = self._largest
        if timestamp <= self._indexed_time:
            return b""
        self._indexed_time = timestamp
        return _TIME_ENTRY.pack(timestamp, offset - self._base)
