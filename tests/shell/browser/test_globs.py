"""Globs work as in Kafka's shell (its GlobComponent)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shell.browser.globs import literal, pattern, unescaped


@pytest.mark.parametrize(
    ("glob", "matching", "other"),
    [
        ("*", ["", "abc", "a\nb"], []),
        ("b?b", ["bob", "b.b"], ["bb", "boob"]),
        ("a*", ["a", "abc"], ["ba"]),
        ("{foo,bar}s", ["foos", "bars"], ["foo", "s", "foobars"]),
        ("x{a*,b?}", ["xa", "xabc", "xbz"], ["xb", "xc"]),
        ("0*.[x]$", ["0.[x]$", "0a.[x]$"], ["0.x$", "0x[x]$"]),
        (r"\**", ["*", "*a"], ["a"]),
    ],
)
def test_a_pattern_matches_whole_names(glob, matching, other):
    compiled = pattern(glob)
    assert [name for name in matching if compiled.fullmatch(name)] == matching
    assert [name for name in other if compiled.fullmatch(name)] == []


@pytest.mark.parametrize("glob", ["plain", "a,b", "a}", "[ab]", "{a", "{a{b}c}", r"\*", ""])
def test_what_is_no_pattern_is_a_plain_name(glob):
    assert pattern(glob) is None


@given(st.text())
def test_a_literal_glob_is_the_text_itself(text):
    assert pattern(literal(text)) is None
    assert unescaped(literal(text)) == text
