"""The model from which the completion scripts are written.

This module must not know any shell, nor any verb.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

NAMES: Final = "names"
"""The argument with which a script asks ``metalog completion`` for names."""
QUESTION: Final = "question"
LOGIN: Final = "login"
"""The kind of the names of SCRAM users."""
FIRST_OPTIONS: Final = ("--help", "--version")
"""Options that may stand before the verb."""


class CompletedOption(NamedTuple):
    """One option. ``values`` is None if it takes no value, and empty if any value is allowed;
    ``kind`` says which names of a SOURCE it takes."""

    names: tuple[str, ...]
    line: str
    values: tuple[str, ...] | None
    kind: str = ""


class CompletedVerb(NamedTuple):
    """One verb. ``words`` are proposed where an option is not expected, beside files and names.
    Unless ``kind`` is empty, names of that kind in the SOURCE are proposed, too."""

    options: list[CompletedOption]
    words: tuple[str, ...]
    kind: str


class CompletedCommand(NamedTuple):
    """The whole command: ``verbs`` by all their words, such as ``pipeline build``; the line that
    describes each verb, and each inner verb."""

    verbs: Mapping[str, CompletedVerb]
    lines: Mapping[str, str]
    inner_lines: Mapping[str, Mapping[str, str]]


def quoted(text: str) -> str:
    """The text in quotes: one word for any shell."""
    return "'" + text.replace("'", "'\\''") + "'"
