"""A checkpoint is complete or refused; one that is written is complete."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metalog.errors import CorruptLog, CorruptSnapshot
from metalog.records import checkpoint
from metalog.records.batch import build_batch, decode_batch, encode_batch
from metalog.records.checkpoint import check_snapshot, encoded_snapshot, snapshot_batches
from metalog.records.messages import (
    KRaftVersionRecord,
    NoOpRecord,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    TopicRecord,
    UserScramCredentialRecord,
    VotersRecord,
)

HEADER, FOOTER = (SnapshotHeaderRecord(0, 77), 0), (SnapshotFooterRecord(), 0)
DATA = (TopicRecord("t", bytes(16)), 0)
VOTERS = [(KRaftVersionRecord(0, 1), 0), (VotersRecord(), 0)]


def written(messages, **more):
    times = {"timestamp": 1_000, "last_contained_timestamp": 77}
    return list(snapshot_batches(messages, epoch=4, **times, **more))


def batches_of(*groups, epochs=None):
    offset, made = 0, []
    for index, group in enumerate(groups):
        epoch = epochs[index] if epochs else 4
        made.append(build_batch(offset, epoch, 1_000, group))
        offset = made[-1].next_offset
    return made


def read(data: bytes):
    at = 0
    while at < len(data):
        batch = decode_batch(data, at, file="s")
        yield batch
        at += batch.size


def contents(batches):
    return [
        (entry.offset, entry.version, entry.message)
        for batch in check_snapshot(batches)
        for entry in batch.entries()
    ]


@given(st.integers(0, 30), st.integers(1, 7))
@settings(max_examples=30)
def test_what_is_written_is_whole(count, group):
    messages = [(TopicRecord(f"t{n}"), 0) for n in range(count)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoint, "RECORDS_PER_BATCH", group)
        made = written(messages)
    assert [m for _, _, m in contents(made)] == [m for m, _ in messages]
    assert made[0].messages() == [SnapshotHeaderRecord(0, 77)]
    assert made[-1].messages() == [SnapshotFooterRecord()]
    assert all(batch.record_count <= group for batch in made)


def test_a_batch_of_a_snapshot_has_a_bound_in_bytes_too():
    large = UserScramCredentialRecord("u", 1, b"s" * 400_000, b"", b"", 4096)
    made = written([(large, 0)] * 5)
    assert [batch.record_count for batch in made] == [1, 2, 2, 1, 1]


@settings(max_examples=50)
@given(sizes=st.lists(st.sampled_from((0, 1, 400, 300_000, 700_000, 1_100_000)), max_size=30))
def test_each_batch_takes_as_many_values_as_its_bounds_allow(sizes):
    values = [bytes(size) for size in sizes for _ in range(1 if size > 400 else 600)]
    batches = [*encoded_snapshot(values, epoch=1, timestamp=0, last_contained_timestamp=0)][1:-1]
    groups = [[record.value for record in batch.raw_records()] for batch in batches]
    assert [value for group in groups for value in group] == values
    for group, following in zip(groups, (*groups[1:], []), strict=False):
        size = sum(map(len, group))
        assert len(group) == 1 or (len(group) <= 1024 and size <= 1 << 20)
        assert not following or len(group) == 1024 or size + len(following[0]) > 1 << 20


def test_voters_stand_behind_the_header():
    made = written([DATA], control=VOTERS)
    assert [type(m) for m in made[0].messages()] == [
        SnapshotHeaderRecord,
        KRaftVersionRecord,
        VotersRecord,
    ]
    assert [m for _, _, m in contents(made)][-1] == DATA[0]


@pytest.mark.parametrize(
    ("batches", "problem"),
    [
        ([], "is empty"),
        (batches_of([DATA], [FOOTER]), "does not begin with a header"),
        (batches_of([FOOTER]), "does not begin with a header"),
        (batches_of([HEADER], [DATA]), "no footer"),
        (batches_of([HEADER]), "no footer"),
        (batches_of([HEADER], [FOOTER], [DATA]), "follow the footer"),
        (batches_of([HEADER], [FOOTER], [FOOTER]), "follow the footer"),
        (batches_of([HEADER, FOOTER, HEADER]), "a second header"),
        (batches_of([HEADER], [HEADER], [FOOTER]), "a second header"),
        (batches_of([HEADER], [FOOTER, VOTERS[0]]), "follow the footer"),
        (batches_of([HEADER], [DATA], [FOOTER], epochs=[4, 5, 4]), "epoch 5 in a snapshot"),
        (batches_of([HEADER], [DATA], [FOOTER])[::2], "offset 2 where 1 must follow"),
        (batches_of([DATA], [HEADER], [FOOTER])[1:], "offset 1 where 0 must follow"),
    ],
)
def test_a_snapshot_that_is_not_whole_is_refused(batches, problem):
    with pytest.raises(CorruptSnapshot, match=problem):
        contents(batches)


def test_no_flipped_bit_and_no_lost_byte_goes_unseen():
    whole = b"".join(map(encode_batch, written([DATA, (NoOpRecord(), 0)], control=VOTERS)))
    expected = contents(read(whole))
    for bit in range(8 * len(whole)):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(CorruptLog):
            contents(read(bytes(damaged)))
    for size in range(len(whole)):
        with pytest.raises(CorruptLog):
            contents(read(whole[:size]))
    assert contents(read(whole)) == expected
