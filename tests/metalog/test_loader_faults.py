"""What stops a loader, what it skips, and what stays in force."""

from __future__ import annotations

import pytest

from metalog.errors import CorruptLog, UnreadableRecord
from metalog.loader import Loader, Loading, Ready, Stale
from metalog.ports import Appended, HighWatermark
from metalog.records.batch import assemble_batch
from metalog.records.messages import (
    AccessControlEntryRecord,
    FenceBrokerRecord,
    RemoveAccessControlEntryRecord,
    TopicRecord,
    UserScramCredentialRecord,
)
from metalog.records.record import Header, RawRecord
from tests.support.disk.tiny_log import (
    ABORT,
    BEGIN,
    END,
    Recorder,
    ace,
    batch,
    ids,
    loaded,
    raw,
    uuid,
    values,
)


def test_a_fault_keeps_the_last_good_image_until_the_log_is_sound_again() -> None:
    loader = loaded(batch(0, ace(1)), mark=3)
    loader.handle(Appended(batch(1, ace(2), ace(3))))
    loader.handle(HighWatermark(5))
    with pytest.raises(CorruptLog) as fault:
        loader.handle(Appended(batch(3, ace(4), RemoveAccessControlEntryRecord(uuid(99)))))
    assert loader.state == Stale(4, fault.value)
    assert ids(loader.image) == {1, 2, 3}
    assert loader.position == 3
    loader.handle(Appended(batch(3, ace(4), RemoveAccessControlEntryRecord(uuid(1)))))
    assert loader.state == Ready(5)
    assert ids(loader.image) == {2, 3, 4}


def test_a_fault_in_the_first_load_never_makes_it_ready() -> None:
    loader = Loader()
    loader.handle(HighWatermark(2))
    loader.handle(Appended(batch(0, ace(1))))
    with pytest.raises(CorruptLog) as fault:
        loader.handle(Appended(batch(1, RemoveAccessControlEntryRecord(uuid(99)))))
    assert loader.state == Loading(0, 2, fault.value)
    assert len(loader.image.acls) == 0


def test_a_fault_of_whoever_reads_the_log_makes_it_stale_too() -> None:
    loader = loaded(batch(0, ace(1)), mark=1)
    gone = OSError("the disk is gone")
    loader.note_fault(gone)
    assert loader.state == Stale(1, gone)
    loader.handle(HighWatermark(1))
    assert loader.state == Ready(1)


def test_a_publisher_that_fails_is_shown_and_then_given_the_whole_image() -> None:
    failing, other = Recorder(), Recorder()
    loader = Loader([failing, other])
    loader.handle(HighWatermark(1))
    loader.handle(Appended(batch(0, ace(1))))
    failing.fails = True
    loader.handle(HighWatermark(2))
    loader.handle(Appended(batch(1, ace(2))))
    [fault] = loader.publisher_faults
    assert (fault.publisher, fault.offset, fault.times, fault.healed) == ("Recorder", 2, 1, False)
    assert other.offsets == [1, 2], "the others still get theirs"
    failing.fails = False
    loader.handle(HighWatermark(3))
    loader.handle(Appended(batch(2, ace(3))))
    delta, image, _ = failing.got[-1]
    assert delta.acls is not None
    assert delta.acls.is_replacement
    assert set(delta.acls.changes) == {uuid(1), uuid(2), uuid(3)}
    assert loader.publisher_faults[0].healed
    assert not other.got[-1][0].is_replacement
    assert image is other.got[-1][1]


# What it passes over


UNREADABLE = bytes((1, 18, 9))
OF_NO_CONCERN = [bytes((1, 0, 99)), bytes((1, 0xC8, 1, 0)), raw(FenceBrokerRecord(1, 1))]


@pytest.mark.parametrize("value", OF_NO_CONCERN)
def test_what_does_not_concern_authorization_is_counted_and_passed_over(value: bytes) -> None:
    loader = loaded(values(0, raw(ace(1)), value, value, raw(ace(2))), mark=4)
    assert ids(loader.image) == {1, 2}
    [skipped] = loader.skipped.values()
    assert (skipped.records, skipped.offset) == (2, 1)


