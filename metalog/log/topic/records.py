"""How a metadata log lies in a Kafka topic: each record a message, each append a transaction.

A topic has no control batches of ours and tells no leader epochs, so each message says in a
header which epoch it is of, where the append before it ended, and which of how many it is.
So a reader sees whether anything was lost, doubled or mixed in, and makes of an append the
one batch that it would be in a file. ``docs/formats/topic.md`` has it byte by byte.

Pure. This module must not know consumers, producers, nor what is committed.
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
"""Of the values of a topic: metadata frames, or Avro with the schema's fingerprint beside."""
ENCODINGS: Final[tuple[Encoding, ...]] = get_args(Encoding)

APPEND_HEADER: Final = "metalog.append"
SCHEMA_HEADER: Final = "metalog.schema"
_APPEND: Final = struct.Struct(">Biqii")
_FORMAT: Final = 1


class AppendHeader(NamedTuple):
    """What a message's header says: of which epoch it is, where the append before its own
    ended, and that it is number ``number`` of ``total``."""

    epoch: int
    follows: int
    number: int
    total: int


class Outgoing(NamedTuple):
    """A message to be sent. Its ``repr`` is without the value, which may be secret."""

    key: bytes | None
    value: bytes
    headers: list[tuple[str, bytes]]

    def __repr__(self) -> str:
        return f"Outgoing({len(self.value)} bytes)"


class Stored(NamedTuple):
    """A message as it lies in the topic. Its ``repr`` is without the value."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]]

    def __repr__(self) -> str:
        return f"Stored(offset={self.offset})"


class Last(NamedTuple):
    """The last append of a topic: its epoch, where it ends, and how its values are encoded."""

    epoch: int
    end: int
    encoding: Encoding


def outgoing(batch: Batch, encoding: Encoding, follows: int) -> list[Outgoing]:
    """The messages of ``batch``, which comes after the append that ended at ``follows``."""
    records = list(batch.raw_records())
    values: Iterable[tuple[bytes | None, bytes]]
    if encoding == "avro":
        values = map(_avro_of, batch.entries())
    else:
        values = ((None, record.value or b"") for record in records)
    messages = []
    for index, (record, (schema, value)) in enumerate(zip(records, values, strict=True)):
        place = _APPEND.pack(_FORMAT, batch.epoch, follows, index, len(records))
        headers = [(APPEND_HEADER, place)]
        if schema is not None:
            headers.append((SCHEMA_HEADER, schema))
        messages.append(Outgoing(record.key, value, headers))
    return messages


def last_append(message: Stored, topic: str) -> Last:
    """What the topic's last message tells of its append."""
    place = read_place(message, topic)
    return Last(place.epoch, message.offset + 1, encoding_of(message))


def encoding_of(message: Stored) -> Encoding:
    return "kraft" if _header(message, SCHEMA_HEADER) is None else "avro"


def read_place(message: Stored, topic: str) -> AppendHeader:
    """``CorruptLog`` where the message has none: it is not of a metadata log."""
    packed = _header(message, APPEND_HEADER)
    if packed is None:
        raise CorruptLog(
            f"a message without the header {APPEND_HEADER}",
            file=topic,
            offset=message.offset,
            advice="this is not a metadata log, or somebody else wrote to it",
        )
    if len(packed) != _APPEND.size or packed[0] != _FORMAT:
        raise CorruptLog(
            f"the header {APPEND_HEADER} has an unknown form", file=topic, offset=message.offset
        )
    place = AppendHeader(*_APPEND.unpack(packed)[1:])
    if place.epoch < 0 or not 0 <= place.number < place.total:
        problem = f"record {place.number} of {place.total} in epoch {place.epoch}"
        raise CorruptLog(problem, file=topic, offset=message.offset)
    return place


class _Open(NamedTuple):
    """An append that is being read: its first message, and its records so far."""

    first: Stored
    place: AppendHeader
    encoding: Encoding
    records: list[RawRecord]

    @property
    def next_offset(self) -> int:
        return self.first.offset + len(self.records)


