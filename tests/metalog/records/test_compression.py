"""Everything that Kafka's compressors write is read, within a bound, and nothing else."""

import gzip
import struct

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalog.records.primitives.compression import NAMES, inflate, most_inflated


def xerial(data: bytes) -> bytes:
    out = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
    for at in range(0, len(data), 1000):
        block = bytes(cramjam.snappy.compress_raw(data[at : at + 1000]))
        out += struct.pack(">i", len(block)) + block
    return out


DEFLATERS = {
    "gzip": gzip.compress,
    "snappy": xerial,
    "lz4": lambda data: bytes(cramjam.lz4.compress(data)),
    "zstd": lambda data: bytes(cramjam.zstd.compress(data)),
}
compressed = pytest.mark.parametrize("name", NAMES[1:])


@compressed
@given(data=st.binary(max_size=3000))
def test_data_comes_back(name, data):
    assert inflate(name, DEFLATERS[name](data)) == data


def test_snappy_without_a_frame_is_read_too():
    assert inflate("snappy", bytes(cramjam.snappy.compress_raw(b"abc" * 50))) == b"abc" * 50


@compressed
def test_a_bomb_is_refused_at_the_limit(name):
    bomb = DEFLATERS[name](bytes(100_000))
    assert inflate(name, bomb, limit=100_000) == bytes(100_000)
    with pytest.raises(ValueError, match="99999"):
        inflate(name, bomb, limit=99_999)


def test_a_batch_inflates_to_a_multiple_of_its_bytes():
    """60 kB that inflated to 64 MiB took 2.5 GB as records."""
    sizes = [most_inflated(size) for size in (10, 60_000, 200_000, 1 << 30)]
    assert sizes == [1 << 20, 3_840_000, 12_800_000, 64 << 20]


@pytest.mark.once
@compressed
def test_data_that_ends_too_soon_or_too_late_is_refused(name):
    data = DEFLATERS[name](b"some bytes " * 200)
    for damaged in (data[:-3], data + b"xyz", b"", data[: len(data) // 2]):
        with pytest.raises(ValueError, match=r"\w"):
            inflate(name, damaged)


@compressed
@given(data=st.binary(max_size=100))
def test_any_bytes_are_refused_in_one_way(name, data):
    try:
        inflate(name, data, limit=1 << 20)
    except ValueError:
        return
