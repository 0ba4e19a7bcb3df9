"""Reads, checks and writes record batches of Kafka's message format v2.

``decode_batch`` checks the header and the checksum. The records are inflated and checked only when
they are read, because some callers need only offsets and epochs.

The checksum does not cover the base offset, the length, the epoch and the magic. This module
checks the length and the magic. ``log.continuity`` checks the base offset and the epoch.

Source: Kafka's message format v2 (KIP-98); docs/formats/batch.md. This module must not
know files: ``file`` and ``position`` appear only in errors and in ``repr``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from metalog.errors import CorruptLog, InvalidRequest
from metalog.records.control import decode_control, encode_control
from metalog.records.fast_decode.acl_fast_decode import AnyMessage, Part, decode_parts, messages_of
from metalog.records.frame import decode_value, encode_value, refused
from metalog.records.message import ControlMessage, Message
from metalog.records.primitives.checksum import crc32c
from metalog.records.primitives.compression import NAMES, NONE, inflate, most_inflated
from metalog.records.record import (
    MIN_RECORD_SIZE,
    Header,
    MalformedRecord,
    RawRecord,
    read_records,
    refusal,
    write_records,
    write_values,
)
from metalog.records.unread import UnreadTypes

LENGTH_END: Final = 12
"""The position after the length field. The length counts the bytes from this position on."""
HEADER_SIZE: Final = 61
MAX_BATCH_SIZE: Final = 64 << 20
"""In bytes: eight times the largest batch that Kafka's controller writes."""
CRC_PLACE: Final = slice(17, 21)
PREFIX_SIZE: Final = CRC_PLACE.stop
_MAGIC: Final = 2
_NO_PRODUCER: Final = -1

_PREFIX: Final = struct.Struct(">qiibI")
_AFTER_CRC: Final = struct.Struct(">hiqqqhii")

_COMPRESSION_BITS: Final = 0x07
_TIMESTAMP_TYPE_BIT: Final = 0x08
_CONTROL_BIT: Final = 0x20
_KNOWN_BITS: Final = 0x7F
_MAX_OFFSET: Final = (1 << 63) - 1


class BatchRecord(NamedTuple):
    """One record; ``timestamp`` is in milliseconds."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]
    attributes: int

    def __repr__(self) -> str:
        """Leaves out key, value and headers, which may be secret."""
        return f"BatchRecord(offset={self.offset}, timestamp={self.timestamp})"


class MessageEntry(NamedTuple):
    """One record's message, and its version (-1 if unknown); ``timestamp`` is in milliseconds."""

    offset: int
    timestamp: int
    version: int
    message: AnyMessage


