"""Strings are read as Java reads them, so that both see the same name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalog.records.primitives.text import decode_text, encode_text

BAD = "\ufffd"


@given(st.text())
def test_text_comes_back(text):
    assert decode_text(encode_text(text)) == text


@pytest.mark.parametrize(
    ("encoded", "text"),
    [
        (b"a\xffb", f"a{BAD}b"),
        (b"\xc0\xaf", BAD * 2),
        (b"\xe2\x82", BAD),
        (b"\xf0\x9f\x98A", f"{BAD}A"),
        (b"\xed\xa0\x80", BAD),
        (b"\xed\xa0\x80\xed\xb0\x80", BAD * 2),
        (b"\xed\xa0", BAD),
        (b"\xed\xa0A", f"{BAD}A"),
        (b"\xf4\x90\x80\x80", BAD * 4),
    ],
)
def test_malformed_bytes_become_what_java_makes_of_them(encoded, text):
    assert decode_text(encoded) == text


def test_a_lone_surrogate_is_written_as_java_writes_it():
    assert encode_text("a\ud800b") == b"a?b"


@given(st.binary())
def test_no_bytes_are_refused(data):
    decode_text(data)
