"""Lines are split as by a POSIX shell, and quoted characters are not globs."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalog.errors import InvalidRequest
from shell.browser.globs import literal, unescaped
from shell.browser.quoting import quoted, scan, split

LINES = st.text(alphabet="ab \t\r\\'\"*?{},")


def shlex_words(line):
    try:
        return shlex.split(line)
    except ValueError:
        return None


@given(LINES)
def test_words_are_those_of_shlex(line):
    try:
        words = [unescaped(word) for word in split(line)]
    except InvalidRequest:
        words = None
    assert words == shlex_words(line)


@given(st.text())
def test_a_glob_as_it_is_typed_is_that_glob(name):
    assert split(f"cat {quoted(literal(name))}".replace("\0", "")) == (
        ["cat", literal(name.replace("\0", ""))] if name.replace("\0", "") else ["cat"]
    )


@pytest.mark.parametrize(
    ("line", "glob"),
    [
        ("ls User:*", "User:*"),
        ("ls 'User:*'", r"User:\*"),
        (r"ls User:\*", r"User:\*"),
        ('ls "a?"{b,c}', r"a\?{b,c}"),
    ],
)
def test_a_quoted_star_is_a_star(line, glob):
    assert split(line) == ["ls", glob]


@pytest.mark.parametrize(
    ("line", "words", "start"),
    [
        ("", [""], 0),
        ("ls", ["ls"], 0),
        ("ls ", ["ls", ""], 3),
        ("ls '/a b", ["ls", "/a b"], 3),
        ("  ls /x", ["ls", "/x"], 5),
    ],
)
def test_a_line_still_being_typed_has_a_last_word(line, words, start):
    scanned = scan(line)
    assert (scanned.words, scanned.last_start) == (words, start)


@pytest.mark.parametrize("line", ["cat 'a", 'cat "a', "cat a\\"])
def test_an_open_quote_is_refused(line):
    with pytest.raises(InvalidRequest, match="is not closed"):
        split(line)