class Batch(NamedTuple):
    """One record batch of a log or a snapshot.

    ``data`` has the records as in the file, perhaps compressed. ``position`` is the batch's
    position in ``file``. Timestamps are in milliseconds.
    """

    base_offset: int
    last_offset: int
    epoch: int
    attributes: int
    base_timestamp: int
    max_timestamp: int
    data: bytes
    crc: int
    producer_id: int = _NO_PRODUCER
    producer_epoch: int = _NO_PRODUCER
    base_sequence: int = _NO_PRODUCER
    file: str | None = None
    position: int = 0

    @property
    def next_offset(self) -> int:
        """The offset after the last record."""
        return self.last_offset + 1

    @property
    def record_count(self) -> int:
        """The number of records; each has one offset."""
        return self.last_offset - self.base_offset + 1

    @property
    def is_control(self) -> bool:
        """Whether all records are control records, such as LEADER_CHANGE."""
        return self.attributes & _CONTROL_BIT != 0

    @property
    def compression(self) -> str:
        """``none``, ``gzip``, ``snappy``, ``lz4`` or ``zstd``."""
        return NAMES[self.attributes & _COMPRESSION_BITS]

    @property
    def timestamp_type(self) -> str:
        """``CreateTime`` or ``LogAppendTime``, as Kafka's dump tool prints it."""
        return "LogAppendTime" if self.attributes & _TIMESTAMP_TYPE_BIT else "CreateTime"

    @property
    def size(self) -> int:
        """In bytes, header included."""
        return HEADER_SIZE + len(self.data)

    def __repr__(self) -> str:
        """Leaves out the records, which may be secret."""
        return (
            f"Batch(offsets {self.base_offset} to {self.last_offset}, epoch {self.epoch}, "
            f"{self.size} bytes at {self.position} of {self.file})"
        )

    def records(self, unread: UnreadTypes | None = None) -> Iterator[BatchRecord]:
        """The records that ``unread`` does not skip; ``CorruptLog`` if a record is damaged."""
        for raw in self.raw_records(unread):
            attributes, delta, offset_delta, key, value, headers = raw
            offset, timestamp = self.base_offset + offset_delta, self._timestamp(delta)
            yield BatchRecord(offset, timestamp, key, value, headers, attributes)

    def _timestamp(self, delta: int) -> int:
        if self.attributes & _TIMESTAMP_TYPE_BIT:
            return self.max_timestamp
        return self.base_timestamp + delta

    def entries(self) -> Iterator[MessageEntry]:
        """The records with decoded messages; ``CorruptLog`` if a record is damaged."""
        is_control, base_offset, new = self.is_control, self.base_offset, tuple.__new__
        plain_timestamp = self._timestamp(0)
        for raw in self.raw_records():
            _, timestamp_delta, offset_delta, key, value, headers = raw
            value = value or b""
            message: AnyMessage
            if is_control:
                version, message = decode_control(key, value)
            else:
                version, message = decode_value(value)
            if timestamp_delta or headers or key is not None:
                why = refusal(raw, is_control=is_control)
                if why is not None:
                    message = refused(message, value, why)
            timestamp = self._timestamp(timestamp_delta) if timestamp_delta else plain_timestamp
            yield new(MessageEntry, (base_offset + offset_delta, timestamp, version, message))

    def parts(self, unread: UnreadTypes | None = None) -> list[Part]:
        """The decoded records in order: runs of similar records, and single messages.

        This is the fast path of replay. Records that ``unread`` skips become an ``UnreadRun``.
        Raises ``CorruptLog`` if a record is damaged.
        """
        if self.is_control:
            return [entry.message for entry in self.entries()]
        payload = self._payload()
        try:
            return decode_parts(payload, self.record_count, unread)
        except MalformedRecord as error:
            raise self._corrupt(error) from None

    def messages(self) -> list[AnyMessage]:
        """The decoded records; errors as in ``parts``."""
        return messages_of(self.parts())

    def _payload(self) -> bytes:
        if self.compression == NONE:
            return self.data
        try:
            return inflate(self.compression, self.data, most_inflated(len(self.data)))
        except ValueError as error:
            raise self._fault(str(error), self.base_offset, self.position + HEADER_SIZE) from None

    def raw_records(self, unread: UnreadTypes | None = None) -> Iterator[RawRecord]:
        """Like ``records``, but with deltas instead of offsets and timestamps."""
        payload = self._payload()
        skip = None if unread is None or self.is_control else unread.skip
        try:
            yield from read_records(payload, self.record_count, skip)
        except MalformedRecord as error:
            raise self._corrupt(error) from None

    def _corrupt(self, error: MalformedRecord) -> CorruptLog:
        inside = error.at if self.compression == NONE else 0
        byte = self.position + HEADER_SIZE + inside
        return self._fault(error.problem, self.base_offset + error.index, byte)

    def _fault(self, problem: str, offset: int, byte: int) -> CorruptLog:
        return CorruptLog(problem, file=self.file, offset=offset, byte=byte)


def batch_size(buffer: bytes, position: int = 0) -> int | None:
    """The size in bytes of the batch at ``position``, from its length field.

    None if the length field is incomplete. The size is not checked.
    """
    if len(buffer) - position < LENGTH_END:
        return None
    length: int = struct.unpack_from(">i", buffer, position + 8)[0]
    return LENGTH_END + length


def decode_batch(
    buffer: bytes, position: int = 0, *, file: str | None = None, file_position: int | None = None
) -> Batch:
    """The batch at ``position`` of ``buffer``; ``CorruptLog`` if it is missing or damaged.

    ``file_position`` is the batch's position in ``file``, by default ``position``.
    """
    at = position if file_position is None else file_position
    if len(buffer) - position < HEADER_SIZE:
        left = len(buffer) - position
        raise CorruptLog(f"a batch header is cut short after {left} bytes", file=file, byte=at)
    base_offset, length, epoch, magic, crc = _PREFIX.unpack_from(buffer, position)
    end = position + LENGTH_END + length
    problem = _prefix_problem(base_offset, length, epoch, magic, len(buffer) - position)
    if problem is not None:
        raise CorruptLog(problem, file=file, offset=base_offset, byte=at)
    if crc32c(buffer[position + PREFIX_SIZE : end]) != crc:
        problem = "the checksum of the batch does not match"
        raise CorruptLog(problem, file=file, offset=base_offset, byte=at)
    after_crc = _AFTER_CRC.unpack_from(buffer, position + PREFIX_SIZE)
    attributes, last_offset_delta, base_timestamp, max_timestamp = after_crc[:4]
    producer_id, producer_epoch, base_sequence, count = after_crc[4:]
    data = buffer[position + HEADER_SIZE : end]
    problem = _header_problem(base_offset, attributes, last_offset_delta, count, len(data))
    if problem is not None:
        raise CorruptLog(problem, file=file, offset=base_offset, byte=at)
    fields = (
        base_offset, base_offset + last_offset_delta, epoch, attributes, base_timestamp,
        max_timestamp, data, crc, producer_id, producer_epoch, base_sequence, file, at,
    )  # fmt: skip
    return tuple.__new__(Batch, fields)


