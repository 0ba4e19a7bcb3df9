"""Appends to the end of a log: to one active segment and its two indexes.

Every batch is synced. Indexes can be rebuilt from their segment, so they are synced only when the
segment is finished. After a failed write or sync, the appender cannot be used: the file's content
is unknown, and a second sync can wrongly succeed. This module must not know epochs, voters, nor who
may write.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Final, NamedTuple

from metalog.disk.files import Files, WritableFile, opened
from metalog.log.continuity import Continuity
from metalog.log.folder.layout import index_name, segment_name, time_index_name
from metalog.log.folder.segment import SegmentReader
from metalog.records.batch import Batch, batch_bytes

DEFAULT_SEGMENT_BYTES: Final = 1 << 30
DEFAULT_SEGMENT_MS: Final = 7 * 24 * 60 * 60 * 1000
_MAX_INT32: Final = 2**31 - 1
_INTERVAL_BYTES: Final = 4096
_OFFSET_ENTRY: Final = struct.Struct(">ii")
_TIME_ENTRY: Final = struct.Struct(">qi")


class SegmentLimits(NamedTuple):
    """The limits of a segment: ``metadata.log.segment.bytes`` and ``.ms``."""

    max_bytes: int = DEFAULT_SEGMENT_BYTES
    max_ms: int = DEFAULT_SEGMENT_MS


class Appender:
    """Appends to a segment that begins at ``base_offset``.

    Without ``size``, the segment is new. With ``size``, an existing segment is cut to ``size``
    bytes and indexed again.
    """

    def __init__(
        self,
        folder: Path,
        base_offset: int,
        files: Files,
        limits: SegmentLimits,
        *,
        size: int | None = None,
    ) -> None:
        self._folder = folder
        self._files = files
        self._limits = limits
        self._handles: list[WritableFile] = []
        try:
            if size is None:
                self._begin(base_offset)
            else:
                self._resume(base_offset, size)
        except BaseException:
            self.close()
            raise

    def append(self, batch: Batch) -> None:
        """Write ``batch`` durably; after ``OSError``, close the appender."""
        data = batch_bytes(batch)
        if self._is_full(batch, len(data)):
            self.finish()
            self._begin(batch.base_offset)
        self._log.write(data)
        self._log.sync()
        self._add_to_indexes(batch, len(data))

    def finish(self) -> None:
        """Complete the indexes of the active segment, and close its files."""
        if entry := self._builder.last_time_entry():
            self._time_index.write(entry)
        self._index.sync()
        self._time_index.sync()
        self.close()

    def close(self) -> None:
        """Close the files without any change."""
        handles, self._handles = self._handles, []
        for handle in handles:
            handle.close()

    def _is_full(self, batch: Batch, size: int) -> bool:
        if not self._size:
            return False
        return (
            self._size + size > min(self._limits.max_bytes, _MAX_INT32)
            or batch.max_timestamp - self._first_timestamp > self._limits.max_ms
            or batch.last_offset - self._base > _MAX_INT32
        )

    def _begin(self, base_offset: int) -> None:
        self._reset(base_offset)
        self._log = self._created(segment_name(base_offset))
        self._create_indexes(base_offset)
        self._files.sync_folder(self._folder)

    def _resume(self, base_offset: int, size: int) -> None:
        self._reset(base_offset)
        path = self._folder / segment_name(base_offset)
        self._log = self._kept(self._files.extend(path, size))
        self._log.sync()
        self._create_indexes(base_offset)
        with opened(self._files, path) as file:
            for batch in SegmentReader(file, str(path), Continuity(base_offset)):
                self._add_to_indexes(batch, batch.size)
        self._files.sync_folder(self._folder)

    def _reset(self, base_offset: int) -> None:
        self._base = base_offset
        self._size = 0
        self._builder = IndexBuilder(base_offset)

    def _create_indexes(self, base_offset: int) -> None:
        self._index = self._created(index_name(base_offset))
        self._time_index = self._created(time_index_name(base_offset))

    def _add_to_indexes(self, batch: Batch, size: int) -> None:
        if not self._size:
            self._first_timestamp = batch.max_timestamp
        offset_entry, time_entry = self._builder.add(batch, self._size)
        if offset_entry:
            self._index.write(offset_entry)
        if time_entry:
            self._time_index.write(time_entry)
        self._size += size

    def _created(self, name: str) -> WritableFile:
        return self._kept(self._files.create(self._folder / name))

    def _kept(self, handle: WritableFile) -> WritableFile:
        self._handles.append(handle)
        return handle


class IndexBuilder:
    """Builds the entries of a segment's ``.index`` and ``.timeindex`` as Kafka's LogSegment does.

    ``add`` takes the segment's batches in order, and returns entries after about every 4096 bytes.
    Offsets in entries are relative to ``base_offset``. Pure.
    """

    __slots__ = ("_base", "_indexed_time", "_largest", "_since_entry")

    def __init__(self, base_offset: int) -> None:
        self._base = base_offset
        self._since_entry = 0
        self._largest = (-1, base_offset)
        self._indexed_time = -1

    def add(self, batch: Batch, position: int) -> tuple[bytes, bytes]:
        """The offset and time entry for ``batch`` at byte ``position``; each can be empty."""
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
