"""Words are split as by bash itself, or refused."""

from __future__ import annotations

import os
import random
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from metalog.errors import InvalidRequest
from metalog_sources.formats.commands.shell_words import commands

NAME = "acls"
PIECES = (
    "a", "bc", "--topic", "User:a", "x=", "é", "/", ".", "-", "=", ",", "%", "^", "!", "]", "}",
    " ", "  ", "\t", "\v", "\f", "\u00a0", "\r", "\\", "\\\\", "\\\n", " \\\n", "\\\n ",
    f"\n{NAME} ", f" ; {NAME} ", f"\n\n{NAME} ", f" # it's a comment \\\n{NAME} ", "#", " #",
    "'", '"', "''", '""', "'a b'", '"a b"', '"a\'b"', '"\\$"', '"\\q\\\\"', "\\'", '\\"', "\\ ",
    "$", "$A", "${A}", '"$A"', "'$A'", "$'", "$'a\\tb'", "$'\\x41\\101\\u00e9\\e\\q\\''", '$"a"',
    "~", "=~", ":~", "{a,b}", "{1..3}", "{}", "*", "?", "[ab]", "`", "(", "|", "&", "<", "\\*",
    "$'\\xc3\\xa9'", "$'\\0'", "$'\\cA'", "\\~", "\\{a,b}", "'*'", "\\\r", "''#", "\\#", "\\\n#",
)  # fmt: skip
OTHER = re.compile(r"\$(?!A\b)[A-Za-z_0-9#?*@!$-]")
"""A variable other than A, whose value is not its own name."""
SCRIPTS = 4_000
BASH = f"""
{NAME}() {{ printf '%s\\0' "$#" "$@"; }}
command_not_found_handle() {{ printf '%s\\0' "$#" "$@"; }}
A='$A'
for script in "$1"/*; do (. "$script"); printf '%s\\0' end; done
"""


def scripts() -> Iterator[str]:
    chance = random.Random(17)
    for _ in range(SCRIPTS):
        yield f"{NAME} " + "".join(chance.choices(PIECES, k=chance.randrange(1, 7)))


def ours(script: str) -> list[list[str]] | None:
    """The words after each command's first; None if refused or not comparable."""
    try:
        found = list(commands(script, "a.sh"))
    except InvalidRequest:
        return None
    if any(each.words[0] != NAME or any(map(OTHER.search, each.with_variables)) for each in found):
        return None
    return [[word.replace("${A}", "$A") for word in command.words[1:]] for command in found]


def bashs(texts: list[str], folder: Path) -> Iterator[list[list[str]]]:
    """The same from bash, for each text, in an empty folder."""
    written, empty = folder / "scripts", folder / "empty"
    written.mkdir()
    empty.mkdir()
    for number, text in enumerate(texts):
        (written / f"{number:06}").write_bytes(text.encode())
    environment = {"PATH": "/nowhere", "LC_ALL": "C.UTF-8", "HOME": os.fspath(folder)}
    run = subprocess.run(
        ["/bin/bash", "-c", BASH, "bash", written],
        cwd=empty,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    fields = iter(run.stdout.decode().replace("${A}", "$A").split("\0"))
    for _ in texts:
        found = []
        while (count := next(fields)) != "end":
            found.append([next(fields) for _ in range(int(count))])
        yield found


@pytest.mark.once
def test_bash_has_the_same_words(tmp_path: Path) -> None:
    read = {text: words for text in scripts() if (words := ours(text)) is not None}
    expected = dict(zip(read, bashs(list(read), tmp_path), strict=True))
    assert {text: words for text, words in read.items() if expected[text] != words} == {}
    assert len(read) > SCRIPTS // 5


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("a {b,c}", "line 1, column 3: bash expands an unquoted {"),
        ("a b\\\n ~/c", "line 2, column 2: bash expands an unquoted ~"),
        ("a x=~", "line 1, column 5: bash expands an unquoted ~"),
        ("a 'b' *", "line 1, column 7: bash can replace an unquoted * by file names"),
        ("a b?", "by file names"),
        ("a [b]", "by file names"),
        ("a b\r\na", "line 1, column 4: a carriage return"),
        ("a \\\r\nb", "line 1, column 3: a carriage return"),
        ("a\n\nb\0", "line 3, column 2: a NUL byte"),
        ("a b\\", "line 1, column 4: a backslash with nothing after it"),
        ("a;;", "line 1, column 3: ; is not supported"),
        ("a <<E\nE\n", "< is not supported"),
        ("a && b", "& is not supported"),
        ('a "`b`"', "` is not supported"),
        ('a "$(b)"', "$( is not supported, only $NAME and ${NAME} are; write the text itself"),
        ("a ${b:-c}", "${ is not supported"),
        ("a $\\\nb", "$\\ is not supported"),
        ("a $((1))", "$( is not supported"),
        ('a $"b"', '$" is not supported'),
        ("a $'b\\0c'", "line 1, column 6: \\0 is not supported in $'…'"),
        ("a $'\\ud800'", "the escapes in $'…' are not UTF-8"),
    ],
)
def test_what_bash_reads_otherwise_is_refused_with_its_place(script: str, said: str) -> None:
    with pytest.raises(InvalidRequest) as raised:
        list(commands(script, "a.sh"))
    assert said in str(raised.value)


def test_a_comment_after_a_continued_line_and_a_word_in_two_lines() -> None:
    [first, second] = commands("a b \\\n# c\nd e\\\nf#g", "a.sh")
    assert (first.words, second.words) == (["a", "b"], ["d", "ef#g"])
    assert (first.position.line, second.position.line) == (1, 3)


def test_a_dollar_alone_is_no_variable() -> None:
    [command] = commands('a $ b$ "c$" $A \'$B\' "${C}"', "a.sh")
    assert command.words[1:] == ["$", "b$", "c$", "$A", "$B", "${C}"]
    assert command.with_variables == {"$A", "${C}"}
