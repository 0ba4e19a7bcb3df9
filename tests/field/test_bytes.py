"""Faults of other readers, one test each: trusted bytes, and bytes that cost too much.
docs/reference/field-bugs.md describes each. A test's name begins with the number of the fault."""

from __future__ import annotations

import struct

import pytest

from metalog.errors import CorruptLog
from metalog.loader import Loader
from metalog.ports import Appended, HighWatermark
from metalog.records.primitives.compression import MAX_INFLATED, inflate
from tests.support.disk.tiny_log import ABORT, BEGIN, NOTHING, Recorder, ace, batch, ids

XERIAL = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
TWO_GIB = b"\xff\xff\xff\xff\x07"


@pytest.mark.parametrize("length", [(1 << 31) - 1, 1 << 30, -1, -(1 << 31), 0])
def test_cve_2023_34455_a_snappy_blocks_length_is_not_trusted(length: int) -> None:
    """Refused before any allocation."""
    with pytest.raises(ValueError, match=f"a block of {length} bytes, but only 0 are left"):
        inflate("snappy", XERIAL + struct.pack(">i", length))


@pytest.mark.parametrize("before", [b"", XERIAL + struct.pack(">i", len(TWO_GIB))])
def test_cve_2023_34455_nor_is_what_a_snappy_block_says_that_it_inflates_to(before: bytes) -> None:
    with pytest.raises(ValueError, match=f"more than {MAX_INFLATED}"):
        inflate("snappy", before + TWO_GIB)


def test_fact_what_was_aborted_is_not_published_with_what_follows_in_the_same_flush() -> None:
    """After a restart Kafka reads all of it in one flush, and applies the aborted ACL."""
    recorder = Recorder()
    loader = Loader([recorder])
    loader.handle(HighWatermark(6))
    loader.handle(Appended(batch(0, BEGIN, ace(1), ABORT, ace(2))))
    loader.handle(Appended(batch(4, NOTHING, ace(3))))
    assert all(1 not in ids(image) for _, image, _ in recorder.got)
    assert ids(recorder.got[-1][1]) == {2, 3}


def test_fact_a_record_that_authorization_may_need_is_never_guessed() -> None:
    """Kafka silently takes an unknown resource type as UNKNOWN."""
    loader = Loader()
    loader.handle(HighWatermark(2))
    with pytest.raises(CorruptLog):
        loader.handle(Appended(batch(0, ace(1)._replace(resource_type=99), ace(2))))
    assert len(loader.image.acls) == 0
