"""No name can move the cursor, forge a line, or look like another name."""

from __future__ import annotations

import json
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from metalog.text.visible_text import safe, shown

NAMES = st.text(st.characters(), max_size=12) | st.text(
    st.sampled_from('ab "\\\x1b\n\u202e\u200b\xa0'), max_size=5
)


@given(NAMES)
def test_nothing_invisible_is_left(name: str) -> None:
    for character in safe(name):
        assert unicodedata.category(character) not in {"Cc", "Zl", "Zp", "Cs"}
        assert unicodedata.bidirectional(character) not in {
            "LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"
        }  # fmt: skip


@given(NAMES, NAMES)
def test_two_names_never_look_the_same(left: str, right: str) -> None:
    assert (shown(left) == shown(right)) == (left == right)


@given(NAMES)
def test_a_quoted_name_is_json(name: str) -> None:
    text = shown(name)
    assert text == name or json.loads(text) == name


def test_plain_names_stand_as_they_are() -> None:
    for name in ("payments", "User:CN=a, OU=b", "jürgen", "a\\,b", "日本", "*"):
        assert shown(name) == name


def test_names_that_would_be_misread_are_quoted() -> None:
    assert shown("") == '""'
    assert shown(" a") == '" a"'
    assert shown("a  b") == '"a  b"'
    assert shown("\x1b[2J") == '"\\u001b[2J"'
    assert shown("a\u202eb") == '"a\\u202eb"'
