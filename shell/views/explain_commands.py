"""Writes commands of ``metalog explain`` that a reader can paste to explain a printed answer.

A command repeats SOURCE and each option that the answer depends on. A variable replaces a file that
a shell made for one command (``<(…)``), because the shell deletes that file. This module must not
know how an answer is found.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

from authorizer.analysis.remedies.commands import quoted
from authorizer.trace import Question
from metalog.disk.files import is_descriptor
from shell.repeated_options import input_options

_VARIABLES: Final = {"--command-config": '"$CLIENT_CONFIG"', "--config": '"$SERVER_PROPERTIES"'}
_SOURCE: Final = '"$SOURCE"'


def explain_command(question: Question, arguments: Namespace) -> str:
    resource = f"{question.resource_type.name.lower()}:{question.resource_name}"
    words = (quoted(question.principal), question.operation.name, quoted(resource))
    return _command(arguments, words, [("--host", question.host)])


def checklist_command(question: Question, client: str, arguments: Namespace) -> str:
    """``client`` is ``--consumer`` or ``--producer``."""
    options = [("--topic", question.resource_name), ("--host", question.host)]
    return _command(arguments, (quoted(question.principal), client), options)


def command_as_typed(words: Iterable[str]) -> str:
    texts = (_as_typed(before, word) for before, word in pairwise(("", *words)))
    return " ".join(("metalog explain", *texts))


def _as_typed(before: str, word: str) -> str:
    option, sign, value = word.partition("=")
    if sign and is_descriptor(Path(value)):
        return f"{option}={_word(value, option)}"
    return _word(word, before)


def _command(
    arguments: Namespace, words: Sequence[str], options: Iterable[tuple[str, str | None]]
) -> str:
    valued = (each for each in (*options, ("--at", arguments.at)) if each[1] is not None)
    texts = (_option(*each) for each in (*valued, *input_options(arguments)))
    return " ".join(("metalog explain", _word(arguments.source), *words, *texts))


def _option(option: str, value: str | None) -> str:
    if value is None:
        return option
    return f"{option}{'=' if value.startswith('-') else ' '}{_word(value, option)}"


def _word(value: str, option: str = "") -> str:
    return _VARIABLES.get(option, _SOURCE) if is_descriptor(Path(value)) else quoted(value)
