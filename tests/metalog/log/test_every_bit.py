"""No flipped bit and no cut loses or changes a record silently.

Tests every bit of a log of about 20 KB and of a snapshot, and every length of a cut snapshot: the
reader refuses the file, or returns the same records. For a flip in batch k of a log, the reader
starts at batch k with the state after the batches before it, since those bytes are always the
same.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metalog.errors import CorruptLog
from metalog.log.continuity import NO_EPOCHS, Continuity
from metalog.log.epochs import LeaderEpochs
from metalog.log.folder.layout import parse_leader_epochs
from metalog.log.folder.segment import SegmentReader
from metalog.records.batch import Batch, assemble_batch, encode_batch
from metalog.records.checkpoint import check_snapshot
from metalog.records.record import RawRecord
from tests.support.disk.memory_disk import MemoryReadable
from tests.support.kafka.cases import KafkaCase, kafka_case

pytestmark = pytest.mark.once
SECTOR = 512


def _epochs(case: KafkaCase) -> LeaderEpochs:
    path = case.metadata_dir / "leader-epoch-checkpoint"
    return parse_leader_epochs(path.read_bytes(), str(path))


def _batches(data: bytes, continuity: Continuity) -> list[Batch]:
    return list(SegmentReader(MemoryReadable(data), "log", continuity, may_be_torn=True))


def _facts(batches: list[Batch]) -> list[tuple[object, ...]]:
    return [
        (batch.base_offset, batch.last_offset, batch.epoch, batch.attributes, batch.data)
        for batch in batches
    ]


@pytest.mark.parametrize("with_checkpoint", [True, False])
def test_every_bit_of_a_log(with_checkpoint: bool, figure: Callable[[str, int], None]) -> None:
    case = kafka_case("quorum-4.3/node-11")
    epochs = _epochs(case) if with_checkpoint else NO_EPOCHS
    log = (case.metadata_dir / "00000000000000000000.log").read_bytes()
    whole = _batches(log, Continuity(0, None, epochs))
    assert len(log) > 19_000
    before = (0, None)
    silent = []
    for number, batch in enumerate(whole):
        tail = bytearray(log[batch.position :])
        for bit in range(batch.size * 8):
            tail[bit >> 3] ^= 1 << (bit & 7)
            try:
                read = _batches(tail, Continuity(*before, epochs))
            except CorruptLog:
                pass
            else:
                if _facts(read) != _facts(whole[number:]):
                    silent.append((batch.position, bit))
            tail[bit >> 3] ^= 1 << (bit & 7)
        before = (batch.next_offset, batch.epoch)
    figure("damages", len(log) * 8)
    figure("damages-unnoticed", len(silent))
    assert silent == []


def test_every_cut_of_a_log_leaves_out_one_torn_batch_only(
    figure: Callable[[str, int], None],
) -> None:
    case = kafka_case("quorum-4.3/node-11")
    log = (case.metadata_dir / "00000000000000000000.log").read_bytes()
    whole = _batches(log, Continuity(0))
    ends = [0, *(batch.position + batch.size for batch in whole)]
    epochs: tuple[int | None, ...] = (None, *(batch.epoch for batch in whole))
    for place, (start, end) in enumerate(pairwise(ends)):
        for cut in range(start, end):
            file = MemoryReadable(log[start:cut])
            next_offset = whole[place].base_offset
            reader = SegmentReader(
                file, "log", Continuity(next_offset, epochs[place]), may_be_torn=True
            )
            assert list(reader) == []
            if cut == start:
                assert reader.torn_tail is None
            else:
                assert reader.torn_tail is not None
                assert reader.torn_tail[1:] == (0, cut - start, next_offset)
    figure("damages", len(log))


@pytest.fixture
def snapshot() -> bytes:
    case = kafka_case("trimmed-4.3")
    path: Path = case.metadata_dir / "00000000000000000723-0000000001.checkpoint"
    return path.read_bytes()


def _snapshot_facts(data: bytes | bytearray) -> list[tuple[object, ...]]:
    reader = SegmentReader(MemoryReadable(data), "checkpoint", Continuity(0))
    return _facts(list(check_snapshot(reader)))


def test_every_bit_of_a_snapshot(snapshot: bytes, figure: Callable[[str, int], None]) -> None:
    whole = _snapshot_facts(snapshot)
    damaged = bytearray(snapshot)
    silent = []
    for bit in range(len(snapshot) * 8):
        damaged[bit >> 3] ^= 1 << (bit & 7)
        try:
            if _snapshot_facts(damaged) != whole:
                silent.append(bit)
        except CorruptLog:
            pass
        damaged[bit >> 3] ^= 1 << (bit & 7)
    figure("damages", len(snapshot) * 8)
    figure("damages-unnoticed", len(silent))
    assert silent == []


def test_every_cut_of_a_snapshot(snapshot: bytes, figure: Callable[[str, int], None]) -> None:
    for cut in range(len(snapshot)):
        with pytest.raises(CorruptLog):
            _snapshot_facts(snapshot[:cut])
    figure("damages", len(snapshot))


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_any_damage_leaves_a_prefix_of_the_records(data: st.DataObject) -> None:
    case = kafka_case("quorum-4.3/node-11")
    log = (case.metadata_dir / "00000000000000000000.log").read_bytes()
    whole = _facts(_batches(log, Continuity(0)))
    start = data.draw(st.integers(0, len(log)))
    end = data.draw(st.integers(start, min(start + 200, len(log))) | st.just(len(log)))
    patch = data.draw(
        st.binary(max_size=40) | st.integers(0, 300).map(bytes) | st.just(log[start - 100 : start])
    )
    read = []
    reader = SegmentReader(
        MemoryReadable(log[:start] + patch + log[end:]), "log", Continuity(0), may_be_torn=True
    )
    with suppress(CorruptLog):
        read.extend(reader)
    assert _facts(read) == whole[: len(read)]


ZEROS = 20, 600
"""Zeros at a batch's end: less than a sector, a sector, and more."""