@pytest.mark.parametrize("tolerant", [False, True])
@pytest.mark.parametrize("amid", [(), (raw(BEGIN),)], ids=["alone", "in a transaction"])
def test_a_readable_version_that_kafka_does_not_have_is_applied_where_nothing_depends_on_it(
    amid: tuple[bytes, ...], tolerant: bool
) -> None:
    """Kafka reads it as its newest version. Its later removals of ACLs must not be missed."""
    topic = bytes((1, TopicRecord.API_KEY, 9)) + raw(TopicRecord("t", uuid(8)))[3:]
    removal = raw(RemoveAccessControlEntryRecord(uuid(1)))
    log = values(0, raw(ace(1)), *amid, topic, removal, *amid and (raw(END),))
    loader = loaded(log, mark=log.next_offset, tolerant=tolerant)
    assert ids(loader.image) == set()
    assert set(loader.image.topics.by_id) == {uuid(8)}
    assert (loader.skipped, loader.doubts) == ({}, {})


def test_only_a_record_that_will_be_a_doubt_makes_an_open_transaction_uncertain() -> None:
    topic = bytes((1, TopicRecord.API_KEY, 9)) + raw(TopicRecord("t", uuid(8)))[3:]
    acl = bytes((1, AccessControlEntryRecord.API_KEY, 9)) + raw(ace(2))[3:]
    log = values(0, raw(BEGIN), topic, acl)
    transaction = loaded(log, mark=3, tolerant=True).open_transaction
    assert transaction is not None
    assert (transaction.records, list(transaction.unreadable)) == (2, [2])


@pytest.mark.parametrize("tolerant", [False, True])
def test_a_readable_version_of_an_acl_that_kafka_does_not_have_is_a_doubt(tolerant: bool) -> None:
    log = values(0, raw(ace(1)), bytes((1, 18, 9)) + raw(ace(2))[3:])
    if not tolerant:
        with pytest.raises(UnreadableRecord, match="has no version 9"):
            loaded(log, mark=2)
        return
    loader = loaded(log, mark=2, tolerant=True)
    assert ids(loader.image) == {1, 2}
    assert [doubt.offset for doubt in loader.doubts.values()] == [1]


@pytest.mark.parametrize("key", [18, 19, 11, 22, 10, 26, 23, 24, 25])
def test_what_concerns_authorization_stops_a_strict_loader(key: int) -> None:
    with pytest.raises(UnreadableRecord) as stopped:
        loaded(values(0, raw(ace(1)), bytes((1, key, 9))), mark=2)
    assert stopped.value.offset == 1
    tolerant = loaded(values(0, raw(ace(1)), bytes((1, key, 9))), mark=2, tolerant=True)
    assert ids(tolerant.image) == {1}
    assert [skipped.records for skipped in tolerant.skipped.values()] == [1]


@pytest.mark.parametrize(
    "value", [bytes((1, 23, 9)), bytes((1, 24, 9, 0)), bytes((1, 25)), b"\x07"]
)
def test_what_may_end_a_transaction_is_not_kept_waiting_for_its_end(value: bytes) -> None:
    begun = values(0, raw(ace(1)), raw(BEGIN), raw(ace(2)))
    with pytest.raises(UnreadableRecord) as stopped:
        loaded(begun, values(3, raw(ace(3)), value), mark=5)
    assert stopped.value.offset == 4
    tolerant = loaded(begun, values(3, raw(ace(3)), value), mark=5, tolerant=True)
    assert [skipped.offset for skipped in tolerant.skipped.values()] == [4]


@pytest.mark.parametrize("end", [(), (raw(END),), (raw(ABORT),)], ids=["open", "ended", "aborted"])
@pytest.mark.parametrize("value", [bytes((1, 99, 0, 0)), bytes((1, 18, 9))], ids=["type", "ACL"])
def test_what_cannot_be_read_is_counted_once_in_a_transaction(
    value: bytes, end: tuple[bytes, ...]
) -> None:
    """Kafka refuses to read on, whether or not the transaction commits."""
    log = values(0, raw(ace(1)), raw(BEGIN), raw(ace(2)), value, *end)
    loader = loaded(log, mark=4 + len(end), tolerant=True)
    [skipped] = loader.skipped.values()
    assert (skipped.records, skipped.offset) == (1, 3)
    is_ended = end == (raw(END),)
    assert len(loader.doubts) == (is_ended and value[1] == AccessControlEntryRecord.API_KEY)


