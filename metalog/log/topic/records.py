"""The format of a metadata log in a Kafka topic: a message per record, a transaction per append.

A key marks a control record. With the header of each message, a reader detects lost, duplicate and
foreign messages. The reader turns each append into one batch. ``docs/formats/topic.md`` describes
the bytes.

Pure. This module must not know consumers, producers, nor which messages are committed.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal, NamedTuple, get_args

from metalog.errors import CorruptLog, InvalidRequest
from metalog.ports import Appended, Gap, LogEvent
from metalog.records.avro.codec import from_avro, to_avro
from metalog.records.batch import Batch, MessageEntry, assemble_batch
from metalog.records.control import encode_control
from metalog.records.frame import Undecodable, encode_value, unreadable_value
from metalog.records.message import ControlMessage
from metalog.records.record import RawRecord

Encoding = Literal["kraft", "avro"]
"""The encoding of a topic's values: metadata frames, or Avro with the schema's fingerprint in a
header."""
ENCODINGS: Final[tuple[Encoding, ...]] = get_args(Encoding)

APPEND_HEADER: Final = "metalog.append"
SCHEMA_HEADER: Final = "metalog.schema"
_APPEND: Final = struct.Struct(">Biqii")
_FORMAT: Final = 1


class AppendHeader(NamedTuple):
    """A message's header. ``follows`` is the end offset of the previous append.

    ``number`` is the message's place, counted from 0, among the ``total`` messages of its append.
    """

    epoch: int
    follows: int
    number: int
    total: int


class Outgoing(NamedTuple):
    """A message to be sent; ``repr`` hides the value, which can be secret."""

    key: bytes | None
    value: bytes
    headers: list[tuple[str, bytes]]

    def __repr__(self) -> str:
        return f"Outgoing({len(self.value)} bytes)"


class Stored(NamedTuple):
    """A message in the topic; ``repr`` hides the value."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]]

    def __repr__(self) -> str:
        return f"Stored(offset={self.offset})"


class LastAppend(NamedTuple):
    """The last append of a topic; ``end`` is the offset after the append."""

    epoch: int
    end: int
    encoding: Encoding


def outgoing(batch: Batch, encoding: Encoding, follows: int) -> list[Outgoing]:
    """The messages of ``batch``; ``follows`` is the end offset of the previous append."""
    records = list(batch.raw_records())
    values: Iterable[tuple[bytes | None, bytes]]
    if encoding == "avro":
        values = map(_avro_of, batch.entries())
    else:
        values = ((None, record.value or b"") for record in records)
    messages = []
    for index, (record, (schema, value)) in enumerate(zip(records, values, strict=True)):
        header = _APPEND.pack(_FORMAT, batch.epoch, follows, index, len(records))
        headers = [(APPEND_HEADER, header)]
        if schema is not None:
            headers.append((SCHEMA_HEADER, schema))
        messages.append(Outgoing(record.key, value, headers))
    return messages


def last_append(message: Stored, topic: str) -> LastAppend:
    """The append of ``message``, the last message of a topic."""
    header = read_header(message, topic)
    return LastAppend(header.epoch, message.offset + 1, encoding_of(message))


def encoding_of(message: Stored) -> Encoding:
    return "kraft" if _header(message, SCHEMA_HEADER) is None else "avro"


def read_header(message: Stored, topic: str) -> AppendHeader:
    """The message's header; ``CorruptLog`` if it is missing or invalid."""
    packed = _header(message, APPEND_HEADER)
    if packed is None:
        raise CorruptLog(
            f"a message without the header {APPEND_HEADER}",
            file=topic,
            offset=message.offset,
            advice="the topic is not a metadata log, or another program wrote to it",
        )
    if len(packed) != _APPEND.size or packed[0] != _FORMAT:
        raise CorruptLog(
            f"the header {APPEND_HEADER} has an unknown form", file=topic, offset=message.offset
        )
    header = AppendHeader(*_APPEND.unpack(packed)[1:])
    is_possible = 0 <= header.number < header.total and 0 <= header.follows <= message.offset
    if header.epoch < 0 or not is_possible:
        text = f"record {header.number} (counted from 0) of {header.total}, epoch {header.epoch}"
        problem = f"the header {APPEND_HEADER} is impossible: {text}, after offset {header.follows}"
        raise CorruptLog(problem, file=topic, offset=message.offset)
    return header


class _OpenAppend(NamedTuple):
    first: Stored
    header: AppendHeader
    encoding: Encoding
    records: list[RawRecord]

    @property
    def next_offset(self) -> int:
        return self.first.offset + len(self.records)