@pytest.mark.parametrize("zeros", ZEROS)
@pytest.mark.parametrize("padding", [0, 4096])
def test_every_bit_of_a_last_batch_that_ends_in_zeros(
    zeros: int, padding: int, figure: Callable[[str, int], None]
) -> None:
    """A written sector of zeros at the end of a file, or in a file that was made longer."""
    first = _batch_of(0, b"x" * (SECTOR - 61 - 70 - 30))
    last = _batch_of(1, b"y" * 20 + bytes(zeros))
    log = first + last + bytes(padding)
    whole = _batches(log, Continuity(0))
    assert len(whole) == 2
    assert len(first) + len(last) - zeros <= SECTOR <= len(first) + len(last) - 16
    silent = []
    damaged = bytearray(log)
    bits = range(len(first) * 8, (len(first) + len(last)) * 8)
    for bit in bits:
        damaged[bit >> 3] ^= 1 << (bit & 7)
        with suppress(CorruptLog):
            if _facts(_batches(damaged, Continuity(0))) != _facts(whole):
                silent.append(bit)
        damaged[bit >> 3] ^= 1 << (bit & 7)
    figure("damages", len(bits))
    figure("damages-unnoticed", len(silent))
    assert silent == []


@pytest.mark.parametrize("padding", [0, 4096])
def test_every_cut_of_a_last_batch_that_ends_in_zeros(
    padding: int, figure: Callable[[str, int], None]
) -> None:
    """Cut, and filled with zeros up to its size: a torn tail or damage, never silent."""
    first, last = _batch_of(0, b"x" * 351), _batch_of(1, b"y" * 20 + bytes(600))
    for cut in range(1, len(last) - 601):
        for tail in (last[:cut], last[:cut] + bytes(len(last) - cut + padding)):
            file = MemoryReadable(first + tail)
            reader = SegmentReader(file, "log", Continuity(0), may_be_torn=True)
            with suppress(CorruptLog):
                assert len(list(reader)) == 1
                assert reader.torn_tail is not None
            figure("damages", 1)


def _batch_of(offset: int, value: bytes) -> bytes:
    return encode_batch(assemble_batch(offset, 1, 0, [RawRecord(0, 0, 0, None, value, ())]))
