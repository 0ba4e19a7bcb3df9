"""Reads one file of batches, a segment or a snapshot, lazily in large blocks.

Every returned batch is complete, has a right CRC, and follows the previous batch. A crash can leave
an incomplete last batch: the batch is cut short, or has zeros instead of unwritten sectors. Such a
batch becomes a ``TornTail``. Any other bad batch raises ``CorruptLog``. This module must not know
folders, and it does not apply records.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import islice
from typing import Final, NamedTuple

from metalog.disk.files import ReadableFile
from metalog.errors import CorruptLog
from metalog.log.continuity import Continuity
from metalog.records.batch import (
    CRC_PLACE,
    HEADER_SIZE,
    LENGTH_END,
    MAX_BATCH_SIZE,
    Batch,
    batch_size,
    decode_batch,
)
from metalog.records.primitives.checksum import crc32c, is_one_bit_off

BLOCK_SIZE: Final = 1 << 20

_ADVICE: Final = (
    "take the file from another copy; metalog export --salvage writes the state before this byte"
)
_ADVICE_AT_BEGINNING: Final = "this is not a file of a metadata log, or its beginning is damaged"

_OFFSET_END: Final = 8
_BASE_OFFSET: Final = struct.Struct(">q")
_MAGIC_PLACE: Final = 16
_MAGIC: Final = 2
_LAST_OFFSET_DELTA: Final = slice(23, 27)
_MOST_GUESSES: Final = 16
_SECTOR: Final = 512
"""The number of bytes that a disk writes atomically."""
_LEAST_UNWRITTEN: Final = 16
"""A complete batch can end with fewer zero bytes."""


class TornTail(NamedTuple):
    """The bytes of an incomplete batch at the end of the last segment."""

    file: str
    byte: int
    size: int
    offset: int | None
    """The base offset of the torn batch, at which the log ends."""

    def __str__(self) -> str:
        where = "" if self.offset is None else f", offset {self.offset}"
        return (
            f"{self.file}{where}, byte {self.byte}: skipped {self.size} bytes of an incomplete or"
            " damaged last batch"
        )


class SegmentReader:
    """The batches of one open file, from ``position`` to the file's end.

    An iteration ignores bytes that are appended after its start. The next iteration continues at
    ``position``, which stays before a torn tail. Without ``may_be_torn``, a torn tail is damage.
    """

    __slots__ = ("_continuity", "_file", "_may_be_torn", "_name", "position", "torn_tail")

    def __init__(
        self,
        file: ReadableFile,
        name: str,
        continuity: Continuity,
        *,
        position: int = 0,
        may_be_torn: bool = False,
    ) -> None:
        self._file = file
        self._name = name
        self._continuity = continuity
        self._may_be_torn = may_be_torn
        self.position = position
        self.torn_tail: TornTail | None = None

    def __iter__(self) -> Iterator[Batch]:
        self.torn_tail = None
        end = self._file.size()
        admit = self._continuity.admit
        for buffer, start, position, size in whole_batches(self._file, self.position, end):
            batch = None
            try:
                batch = decode_batch(buffer, start, file=self._name, file_position=position)
                admit(batch)
            except CorruptLog as error:
                if position + size == end and self._lacks_sectors(buffer[start : start + size]):
                    self.torn_tail = self._torn(size)
                    return
                advice = self._advice(position) if batch is None else _ADVICE
                raise self._damage(error.problem, position, advice) from None
            self.position = position + size
            yield batch
        if self.position < end:
            self._judge_tail(end)

    def _advice(self, position: int) -> str:
        return _ADVICE if position or self._continuity.next_offset else _ADVICE_AT_BEGINNING

    def _damage(self, problem: str, position: int, advice: str) -> CorruptLog:
        offset = self._continuity.next_offset
        return CorruptLog(problem, file=self._name, offset=offset, byte=position, advice=advice)

    def _judge_tail(self, end: int) -> None:
        size = end - self.position
        tail = self._file.read_at(self.position, min(size, MAX_BATCH_SIZE))
        written = _unwritten_end(tail, self.position) if len(tail) == size else len(tail)
        problem = _why_no_torn_batch(tail, self._continuity.next_offset, written)
        if problem is None and not self._holds_zeros(self.position + len(tail), end):
            problem = f"other bytes follow {len(tail)} bytes of zeros"
        if problem is None and not self._may_be_torn:
            problem = f"the file ends inside a batch, {size} bytes after its beginning"
        if problem is not None:
            raise self._damage(problem, self.position, self._advice(self.position))
        self.torn_tail = self._torn(size)

    def _torn(self, size: int) -> TornTail:
        return TornTail(self._name, self.position, size, self._continuity.next_offset)

    def _lacks_sectors(self, batch: bytes) -> bool:
        """Whether some sectors of the file's last ``batch`` were not written.

        If at most one bit of the batch is wrong, the zeros are content.
        """
        unwritten = _first_unwritten(batch, self.position)
        if not self._may_be_torn or unwritten == len(batch) or _has_at_most_one_wrong_bit(batch):
            return False
        return _why_no_torn_batch(batch, self._continuity.next_offset, unwritten) is None

    def _holds_zeros(self, start: int, end: int) -> bool:
        return not any(
            self._file.read_at(at, min(BLOCK_SIZE, end - at)).strip(b"\0")
            for at in range(start, end, BLOCK_SIZE)
        )


UndecodedBatch = tuple[bytes, int, int, int]
"""A buffer, the batch's position in the buffer and in the file, and the batch's size in bytes."""


def whole_batches(file: ReadableFile, position: int, end: int) -> Iterator[UndecodedBatch]:
    """The batches between ``position`` and ``end``; only their lengths are checked.

    The iteration ends before an incomplete batch or an impossible length.
    """
    buffer = b""
    start = 0
    while position + LENGTH_END <= end:
        size = batch_size(buffer, start)
        if size is not None and not HEADER_SIZE <= size <= min(MAX_BATCH_SIZE, end - position):
            return
        if size is None or start + size > len(buffer):
            wanted = min(max(BLOCK_SIZE, size or LENGTH_END), end - position)
            buffer, start = file.read_at(position, wanted), 0
            if len(buffer) < wanted:
                return
            continue
        yield buffer, start, position, size
        start += size
        position += size


def find_batch(file: ReadableFile, base_offset: int, wanted: int) -> tuple[int, int]:
    """The position in the file and the base offset of the batch with the offset ``wanted``.

    Only lengths and base offsets are checked. If one of these is impossible, the result is the
    file's beginning.
    """
    beginning = found = (0, base_offset)
    reached, end = 0, file.size()
    for buffer, start, position, size in whole_batches(file, 0, end):
        (base,) = _BASE_OFFSET.unpack_from(buffer, start)
        if position > 0 and base > wanted:
            return found
        if base <= found[1] if position > 0 else base != base_offset:
            return beginning
        found, reached = (position, base), position + size
    return found if end - reached < HEADER_SIZE else beginning


def _first_unwritten(data: bytes, position: int) -> int:
    """The index of the first unwritten sector in ``data``, or ``len(data)``.

    ``data`` is the end of a file, from byte ``position`` on.
    """
    for at in range(-position % _SECTOR, len(data) - _SECTOR + 1, _SECTOR):
        if not data[at : at + _SECTOR].strip(b"\0"):
            return at
    return _unwritten_end(data, position)


def _unwritten_end(data: bytes, position: int) -> int:
    """The index at which unwritten sectors at the end of ``data`` begin, or ``len(data)``."""
    end = len(data.rstrip(b"\0"))
    unwritten = end + -(position + end) % _SECTOR
    return unwritten if len(data) - unwritten >= _LEAST_UNWRITTEN else len(data)


def _has_at_most_one_wrong_bit(batch: bytes) -> bool:
    stored = int.from_bytes(batch[CRC_PLACE])
    covered = batch[CRC_PLACE.stop :]
    return is_one_bit_off(stored ^ crc32c(covered), len(covered))


def _why_no_torn_batch(tail: bytes, next_offset: int | None, written: int) -> str | None:
    """Why ``tail`` is damage, or None if a crash can have left ``tail``.

    The first ``written`` bytes of a torn tail are zeros or the start of the next batch. A complete
    batch with a wrong length field is damage.
    """
    head = tail[: min(written, HEADER_SIZE)]
    if not tail[:written].strip(b"\0"):
        return None
    if next_offset is not None and not head.startswith(
        next_offset.to_bytes(_OFFSET_END)[: len(head)]
    ):
        return f"these bytes are not the batch of offset {next_offset}"
    if len(head) > _MAGIC_PLACE and head[_MAGIC_PLACE] != _MAGIC:
        return f"magic {head[_MAGIC_PLACE]} is not {_MAGIC}"
    size = batch_size(head)
    if size is not None:
        if not HEADER_SIZE <= size <= MAX_BATCH_SIZE:
            return f"a batch cannot be {size} bytes long"
        if _hides_whole_batch(tail, size, written):
            return f"a length of {size} bytes is wrong: a complete batch begins here"
    return None


def _hides_whole_batch(tail: bytes, stated: int, written: int) -> bool:
    """Whether ``tail`` begins with a complete batch whose ``stated`` size is wrong.

    Likely sizes are tried, for example those that differ from ``stated`` by one bit.
    """
    if len(tail) < HEADER_SIZE:
        return False
    sizes = {
        len(tail),
        written,
        *(LENGTH_END + (stated - LENGTH_END ^ 1 << bit) for bit in range(31)),
    }
    delta = int.from_bytes(tail[_LAST_OFFSET_DELTA], signed=True)
    following = int.from_bytes(tail[:_OFFSET_END]) + delta + 1
    if 0 < following < 1 << 63:
        sizes.update(islice(_positions(tail, following.to_bytes(_OFFSET_END)), _MOST_GUESSES))
    return any(HEADER_SIZE <= size <= len(tail) and _is_batch(tail, size) for size in sizes)


def _is_batch(tail: bytes, size: int) -> bool:
    length = (size - LENGTH_END).to_bytes(LENGTH_END - _OFFSET_END)
    try:
        decode_batch(tail[:_OFFSET_END] + length + tail[LENGTH_END:size])
    except CorruptLog:
        return False
    return True


def _positions(data: bytes, wanted: bytes) -> Iterator[int]:
    position = data.find(wanted, HEADER_SIZE)
    while position >= 0:
        yield position
        position = data.find(wanted, position + 1)