class Assembler:
    """Makes events of a topic's messages, which are given in order from ``start`` on.

    ``last`` is the append before ``start``, None where it is not known. With ``is_part``
    the messages of an append that began before ``start`` are passed over.
    """

    def __init__(
        self, topic: str, start: int, last: Last | None = None, *, is_part: bool = False
    ) -> None:
        self.last = last
        self._topic = topic
        self._next = start
        self._start = start
        self._is_part = is_part
        self._open: _Open | None = None

    @property
    def position(self) -> int:
        """The first offset of which no event was made."""
        return self._next

    @property
    def is_between(self) -> bool:
        """Whether no append is half read."""
        return self._open is None

    def add(self, message: Stored) -> Iterator[LogEvent]:
        append = self._open
        if append is None:
            place = read_place(message, self._topic)
            if place.number and self._is_part:
                self._next = self._start = message.offset + 1
                return
            self._check_beginning(message, place)
            yield from self._gap_before(message, place)
            append = self._open = _Open(message, place, encoding_of(message), [])
            self._is_part = False
        else:
            self._check_next(message, append)
        append.records.append(_record(message, append))
        if len(append.records) == append.place.total:
            yield Appended(self._finished(append))

    def reach(self, offset: int) -> Iterator[LogEvent]:
        """All committed messages below ``offset`` were given."""
        if self._open is None and offset > self._next:
            yield Gap(self._next, offset, lost=False)
            self._next = offset
        elif self._open is not None and offset > self._open.next_offset:
            raise self._corrupt(
                self._open.first,
                f"only {len(self._open.records)} of an append's {self._open.place.total} records",
            )

    def _check_beginning(self, message: Stored, place: AppendHeader) -> None:
        if place.number:
            raise self._corrupt(message, f"an append begins with its record {place.number}")
        last = self.last
        if last is None:
            return
        if (encoding := encoding_of(message)) != last.encoding:
            raise self._corrupt(message, f"a value in {encoding} in a topic of {last.encoding}")
        if place.epoch < last.epoch:
            raise self._corrupt(message, f"the epoch falls from {last.epoch} to {place.epoch}")
        if place.epoch > last.epoch and message.key is None:
            raise self._corrupt(
                message,
                f"the epoch rises from {last.epoch} to {place.epoch} without a leader change",
            )
        if place.follows < last.end:
            raise self._corrupt(
                message,
                f"its writer knew the log up to offset {place.follows} only, not to {last.end}:"
                " there were two",
            )

    def _gap_before(self, message: Stored, place: AppendHeader) -> Iterator[Gap]:
        """Between two appends lie transactions' markers, and what was aborted."""
        known = self._start if self.last is None else self.last.end
        if place.follows > known:
            yield Gap(self._next, message.offset, lost=True)
        elif message.offset > self._next:
            yield Gap(self._next, message.offset, lost=False)

    def _check_next(self, message: Stored, append: _Open) -> None:
        number = len(append.records)
        packed = _APPEND.pack(_FORMAT, *append.place._replace(number=number))
        if (
            _header(message, APPEND_HEADER) != packed
            or message.offset != append.next_offset
            or (message.key is None) != (append.first.key is None)
            or encoding_of(message) != append.encoding
        ):
            read_place(message, self._topic)
            raise self._corrupt(
                message,
                f"not record {number} of the append at offset {append.first.offset}, which must"
                " follow",
            )

    def _finished(self, append: _Open) -> Batch:
        first, place, encoding, records = append
        batch = assemble_batch(
            first.offset, place.epoch, first.timestamp, records, is_control=first.key is not None
        )
        self._open = None
        self._next = batch.next_offset
        self.last = Last(place.epoch, self._next, encoding)
        return batch._replace(file=self._topic)

    def _corrupt(self, message: Stored, problem: str) -> CorruptLog:
        return CorruptLog(problem, file=self._topic, offset=message.offset)


def _record(message: Stored, append: _Open) -> RawRecord:
    value = message.value
    if append.encoding == "avro":
        schema = _header(message, SCHEMA_HEADER) or b""
        value = _frame_of_avro(schema, value or b"", is_control=message.key is not None)
    return RawRecord(0, 0, len(append.records), message.key, value, ())


def _frame_of_avro(schema: bytes, value: bytes, *, is_control: bool) -> bytes:
    """The same as in a file; what cannot be read is a value of the record that says so."""
    try:
        message, version = from_avro(schema, value)
        if isinstance(message, ControlMessage) != is_control:
            raise ValueError(f"{message.TYPE_NAME} where its key forbids it")
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
