"""``metalog completion SHELL``: a script that completes verbs, options, their values, and files.

The script is generated from the verbs' parsers. Names in ``metalog.toml`` are read at each
completion. This module must not know what any verb does.
"""

from __future__ import annotations

import os
from argparse import SUPPRESS, Action, ArgumentParser, Namespace
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from metalog.acl import Operation, ResourceType, camel
from metalog.disk.files import LOCAL_FILES
from metalog.errors import InvalidRequest
from metalog_sources.formats.nodes.words import Word
from shell.options import build_parser
from shell.output.output import Output, safe
from shell.verb_table import VerbTable
from shell.views.completion_scripts import (
    LOGIN,
    NAMES,
    QUESTION,
    CompletedCommand,
    CompletedOption,
    CompletedVerb,
    bash_script,
    fish_script,
    zsh_script,
)

USAGE: Final = "bash|zsh|fish"
FORMATS: Final = ("text",)
PAGED: Final = False
EPILOG: Final = """\
bash:  source <(metalog completion bash)                     in ~/.bashrc
zsh:   source <(metalog completion zsh)                      in ~/.zshrc, after compinit
fish:  metalog completion fish > ~/.config/fish/completions/metalog.fish"""

_METAVARS: Final = ("OPERATION", "NAME", "TYPE:NAME", "QUESTION", "TYPE", "ID")
"""Arguments with these metavars, or without a metavar, use ``_known_words``."""
_SOURCES: Final = ("source", "target")
_OPTION_KINDS: Final = {
    "topic": "topic",
    "group": "group",
    "transactional_id": "transactional-id",
    "delegation_token": "delegation-token",
    "user_principal": "user",
    "principal": "principal",
}
"""Kinds of names, by the option's ``dest``."""
_WORD_KINDS: Final = {
    "question": QUESTION,
    "resource": QUESTION,
    "principal": QUESTION,
    "user": LOGIN,
}
"""Kinds of names, by the ``dest`` of a word after SOURCE."""


class _Shells(tuple[str, ...]):
    """Accepts also ``NAMES``, which only the scripts pass."""

    def __contains__(self, word: object) -> bool:
        return word == NAMES or super().__contains__(word)


def configure(parser: ArgumentParser) -> None:
    parser.add_argument_group("shell").add_argument(
        "shell", choices=_Shells(_WRITERS), metavar="SHELL", help="bash, zsh or fish"
    )
    parser.add_argument("query", nargs="*", default=[], help=SUPPRESS)


def run(arguments: Namespace, output: Output) -> int:
    if arguments.query:
        from shell.tasks.completion_names import names_in

        if arguments.shell != NAMES:
            raise InvalidRequest(f"{arguments.query[0]}: one word too many; name one shell")

        source, kind, prefix = (*arguments.query, "", "")[:3]
        for name in names_in(source, kind, prefix, os.environ):
            output.line(name)
        return 0
    if arguments.shell == NAMES:
        from metalog_sources.names import known_names

        for name in known_names(os.environ, Path(), LOCAL_FILES):
            output.line(safe(f"@{name}"))
        return 0
    from shell.main import VERBS

    lines = {name: verb.line for name, verb in VERBS.items()}
    command = CompletedCommand(_options_by_verb(), lines, _inner_lines())
    for line in _WRITERS[arguments.shell](command):
        output.line(line)
    return 0


def _options_by_verb() -> dict[str, CompletedVerb]:
    from shell.main import TABLE

    return {
        words: _completed(build_parser(words, verb.line, module))
        for words, verb, module in TABLE.commands()
    }


def _completed(parser: ArgumentParser) -> CompletedVerb:
    found = []
    words: dict[str, None] = {}
    positionals = [action.dest for action in parser._actions if not action.option_strings]
    has_source = bool(positionals) and positionals[0] in _SOURCES
    for action in parser._actions:
        if not action.option_strings:
            words.update(dict.fromkeys(_values(action)))
        elif action.help != SUPPRESS:
            line = (action.help or "").replace("%%", "%")
            values = None if action.nargs == 0 else _values(action)
            kind = _OPTION_KINDS.get(action.dest, "") if has_source and values == () else ""
            found.append(CompletedOption(tuple(action.option_strings), line, values, kind))
    kinds = [_WORD_KINDS[name] for name in positionals if has_source and name in _WORD_KINDS]
    return CompletedVerb(found, tuple(words), kinds[0] if kinds else "")


def _values(action: Action) -> tuple[str, ...]:
    if action.choices:
        return tuple(map(str, action.choices))
    known = _known_words().get(action.dest, ())
    return known if action.metavar in (None, *_METAVARS) else ()


@cache
def _known_words() -> dict[str, tuple[str, ...]]:
    from authorizer.analysis.lint.checks import CHECKS

    operations = tuple(map(camel, _creatable(Operation)))
    types = tuple(f"{each.name.lower().replace('_', '-')}:" for each in _creatable(ResourceType))
    ids = tuple(check.id for check in CHECKS)
    patterns = ("literal", "prefixed", "match", "any")
    return {
        "operation": operations,
        "resource": types,
        "question": (*operations, *types),
        "resource_pattern_type": patterns,
        "only": ids,
        "except": ids,
    }


def _creatable(kind: type[Word]) -> Iterator[Word]:
    return (each for each in kind if each.name not in ("UNKNOWN", "ANY", "MATCH"))


def _inner_lines() -> dict[str, dict[str, str]]:
    from shell.main import VERBS

    loaded = {name: verb.load() for name, verb in VERBS.items()}
    return {
        name: {inner: verb.line for inner, verb in table.verbs.items()}
        for name, table in loaded.items()
        if isinstance(table, VerbTable)
    }


_WRITERS: Final = {"bash": bash_script, "zsh": zsh_script, "fish": fish_script}