REFUSED = {
    "a key": RawRecord(0, 0, 3, b"k", raw(ace(3)), ()),
    "a header": RawRecord(0, 0, 3, None, raw(ace(3)), (Header("h", b"v"),)),
    "a later time": RawRecord(0, 1, 3, None, raw(ace(3)), ()),
}


@pytest.mark.parametrize(
    ("end", "shown"),
    [((), {1}), ((raw(END),), {1, 2, 3}), ((raw(ABORT),), {1})],
    ids=["open", "ended", "aborted"],
)
@pytest.mark.parametrize("record", REFUSED.values(), ids=REFUSED)
def test_what_kafka_refuses_stops_replay_in_a_transaction_and_waits_for_its_end(
    record: RawRecord, end: tuple[bytes, ...], shown: set[int]
) -> None:
    plain = values(0, raw(ace(1)), raw(BEGIN), raw(ace(2)), b"", *end)
    records = [record if at == 3 else each for at, each in enumerate(plain.raw_records())]
    log = assemble_batch(0, 1, 1000, records)
    with pytest.raises(UnreadableRecord) as stopped:
        loaded(log, mark=log.next_offset)
    assert stopped.value.offset == 3
    tolerant = loaded(log, mark=log.next_offset, tolerant=True)
    assert ids(tolerant.image) == shown
    [doubt] = tolerant.doubts.values()
    assert (doubt.records, doubt.offset) == (1, 3)


@pytest.mark.parametrize("value", [b"", b"\x02\x12\x00", b"\xff"])
def test_what_cannot_be_told_stops_a_strict_loader(value: bytes) -> None:
    with pytest.raises(UnreadableRecord):
        loaded(values(0, raw(ace(1)), value), mark=2)


RIGHTLY = raw(ace(1, "a\ufffdb"))
WRONGLY = RIGHTLY.replace("\ufffd".encode(), b"\xff\xfe\xfd")
USER = raw(UserScramCredentialRecord("a\ufffdb", 1, b"s", b"k", b"v", 4096))


def test_a_replacement_character_that_was_written_is_text_like_any_other() -> None:
    loader = loaded(values(0, RIGHTLY, USER), mark=2)
    assert ids(loader.image) == {1}
    assert not loader.doubts


@pytest.mark.parametrize("value", [WRONGLY, USER.replace("\ufffd".encode(), b"\xff\xfe\xfd")])
def test_bytes_that_are_no_text_stop_a_strict_loader(value: bytes) -> None:
    with pytest.raises(UnreadableRecord, match="not UTF-8") as stopped:
        loaded(values(0, RIGHTLY, value), mark=2)
    assert stopped.value.offset == 1
    tolerant = loaded(values(0, RIGHTLY, value), mark=2, tolerant=True)
    [doubt] = tolerant.doubts.values()
    assert (doubt.records, doubt.offset) == (1, 1)
    assert not tolerant.skipped


def test_doubts_in_a_transaction_are_judged_where_it_ends() -> None:
    begin, end, abort = raw(BEGIN), raw(END), raw(ABORT)
    assert ids(loaded(values(0, begin, WRONGLY, abort, raw(ace(2))), mark=4).image) == {2}
    for batches in (
        [values(0, begin, WRONGLY, end)],
        [values(0, begin), values(1, WRONGLY), values(2, end)],
    ):
        with pytest.raises(UnreadableRecord) as stopped:
            loaded(*batches, mark=3)
        assert stopped.value.offset == 1


def test_a_fault_names_file_offset_and_byte() -> None:
    placed = values(0, UNREADABLE)._replace(file="some.log", position=77)
    with pytest.raises(CorruptLog, match=r"some\.log, offset 0, byte 77: "):
        loaded(placed, mark=1)
