"""No name can move the cursor, forge a line, or look like another name."""

from __future__ import annotations

import json
import sys
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from metalog.text.visible_text import safe, shown

NAMES = st.text(st.characters(), max_size=12) | st.text(
    st.sampled_from('ab "\\\x1b\n\u202e\u200b\xa0'), max_size=5
)


DEFAULT_IGNORABLE = (
    "00AD 034F 061C 115F-1160 17B4-17B5 180B-180F 200B-200F 202A-202E 2060-206F 3164 FE00-FE0F FEFF"
    " FFA0 FFF0-FFF8 1BCA0-1BCA3 1D173-1D17A E0000-E0FFF"
)
"""Unicode's property Default_Ignorable_Code_Point, the same from version 14 on, which Python's
``unicodedata`` does not have."""
BLANK_SYMBOLS = "2800 1D159"


def _characters(ranges: str) -> set[str]:
    ends = [[int(end, 16) for end in each.split("-")] for each in ranges.split()]
    return {chr(code) for each in ends for code in range(each[0], each[-1] + 1)}


def test_the_escaped_characters_are_those_that_unicode_calls_invisible() -> None:
    """U+13439 to U+1343F are in Cf from Unicode 15 on, later than Python 3.11."""
    invisible = _characters(f"{DEFAULT_IGNORABLE} {BLANK_SYMBOLS} 13439-1343F")
    for character in map(chr, range(sys.maxunicode + 1)):
        is_control = unicodedata.category(character) in {"Cc", "Cf", "Cs", "Zl", "Zp"}
        assert (safe(character) != character) == (is_control or character in invisible)


@given(NAMES)
def test_nothing_invisible_is_left(name: str) -> None:
    for character in safe(name):
        assert unicodedata.category(character) not in {"Cc", "Cf", "Zl", "Zp", "Cs"}
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
