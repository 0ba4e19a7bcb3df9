"""A batch is found by the lengths of those before it, and frames are what the lengths say."""

from __future__ import annotations

import pytest

from metalog.log.folder.segment import find_batch, whole_batches
from metalog.records.batch import HEADER_SIZE, LENGTH_END, assemble_batch, encode_batch
from metalog.records.record import RawRecord
from tests.support.disk.memory_disk import MemoryReadable

FIRST = 700
COUNTS = (3, 1, 4, 2)


def batch(base_offset: int, records: int) -> bytes:
    plain = [RawRecord(0, 0, number, None, b"value", ()) for number in range(records)]
    return encode_batch(assemble_batch(base_offset, 1, 1000, plain))


def segment() -> tuple[bytes, dict[int, tuple[int, int]]]:
    """The bytes, and the byte and the base offset of the batch of each offset."""
    data, places, offset = b"", {}, FIRST
    for count in COUNTS:
        places.update(dict.fromkeys(range(offset, offset + count), (len(data), offset)))
        data += batch(offset, count)
        offset += count
    return data, places


DATA, PLACES = segment()
LAST = PLACES[max(PLACES)]


@pytest.mark.parametrize("rest", [0, 1, HEADER_SIZE - 1])
def test_each_offset_leads_to_its_batch_and_a_later_one_to_the_last(rest: int) -> None:
    file = MemoryReadable(DATA + bytes(rest))
    for offset, place in PLACES.items():
        assert find_batch(file, FIRST, offset) == place
    assert find_batch(file, FIRST, max(PLACES) + 100) == LAST


@pytest.mark.parametrize(
    "data",
    [
        DATA + bytes(HEADER_SIZE),
        DATA + bytes(5000),
        batch(FIRST + 1, 2) + batch(FIRST + 3, 1),
        batch(FIRST, 2) * 2,
        batch(FIRST, 2) + batch(FIRST - 5, 1),
    ],
    ids=["a torn batch follows", "zeros follow", "another base offset", "twice", "falling"],
)
def test_frames_that_cannot_be_a_segments_lead_to_its_beginning(data: bytes) -> None:
    assert find_batch(MemoryReadable(data), FIRST, max(PLACES) + 100) == (0, FIRST)


def test_an_offset_before_a_fault_is_found() -> None:
    assert find_batch(MemoryReadable(DATA + bytes(5000)), FIRST, FIRST + 3) == PLACES[FIRST + 3]


def test_a_batch_may_be_no_more_than_a_header() -> None:
    header = bytes(8) + (HEADER_SIZE - LENGTH_END).to_bytes(4) + bytes(HEADER_SIZE - LENGTH_END)
    batches = [*whole_batches(MemoryReadable(header * 3), 0, 3 * HEADER_SIZE)]
    assert [(position, size) for _, _, position, size in batches] == [
        (number * HEADER_SIZE, HEADER_SIZE) for number in range(3)
    ]
