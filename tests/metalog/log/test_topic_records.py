"""A metadata log as a topic's messages: the written log is read back, and anything else is
refused."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

import pytest

from metalog.errors import CorruptLog
from metalog.log.topic.records import (
    APPEND_HEADER,
    ENCODINGS,
    SCHEMA_HEADER,
    Assembler,
    Encoding,
    LastAppend,
    Outgoing,
    Stored,
    outgoing,
)
from metalog.ports import Appended, Gap, LogEvent
from metalog.records.batch import Batch
from metalog.records.frame import Undecodable
from tests.support.disk.tiny_log import ace, batch, leader_change, raw

LOG = (leader_change(0, 1), batch(2, ace(1), ace(2)), batch(5, ace(3)))
"""As in a topic: each append is followed by its transaction's marker."""
AFTER_9 = struct.pack(">Biqii", 1, 1, 9, 0, 1)


def stored(batches: Iterable[Batch], encoding: Encoding = "kraft") -> list[Stored]:
    messages, follows = [], 0
    for each in batches:
        for offset, (key, value, headers) in enumerate(
            outgoing(each, encoding, follows), each.base_offset
        ):
            messages.append(Stored(offset, each.base_timestamp, key, value, headers))
        follows = each.next_offset
    return messages


def assembled(messages: Sequence[Stored], start: int = 0, end: int = 7) -> list[LogEvent]:
    assembler = Assembler("topic", start)
    events = [event for message in messages for event in assembler.add(message)]
    return [*events, *assembler.reach(end)]


def batches_of(events: Iterable[LogEvent]) -> list[Batch]:
    return [event.batch for event in events if isinstance(event, Appended)]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_what_was_written_is_read_with_markers_as_gaps(encoding: Encoding) -> None:
    events = assembled(stored(LOG, encoding))
    assert [each._replace(file=None) for each in batches_of(events)] == list(LOG)
    assert [event for event in events if isinstance(event, Gap)] == [
        Gap(1, 2, lost=False),
        Gap(4, 5, lost=False),
        Gap(6, 7, lost=False),
    ]


def test_an_append_that_is_read_again_from_its_beginning_is_whole() -> None:
    messages = stored(LOG)
    assembler = Assembler("topic", 0)
    events = [event for message in messages[:2] for event in assembler.add(message)]
    assembler.drop_incomplete()
    again = [message for message in messages if message.offset >= assembler.position]
    events += [event for message in again for event in assembler.add(message)]
    assert [each._replace(file=None) for each in batches_of(events)] == list(LOG)


def test_a_log_without_messages_is_one_gap() -> None:
    assert assembled([], end=9) == [Gap(0, 9, lost=False)]
    assert assembled([], end=0) == []


def test_what_was_deleted_is_a_gap_that_lost_something() -> None:
    messages = [message for message in stored(LOG) if message.offset not in (2, 3)]
    assert Gap(1, 5, lost=True) in assembled(messages)
    assert Gap(0, 5, lost=True) in assembled(messages[1:])
    assert Gap(4, 5, lost=False) in assembled(messages[1:], start=4)


def test_a_gap_before_an_append_that_is_read_again_is_one_gap() -> None:
    messages = stored(LOG)[1:]
    assembler = Assembler("topic", 0)
    assert list(assembler.add(messages[0])) == [Gap(0, 2, lost=True)]
    assembler.drop_incomplete()
    assert assembler.position == 2
    again = [event for message in messages for event in assembler.add(message)]
    assert [event for event in again if isinstance(event, Gap)] == [Gap(4, 5, lost=False)]
    assert len(batches_of(again)) == 2


@pytest.mark.parametrize(
    ("offset", "change", "problem"),
    [
        (2, {"headers": ()}, "a message without the header metalog.append"),
        (2, {"headers": [(APPEND_HEADER, b"\2")]}, "the header metalog.append has an unknown"),
        (2, {"headers": [(APPEND_HEADER, AFTER_9)]}, "is impossible: .* after offset 9"),
        (3, {"offset": 4}, "expected record 1 of the append at offset 2"),
        (3, {"key": b"\0\0\0\2"}, "expected record 1 of the append at offset 2"),
    ],
)
def test_a_message_that_does_not_belong_is_named(
    offset: int, change: dict[str, object], problem: str
) -> None:
    messages = [m._replace(**change) if m.offset == offset else m for m in stored(LOG)]
    with pytest.raises(CorruptLog, match=problem) as caught:
        assembled(messages)
    assert caught.value.offset == change.get("offset", offset)
    assert caught.value.file == "topic"


def mixed(encoding: Encoding, at: Batch, follows: int) -> list[Stored]:
    return [
        Stored(at.base_offset + number, at.base_timestamp, key, value, headers)
        for number, (key, value, headers) in enumerate(outgoing(at, encoding, follows))
    ]


@pytest.mark.parametrize(
    ("encoding", "at", "follows", "problem"),
    [
        ("avro", batch(5, ace(3)), 4, "a value in avro after values in kraft"),
        ("kraft", batch(5, ace(3), epoch=0), 4, "the epoch falls from 1 to 0"),
        ("kraft", batch(5, ace(3), epoch=2), 4, "from 1 to 2 without a leader change"),
        ("kraft", batch(5, ace(3)), 1, "knew the log only up to offset 1, not 4"),
    ],
)
def test_an_append_that_cannot_follow_is_named(
    encoding: Encoding, at: Batch, follows: int, problem: str
) -> None:
    with pytest.raises(CorruptLog, match=problem) as caught:
        assembled([*stored(LOG[:2]), *mixed(encoding, at, follows)])
    assert caught.value.offset == 5


def test_an_append_that_is_cut_short_is_named() -> None:
    with pytest.raises(CorruptLog, match="only 1 of an append's 2 records"):
        assembled(stored(LOG[:2])[:2], end=5)
    with pytest.raises(CorruptLog, match="an append begins with its record 1"):
        assembled(stored(LOG)[2:], start=3)


def test_a_part_of_a_log_has_the_appends_that_begin_in_it() -> None:
    assembler = Assembler("topic", 3, is_part=True)
    events = [event for message in stored(LOG)[2:] for event in assembler.add(message)]
    assert [each.base_offset for each in batches_of(events)] == [5]


def test_avro_that_cannot_be_read_is_a_record_that_cannot_be_read() -> None:
    [message] = mixed("avro", batch(0, ace(3)), 0)
    headers = [(name, bytes(8) if name == SCHEMA_HEADER else v) for name, v in message.headers]
    [found] = batches_of(assembled([message._replace(headers=headers)], end=1))
    [undecodable] = found.messages()
    assert isinstance(undecodable, Undecodable)
    assert undecodable.reason == "the Avro schema 0000000000000000 is unknown"


def test_a_reader_that_knows_the_append_before_goes_on_behind_it() -> None:
    assembler = Assembler("topic", 5, LastAppend(1, 4, "kraft"))
    assert batches_of(assembler.add(stored(LOG)[-1]))


def test_no_repr_shows_a_value() -> None:
    for shown in (*stored(LOG), Outgoing(None, raw(ace(1)), [])):
        assert "User:a" not in repr(shown)
