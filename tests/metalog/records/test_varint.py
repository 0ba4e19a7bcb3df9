"""Varints: every value reads back, Kafka's examples hold, and bad bytes are refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalog.records.primitives.varint import (
    read_unsigned_varint,
    read_varint,
    read_varlong,
    write_unsigned_varint,
    write_varint,
    write_varlong,
)

KINDS = {
    "unsigned": (read_unsigned_varint, write_unsigned_varint, 0, (1 << 32) - 1),
    "varint": (read_varint, write_varint, -(1 << 31), (1 << 31) - 1),
    "varlong": (read_varlong, write_varlong, -(1 << 63), (1 << 63) - 1),
}


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_every_value_comes_back(kind, data):
    read, write, low, high = KINDS[kind]
    value = data.draw(st.integers(low, high) | st.sampled_from([low, high, 0, 63, 64, 127, 128]))
    out = bytearray(b"xx")
    write(out, value)
    assert read(bytes(out), 2) == (value, len(out))


@pytest.mark.parametrize(
    ("kind", "value", "encoded"),
    [
        ("unsigned", 300, "ac02"),
        ("unsigned", (1 << 32) - 1, "ffffffff0f"),
        ("varint", -1, "01"),
        ("varint", 64, "8001"),
        ("varint", -(1 << 31), "ffffffff0f"),
        ("varlong", -(1 << 63), "ffffffffffffffffff01"),
    ],
)
def test_the_bytes_are_those_of_protocol_buffers(kind, value, encoded):
    out = bytearray()
    KINDS[kind][1](out, value)
    assert out.hex() == encoded


@pytest.mark.parametrize("kind", KINDS)
def test_a_value_outside_the_range_is_not_written(kind):
    _, write, low, high = KINDS[kind]
    for value in (low - 1, high + 1):
        with pytest.raises(OverflowError):
            write(bytearray(), value)


@pytest.mark.parametrize(
    ("kind", "encoded"),
    [
        ("unsigned", "ffffffff1f"),
        ("unsigned", "808080808000"),
        ("varlong", "ffffffffffffffffff03"),
        ("varlong", "8080808080808080808000"),
    ],
)
def test_more_bits_than_fit_are_refused(kind, encoded):
    with pytest.raises(ValueError, match="is l"):
        KINDS[kind][0](bytes.fromhex(encoded), 0)


@pytest.mark.parametrize("kind", KINDS)
def test_bytes_that_end_too_soon_are_refused(kind):
    with pytest.raises(IndexError):
        KINDS[kind][0](b"\x80", 0)