def _prefix_problem(
    base_offset: int, length: int, epoch: int, magic: int, available: int
) -> str | None:
    if magic != _MAGIC:
        return f"magic {magic} is not {_MAGIC}: not a record batch of Kafka 0.11 or later"
    if not HEADER_SIZE <= LENGTH_END + length <= MAX_BATCH_SIZE:
        size = LENGTH_END + length
        return f"a batch of {size} bytes is not between {HEADER_SIZE} and {MAX_BATCH_SIZE} bytes"
    if LENGTH_END + length > available:
        return f"a batch of {LENGTH_END + length} bytes is cut short after {available}"
    if base_offset < 0:
        return f"base offset {base_offset} is negative"
    if epoch < 0:
        return f"leader epoch {epoch} is negative"
    return None


def _header_problem(
    base_offset: int, attributes: int, last_offset_delta: int, count: int, size: int
) -> str | None:
    if attributes & ~_KNOWN_BITS or attributes & _COMPRESSION_BITS >= len(NAMES):
        return f"attributes {attributes & 0xFFFF:#06x} are unknown"
    if count < 1 or last_offset_delta != count - 1:
        return f"{count} records, but the last offset delta is {last_offset_delta}"
    if base_offset + last_offset_delta > _MAX_OFFSET:
        return f"{count} records from offset {base_offset} exceed the largest offset"
    if attributes & _COMPRESSION_BITS == 0 and count * MIN_RECORD_SIZE > size:
        return f"{count} records do not fit in {size} bytes"
    return None


def prefix_of(batch: Batch) -> bytes:
    """The first ``PREFIX_SIZE`` bytes of ``batch`` in its file, checksum included."""
    return _PREFIX.pack(batch.base_offset, batch.size - LENGTH_END, batch.epoch, _MAGIC, batch.crc)


def encode_batch(batch: Batch) -> bytes:
    """The bytes of a batch. Uncompressed records are encoded again.

    Compressed records keep their bytes, because another compressor would write other bytes.
    """
    if batch.compression == NONE:
        batch = batch._replace(data=write_records(list(batch.raw_records())))
    return batch_bytes(batch)


def batch_bytes(batch: Batch) -> bytes:
    """The bytes of a batch, with ``data`` unchanged and a new checksum."""
    rest = _bytes_after_crc(batch)
    length = batch.size - LENGTH_END
    return _PREFIX.pack(batch.base_offset, length, batch.epoch, _MAGIC, crc32c(rest)) + rest


def _bytes_after_crc(batch: Batch) -> bytes:
    header = _AFTER_CRC.pack(
        batch.attributes,
        batch.last_offset - batch.base_offset,
        batch.base_timestamp,
        batch.max_timestamp,
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        batch.record_count,
    )
    return header + batch.data


def build_batch(
    base_offset: int,
    epoch: int,
    timestamp: int,
    messages: Sequence[tuple[Message | ControlMessage, int]],
) -> Batch:
    """A batch of metadata records, or of control records, all with ``timestamp``.

    ``messages`` are pairs of message and version. ``InvalidRequest`` if the list is empty or mixes
    both kinds, or if a version cannot hold its message.
    """
    control = [isinstance(message, ControlMessage) for message, _ in messages]
    if not messages or any(control) != all(control):
        raise InvalidRequest("give one or more records, all of one kind: metadata or control")
    records = []
    for index, (message, version) in enumerate(messages):
        key, value = None, b""
        if isinstance(message, ControlMessage):
            key, value = encode_control(message, version)
        else:
            value = encode_value(message, version)
        records.append(RawRecord(0, 0, index, key, value, ()))
    return assemble_batch(base_offset, epoch, timestamp, records, is_control=control[0])


def batch_of_values(base_offset: int, epoch: int, timestamp: int, values: Sequence[bytes]) -> Batch:
    """An uncompressed batch of records that have only a value, all with ``timestamp``."""
    last, data = base_offset + len(values) - 1, write_values(values)
    batch = Batch(base_offset, last, epoch, 0, timestamp, timestamp, data, 0)
    return batch._replace(crc=crc32c(_bytes_after_crc(batch)))


def assemble_batch(
    base_offset: int,
    epoch: int,
    timestamp: int,
    records: Sequence[RawRecord],
    *,
    is_control: bool = False,
) -> Batch:
    """An uncompressed batch of ``records``; their values are not checked."""
    last, data = base_offset + len(records) - 1, write_records(records)
    attributes = _CONTROL_BIT if is_control else 0
    latest = timestamp + max(record.timestamp_delta for record in records)
    batch = Batch(base_offset, last, epoch, attributes, timestamp, latest, data, 0)
    return batch._replace(crc=crc32c(_bytes_after_crc(batch)))
