"""A file is read in blocks, whatever the sizes of its batches, and never kept whole."""

from __future__ import annotations

import pytest

from metalog.errors import CorruptLog
from metalog.log.continuity import Continuity
from metalog.log.folder import segment
from metalog.log.folder.layout import segment_name
from metalog.log.folder.segment import BLOCK_SIZE, SegmentReader, TornTail
from metalog.records.batch import (
    HEADER_SIZE,
    LENGTH_END,
    MAX_BATCH_SIZE,
    Batch,
    assemble_batch,
    decode_batch,
    encode_batch,
)
from metalog.records.record import RawRecord
from tests.support.disk.memory_disk import MemoryReadable
from tests.support.kafka.cases import kafka_case


class Watched(MemoryReadable):
    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.sizes: list[int] = []

    def read_at(self, position: int, size: int) -> bytes:
        self.sizes.append(size)
        return super().read_at(position, size)


def batch(offset: int, size: int) -> bytes:
    record = RawRecord(0, 0, 0, None, b"x" * size, ())
    return encode_batch(assemble_batch(offset, 1, 1000, [record]))


def read(file: MemoryReadable) -> list[Batch]:
    return list(SegmentReader(file, "log", Continuity(0)))


@pytest.mark.parametrize("block", [1, 12, 61, 100, 1000, 5000])
def test_batches_may_lie_across_blocks(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    path = kafka_case("quorum-4.3/node-11").metadata_dir / segment_name(0)
    file = MemoryReadable(path.read_bytes())
    whole = read(file)
    monkeypatch.setattr(segment, "BLOCK_SIZE", block)
    assert read(file) == whole


def test_a_large_file_is_read_once_and_in_blocks() -> None:
    count = 5 * BLOCK_SIZE // 50_000
    file = Watched(b"".join(batch(offset, 50_000) for offset in range(count)))
    assert len(read(file)) == count
    assert max(file.sizes) == BLOCK_SIZE
    assert sum(file.sizes) < file.size() * 1.1


def test_a_batch_may_be_larger_than_a_block() -> None:
    file = Watched(batch(0, 10) + batch(1, 2 * BLOCK_SIZE) + batch(2, 10))
    assert [each.base_offset for each in read(file)] == [0, 1, 2]


def test_a_length_that_is_damaged_does_not_fill_the_memory() -> None:
    data = bytearray(batch(0, 10) + bytes(3 * BLOCK_SIZE))
    data[8] ^= 0x10
    file = Watched(data)
    with pytest.raises(CorruptLog):
        read(file)
    assert max(file.sizes) <= max(BLOCK_SIZE, len(data))


def test_reading_is_lazy() -> None:
    file = Watched(batch(0, 10) + batch(1, 2 * BLOCK_SIZE))
    assert next(iter(SegmentReader(file, "log", Continuity(0)))).base_offset == 0
    assert file.sizes == [BLOCK_SIZE]


def test_a_reader_goes_on_where_the_file_has_grown() -> None:
    data = bytearray(batch(0, 10))
    reader = SegmentReader(MemoryReadable(data), "log", Continuity(0), may_be_torn=True)
    assert [each.base_offset for each in reader] == [0]
    data += batch(1, 10)[:50]
    assert list(reader) == []
    assert reader.torn_tail is not None
    data += batch(1, 10)[50:]
    assert [each.base_offset for each in reader] == [1]
    assert reader.torn_tail is None


@pytest.mark.parametrize("behind", [b"", bytes(700)])
def test_zeros_are_a_torn_tail_only_to_the_end_of_the_file(
    monkeypatch: pytest.MonkeyPatch, behind: bytes
) -> None:
    monkeypatch.setattr(segment, "MAX_BATCH_SIZE", 300)
    monkeypatch.setattr(segment, "BLOCK_SIZE", 200)
    whole = batch(0, 100)
    torn = SegmentReader(
        MemoryReadable(whole + bytes(1000)), "a.log", Continuity(0), may_be_torn=True
    )
    assert len(list(torn)) == 1
    assert torn.torn_tail is not None
    assert torn.torn_tail.size == 1000
    hidden = whole + bytes(1000) + batch(1, 100) + behind
    with pytest.raises(CorruptLog, match="follow 300 bytes of zeros"):
        list(SegmentReader(MemoryReadable(hidden), "a.log", Continuity(0), may_be_torn=True))


@pytest.mark.parametrize(
    ("hole", "is_torn"),
    [
        (slice(512, 1024), True),
        (slice(1024, 4000), True),
        (slice(512, 1000), False),
        (slice(600, 1112), False),
    ],
    ids=["a sector", "all from a sector on", "less than one", "not where one is"],
)
def test_sectors_that_never_came_to_the_disk_are_a_torn_tail(hole: slice, is_torn: bool) -> None:
    """After a power cut a file may have its full length, with zeros."""
    whole = batch(0, 100)
    torn = bytearray(whole + batch(1, 3000))
    torn[hole] = bytes(len(torn[hole]))
    reader = SegmentReader(MemoryReadable(torn), "a.log", Continuity(0), may_be_torn=True)
    if is_torn:
        assert len(list(reader)) == 1
        assert reader.torn_tail is not None
        assert reader.torn_tail[1:] == (len(whole), len(torn) - len(whole), 1)
    else:
        with pytest.raises(CorruptLog):
            list(reader)
    followed = torn + batch(2, 10)
    with pytest.raises(CorruptLog):
        list(SegmentReader(MemoryReadable(followed), "a.log", Continuity(0), may_be_torn=True))


_LENGTH = slice(8, 12)


def _torn_size(data: bytes) -> int:
    """How many bytes are left out as a torn tail; 0 if the file is whole."""
    reader = SegmentReader(MemoryReadable(data), "a.log", Continuity(0), may_be_torn=True)
    list(reader)
    return reader.torn_tail.size if reader.torn_tail else 0


def _with_length(data: bytes, at: int, length: int) -> bytes:
    return data[: at + 8] + length.to_bytes(4) + data[at + 12 :]


@pytest.mark.parametrize("followers", [0, 1, 2])
@pytest.mark.parametrize("bit", range(31))
def test_no_bit_of_a_length_makes_a_whole_batch_a_torn_one(bit: int, followers: int) -> None:
    before, last = batch(0, 50), batch(1, 100)
    behind = b"".join(batch(2 + number, 100) for number in range(followers))
    length = int.from_bytes(last[_LENGTH]) ^ 1 << bit
    data = _with_length(before + last + behind, len(before), length)
    with pytest.raises(CorruptLog) as error:
        _torn_size(data)
    assert (error.value.byte, error.value.offset) == (len(before), 1)
    if LENGTH_END + length > len(data) - len(before) and LENGTH_END + length <= MAX_BATCH_SIZE:
        assert f"a length of {LENGTH_END + length} bytes is wrong" in str(error.value)


@pytest.mark.parametrize("length", [1 << 16, (1 << 20) - 7, 123_456])
@pytest.mark.parametrize("first", [0, 1, (1 << 40) + 5])
def test_a_wrong_length_does_not_hide_the_batches_behind_it(first: int, length: int) -> None:
    """Even where the batch holds the next batch's offset itself, as data."""
    record = RawRecord(0, 0, 0, None, b"-" * 9 + (first + 2).to_bytes(8) * 3 + b"-" * 9, ())
    one, two = (assemble_batch(first + each, 1, 1000, [record]) for each in range(2))
    three = assemble_batch(first + 2, 1, 1000, [record, record._replace(offset_delta=1)])
    behind = encode_batch(assemble_batch(first + 4, 1, 1000, [record]))
    start = encode_batch(one)
    data = b"".join((start, encode_batch(two), encode_batch(three), behind))
    damaged = MemoryReadable(_with_length(data, len(start), length))
    with pytest.raises(CorruptLog, match="is wrong: a complete batch begins here") as error:
        list(SegmentReader(damaged, "a.log", Continuity(first), may_be_torn=True))
    assert (error.value.byte, error.value.offset) == (len(start), first + 1)


def test_a_batch_that_was_cut_is_a_torn_tail_wherever_it_was_cut() -> None:
    before, last = batch(0, 50), batch(1, 100)
    for size in range(1, len(last)):
        assert _torn_size(before + last[:size]) == size
    assert _torn_size(before + last) == 0


def test_a_torn_tail_says_where_it_is_and_how_long() -> None:
    said = "byte 5: skipped 7 bytes of an incomplete or damaged last batch"
    assert str(TornTail("a.log", 5, 7, 9)) == f"a.log, offset 9, {said}"
    assert str(TornTail("a.log", 5, 7, None)) == f"a.log, {said}"


def _ended_at_a_sector(before: bytes, offset: int) -> bytes:
    """A batch that ends where a sector of the file ends."""
    size = -len(before + batch(offset, 400)) % 512
    return next(
        whole
        for more in range(size - 4, size + 1)
        if not len(before + (whole := batch(offset, 400 + more))) % 512
    )


@pytest.mark.parametrize("zeros", [16, 17, 600])
def test_zeros_behind_a_sector_do_not_hide_a_whole_batch_with_a_wrong_length(zeros: int) -> None:
    """The file was as long as its sectors before the last batch was written."""
    before = batch(0, 50)
    whole = _ended_at_a_sector(before, 1)
    data = _with_length(before + whole + bytes(zeros), len(before), len(whole) + 77_777)
    with pytest.raises(CorruptLog, match="is wrong: a complete batch begins here"):
        _torn_size(data)


@pytest.mark.parametrize("bit", [*range(6, 20), 30])
def test_one_wrong_bit_of_a_length_is_found_before_a_torn_batch(bit: int) -> None:
    before, last = batch(0, 50), batch(1, 100)
    length = int.from_bytes(last[_LENGTH]) ^ 1 << bit
    data = _with_length(before + last + batch(2, 10)[:5], len(before), length)
    with pytest.raises(CorruptLog) as error:
        _torn_size(data)
    assert (error.value.byte, error.value.offset) == (len(before), 1)


@pytest.mark.parametrize("records", [1, 3])
def test_the_next_batch_shows_where_the_first_of_a_file_ends(records: int) -> None:
    plain = [RawRecord(0, 0, number, None, b"-" * 40, ()) for number in range(records)]
    first = encode_batch(assemble_batch(0, 1, 1000, plain))
    data = _with_length(first + batch(records, 10) + batch(records + 1, 10), 0, 123_456)
    with pytest.raises(CorruptLog, match="is wrong: a complete batch begins here"):
        _torn_size(data)


def test_a_next_offset_in_many_places_costs_a_bounded_number_of_guesses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried: list[int] = []

    def counted(data: bytes, *rest: object, **words: object) -> Batch:
        tried.append(len(data))
        return decode_batch(data, *rest, **words)  # type: ignore[arg-type]

    record = RawRecord(0, 0, 0, None, (1).to_bytes(8) * 2000, ())
    whole = encode_batch(assemble_batch(0, 1, 1000, [record]))
    monkeypatch.setattr(segment, "decode_batch", counted)
    assert _torn_size(_with_length(whole[:-3], 0, 70_000)) == len(whole) - 3
    assert 0 < len(tried) < 60


def test_zeros_of_a_record_with_a_flipped_bit_are_not_a_hole() -> None:
    record = RawRecord(0, 0, 0, None, bytes(3000), ())
    whole = encode_batch(assemble_batch(0, 1, 1000, [record]))
    assert _torn_size(whole) == 0
    for at in (20, 30, 100, 2999):
        flipped = bytearray(whole)
        flipped[at] ^= 4
        with pytest.raises(CorruptLog):
            _torn_size(bytes(flipped))


def test_other_equal_bytes_of_a_damaged_record_are_not_a_hole() -> None:
    record = RawRecord(0, 0, 0, None, b"X" * 3000, ())
    damaged = bytearray(encode_batch(assemble_batch(0, 1, 1000, [record])))
    damaged[100:103] = b"abc"
    with pytest.raises(CorruptLog):
        _torn_size(bytes(damaged))


def test_a_hole_in_a_batch_of_another_offset_is_damage() -> None:
    before, last = batch(0, 100), bytearray(batch(5, 3000))
    last[1024:2048] = bytes(1024)
    with pytest.raises(CorruptLog) as error:
        _torn_size(before + last)
    assert (error.value.byte, error.value.offset) == (len(before), 1)


@pytest.mark.parametrize("garbage", [b"X" * 40, b"X" * 600, b"\0X" * 300])
def test_other_bytes_than_zeros_are_damage(garbage: bytes) -> None:
    with pytest.raises(CorruptLog, match="take the file from another copy; metalog export --sal"):
        _torn_size(batch(0, 50) + garbage)
    with pytest.raises(CorruptLog, match="this is not a file of a metadata log, or its beginning"):
        _torn_size(garbage)


def test_the_zeros_behind_the_largest_batch_end_where_the_file_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(segment, "MAX_BATCH_SIZE", 300)
    monkeypatch.setattr(segment, "BLOCK_SIZE", 200)

    class Growing(MemoryReadable):
        def size(self) -> int:
            return len(whole) + 1000

    whole = batch(0, 100)
    grown = Growing(whole + bytes(1000) + b"more")
    reader = SegmentReader(grown, "a.log", Continuity(0), may_be_torn=True)
    assert reader.torn_tail is None
    assert len(list(reader)) == 1
    assert reader.torn_tail == TornTail("a.log", len(whole), 1000, 1)
    with pytest.raises(CorruptLog, match="follow 300 bytes of zeros"):
        _torn_size(whole + bytes(700) + b"XXX")


@pytest.mark.parametrize("size", [HEADER_SIZE, MAX_BATCH_SIZE])
def test_a_torn_batch_may_have_any_length_that_a_batch_has(size: int) -> None:
    before = batch(0, 50)
    torn = batch(1, 100)[:40]
    data = _with_length(before + torn, len(before), size - LENGTH_END)
    assert _torn_size(data) == 40
    for impossible in (HEADER_SIZE - 1, MAX_BATCH_SIZE + 1):
        with pytest.raises(CorruptLog, match=f"a batch cannot be {impossible} bytes long"):
            _torn_size(_with_length(data, len(before), impossible - LENGTH_END))