class Assembler:
    """Turns a topic's messages, in order from ``start`` on, into events.

    ``last`` is the append before ``start``, if known. With ``is_part``, ``start`` may lie inside an
    append, whose messages are skipped.
    """

    def __init__(
        self, topic: str, start: int, last: LastAppend | None = None, *, is_part: bool = False
    ) -> None:
        self.last = last
        self._topic = topic
        self._next = start
        self._follows = start if last is None else last.end
        self._is_part = is_part
        self._open: _OpenAppend | None = None

    @property
    def position(self) -> int:
        """The first offset that is not part of an event yet."""
        return self._next

    @property
    def is_between_appends(self) -> bool:
        """Whether all appends so far are complete."""
        return self._open is None

    def add(self, message: Stored) -> Iterator[LogEvent]:
        append = self._open
        if append is None:
            header = read_header(message, self._topic)
            if header.number and self._is_part:
                self._next = self._follows = message.offset + 1
                return
            self._check_beginning(message, header)
            yield from self._gap_before(message, header)
            append = self._open = _OpenAppend(message, header, encoding_of(message), [])
            self._is_part = False
        else:
            self._check_next(message, append)
        append.records.append(_record(message, append))
        if len(append.records) == append.header.total:
            yield Appended(self._finished(append))

    def drop_incomplete(self) -> None:
        """Forget the incomplete append; its messages must be added again."""
        self._open = None

    def reach(self, offset: int) -> Iterator[LogEvent]:
        """The gap before ``offset``, if any. All messages below ``offset`` must be added first."""
        if self._open is None and offset > self._next:
            yield Gap(self._next, offset, lost=False)
            self._next = offset
        elif self._open is not None and offset > self._open.next_offset:
            raise self._corrupt(
                self._open.first,
                f"only {len(self._open.records)} of an append's {self._open.header.total} records",
            )

    def _check_beginning(self, message: Stored, header: AppendHeader) -> None:
        if header.number:
            problem = f"an append begins with its record {header.number}, not with record 0"
            raise self._corrupt(message, problem)
        last = self.last
        if last is None:
            return
        if (encoding := encoding_of(message)) != last.encoding:
            raise self._corrupt(message, f"a value in {encoding} after values in {last.encoding}")
        if header.epoch < last.epoch:
            raise self._corrupt(message, f"the epoch falls from {last.epoch} to {header.epoch}")
        if header.epoch > last.epoch and message.key is None:
            raise self._corrupt(
                message,
                f"the epoch rises from {last.epoch} to {header.epoch} without a leader change",
            )
        if header.follows < last.end:
            raise self._corrupt(
                message,
                f"the record's writer knew the log only up to offset {header.follows}, not"
                f" {last.end}: two programs wrote at the same time",
            )

    def _gap_before(self, message: Stored, header: AppendHeader) -> Iterator[Gap]:
        """The gap before ``message``: lost records, or transaction markers and aborted messages.

        It is one gap, even if the append is incomplete and its messages are added again.
        """
        is_lost = header.follows > self._follows
        if is_lost or message.offset > self._next:
            gap = Gap(self._follows if is_lost else self._next, message.offset, lost=is_lost)
            self._next, self._follows = message.offset, header.follows
            yield gap

    def _check_next(self, message: Stored, append: _OpenAppend) -> None:
        number = len(append.records)
        packed = _APPEND.pack(_FORMAT, *append.header._replace(number=number))
        if (
            _header(message, APPEND_HEADER) != packed
            or message.offset != append.next_offset
            or (message.key is None) != (append.first.key is None)
            or encoding_of(message) != append.encoding
        ):
            read_header(message, self._topic)
            raise self._corrupt(
                message, f"expected record {number} of the append at offset {append.first.offset}"
            )

    def _finished(self, append: _OpenAppend) -> Batch:
        first, header, encoding, records = append
        batch = assemble_batch(
            first.offset, header.epoch, first.timestamp, records, is_control=first.key is not None
        )
        self._open = None
        self._next = self._follows = batch.next_offset
        self.last = LastAppend(header.epoch, self._next, encoding)
        return batch._replace(file=self._topic)

    def _corrupt(self, message: Stored, problem: str) -> CorruptLog:
        return CorruptLog(problem, file=self._topic, offset=message.offset)


def _record(message: Stored, append: _OpenAppend) -> RawRecord:
    value = message.value
    if append.encoding == "avro":
        schema = _header(message, SCHEMA_HEADER) or b""
        value = _frame_of_avro(schema, value or b"", is_control=message.key is not None)
    return RawRecord(0, 0, len(append.records), message.key, value, ())


def _frame_of_avro(schema: bytes, value: bytes, *, is_control: bool) -> bytes:
    """The value as in a log file. An unreadable value becomes a value that holds the reason."""
    try:
        message, version = from_avro(schema, value)
        if isinstance(message, ControlMessage) != is_control:
            raise ValueError(f"{message.TYPE_NAME} does not fit its key")
        if isinstance(message, ControlMessage):
            return encode_control(message, version)[1]
        return encode_value(message, version)
    except (ValueError, InvalidRequest) as error:
        return unreadable_value(str(error))


def _avro_of(entry: MessageEntry) -> tuple[bytes, bytes]:
    if isinstance(entry.message, Undecodable):
        raise InvalidRequest(f"a record that cannot be read: {entry.message.reason}")
    return to_avro(entry.message, entry.version)


def _header(message: Stored, name: str) -> bytes | None:
    for key, value in message.headers:
        if key == name:
            return value
    return None
