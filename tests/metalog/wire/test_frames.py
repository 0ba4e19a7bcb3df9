"""Frames come out whole, wherever the bytes are divided, and never above the limit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalog.wire.frames import FrameReader, Malformed, framed

PAYLOADS = st.lists(st.binary(max_size=40), max_size=6)


@given(PAYLOADS, st.data())
def test_however_the_bytes_are_cut_the_frames_are_the_same(
    payloads: list[bytes], data: st.DataObject
) -> None:
    stream = b"".join(map(framed, payloads))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    reader = FrameReader(limit=40)
    found = []
    for begin, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        found += reader.feed(stream[begin:end])
    assert found == payloads
    assert reader.beginning(1) == (0, b"")


@given(PAYLOADS)
def test_byte_by_byte_too(payloads: list[bytes]) -> None:
    reader = FrameReader(limit=40)
    found = [
        frame for byte in b"".join(map(framed, payloads)) for frame in reader.feed(bytes([byte]))
    ]
    assert found == payloads


@pytest.mark.parametrize("length", [b"\x00\x00\x00\x29", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff"])
def test_a_length_is_refused_before_its_bytes_come(length: bytes) -> None:
    reader = FrameReader(limit=40)
    frames = reader.feed(framed(b"first") + length)
    assert next(frames) == b"first"
    with pytest.raises(Malformed, match="at most 40 are accepted"):
        next(frames)
    assert reader.beginning(1) == (0, b"")


def test_what_is_held_is_no_more_than_came() -> None:
    reader = FrameReader(limit=1 << 30)
    assert not list(reader.feed(b"\x3f\xff\xff\xff" + b"x" * 10))
    assert reader.beginning(100) == (0x3FFF_FFFF, b"x" * 10)


def test_a_web_server_is_called_one() -> None:
    with pytest.raises(Malformed, match="it is an HTTP server"):
        next(FrameReader().feed(b"HTTP/1.1 400 Bad Request\r\n"))


def test_a_frame_is_measured_by_the_limit_when_it_is_taken() -> None:
    """A login raises the limit, and the next request can be in the buffer already."""
    reader = FrameReader(limit=40)
    frames = reader.feed(framed(b"login") + framed(bytes(41)))
    assert next(frames) == b"login"
    reader.limit = 41
    assert next(frames) == bytes(41)
