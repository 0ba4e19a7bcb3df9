"""The examples in each verb's ``--help``, and a small interpreter for their shell syntax.

This module must not know what an example shows.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from shell.main import TABLE


def examples(*verbs: str) -> Iterator[tuple[str, str]]:
    """By verb: each example command as printed, without its comment."""
    for words, _, module in TABLE.commands():
        if words not in verbs:
            continue
        for line in re.sub(r"\\\n +", "", module.EPILOG).splitlines():
            if re.match(r"\s*(metalog|pass|echo) ", line):
                yield words, re.split(r"  +(?=\S)", line.strip())[0]


def as_printed(command: str, places: Mapping[str, str | Path]) -> list[str]:
    """The words behind ``metalog`` in an example, with each of ``places`` replaced. A test of the
    verb runs them, if running the verb once more only for its example would cost too much."""
    assert command in {each for _, each in examples(*(words for words, _, _ in TABLE.commands()))}
    words = typed(command).words
    assert places.keys() <= {*words}
    return [str(places.get(word, word)) for word in words]


class TypedCommand(NamedTuple):
    """The words behind ``metalog``, the text that ``echo`` pipes into it, and the redirections."""

    words: list[str]
    echoed: str | None
    read: str | None
    written: str | None


def typed(command: str) -> TypedCommand:
    """``command`` as bash would parse it; patterns in it are quoted."""
    before, _, last = command.rpartition(" | ")
    words = shlex.split(last)
    read, written = (words[words.index(sign) + 1] if sign in words else None for sign in ("<", ">"))
    ours = takewhile(lambda word: word not in ("<", ">"), words[1:])
    echoed = " ".join(shlex.split(before)[1:]) + "\n" if before else None
    return TypedCommand(list(ours), echoed, read, written)
