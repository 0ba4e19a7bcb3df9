"""``metalog completion SHELL``: a script that completes verbs, options, their values, and files.

The script is written from the parsers of the verbs, so it knows what they know; the names in
``metalog.toml`` are looked up when somebody completes. This module must not know what any verb
does.
"""

from __future__ import annotations

import os
from argparse import SUPPRESS, Action, ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from metalog.acl import Operation, ResourceType, camel
from metalog.files import LOCAL_FILES
from shell.arguments.words import Word
from shell.options import build_parser
from shell.output.output import Output, safe
from shell.verb_table import VerbTable

USAGE: Final = "bash|zsh|fish"
FORMATS: Final = ("text",)
PAGED: Final = False
EPILOG: Final = """\
bash:  source <(metalog completion bash)                     in ~/.bashrc
zsh:   source <(metalog completion zsh)                      in ~/.zshrc, after compinit
fish:  metalog completion fish > ~/.config/fish/completions/metalog.fish"""

_NAMES: Final = "names"
_METAVARS: Final = ("OPERATION", "NAME", "TYPE:NAME", "QUESTION", "TYPE", "ID")
"""Metavars with known words. Another verb's ``--operation`` may have other words."""


_OPTIONS: Final = ("--help", "--version")
"""Options that may stand before the verb."""


class _Option(NamedTuple):
    names: tuple[str, ...]
    line: str
    values: tuple[str, ...] | None
    """None if the option takes no value, empty if any value is allowed."""


class _Completed(NamedTuple):
    """``words`` may stand where no option does, beside files and names."""

    options: list[_Option]
    words: tuple[str, ...]


def configure(parser: ArgumentParser) -> None:
    parser.add_argument_group("shell").add_argument(
        "shell",
        choices=(*_WRITERS, _NAMES),
        metavar="SHELL",
        help="bash, zsh or fish; names prints each @NAME of metalog.toml for the shell's "
        "completion",
    )


def run(arguments: Namespace, output: Output) -> int:
    if arguments.shell == _NAMES:
        from metalog_sources.names import known_names

        for name in known_names(os.environ, Path(), LOCAL_FILES):
            output.line(safe(f"@{name}"))
        return 0
    for line in _WRITERS[arguments.shell](_options_by_verb()):
        output.line(line)
    return 0


def _options_by_verb() -> dict[str, _Completed]:
    """By all words of a verb: ``acls``, ``pipeline build``."""
    from shell.main import TABLE

    return {
        words: _completed(build_parser(words, verb.line, module))
        for words, verb, module in TABLE.commands()
    }


def _completed(parser: ArgumentParser) -> _Completed:
    found = []
    words: dict[str, None] = {}
    for action in parser._actions:
        if not action.option_strings:
            words.update(dict.fromkeys(_values(action)))
        elif action.help != SUPPRESS:
            line = (action.help or "").replace("%%", "%")
            values = None if action.nargs == 0 else _values(action)
            found.append(_Option(tuple(action.option_strings), line, values))
    return _Completed(found, tuple(words))


def _values(action: Action) -> tuple[str, ...]:
    if action.choices:
        return tuple(map(str, action.choices))
    known = _known_words().get(action.dest, ())
    return known if action.metavar in (None, *_METAVARS) else ()


@cache
def _known_words() -> dict[str, tuple[str, ...]]:
    """By what an argument is called in every verb that has it."""
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


def _verb_lines() -> dict[str, str]:
    from shell.main import VERBS

    return {name: verb.line for name, verb in VERBS.items()}


def _inner_lines() -> dict[str, dict[str, str]]:
    """Of each verb that has verbs of its own, what ``_verb_lines`` is of all."""
    from shell.main import VERBS

    loaded = {name: verb.load() for name, verb in VERBS.items()}
    return {
        name: {inner: verb.line for inner, verb in table.verbs.items()}
        for name, table in loaded.items()
        if isinstance(table, VerbTable)
    }


def _bash(verbs: dict[str, _Completed]) -> list[str]:
    cases = []
    for name, completed in verbs.items():
        words = " ".join(text for option in completed.options for text in option.names)
        others = " ".join(completed.words)
        cases.append(f"        '{name}') words='{words}' others='{others}' ;;")
    values = {
        f"{name}:{text}": " ".join(option.values)
        for name, completed in verbs.items()
        for option in completed.options
        for text in option.names
        if option.values
    }
    first = " ".join(_verb_lines())
    inner = [
        f"    if [[ $verb == {name} ]]; then\n"
        f"        verb+=\" ${{COMP_WORDS[2]}}\" words='{' '.join((*lines, *_OPTIONS))}'\n"
        "        (( COMP_CWORD == 2 )) &&\n"
        '            { COMPREPLY=($(compgen -W "$words" -- "$current")); return; }\n'
        "    fi"
        for name, lines in _inner_lines().items()
    ]
    return [
        "_metalog_match() {",
        "    local word kept=$(shopt -p nocasematch)",
        "    shopt -s nocasematch",
        '    for word in $1; do [[ $word == "$2"* ]] && COMPREPLY+=("$word"); done',
        "    $kept",
        "}",
        "_metalog() {",
        "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}",
        "    local verb=${COMP_WORDS[1]} words= others=",
        "    COMPREPLY=()",
        "    [[ $current == = ]] && current=",
        "    [[ $previous == = ]] && previous=${COMP_WORDS[COMP_CWORD-2]}",
        "    if (( COMP_CWORD == 1 )); then",
        f"        COMPREPLY=($(compgen -W '{first} {' '.join(_OPTIONS)}' -- \"$current\"))",
        "        return",
        "    fi",
        *inner,
        '    case "$verb:$previous" in',
        *(
            f"        '{text}') _metalog_match '{choices}' \"$current\"; return ;;"
            for text, choices in values.items()
        ),
        "    esac",
        "    [[ $verb == completion && $current != -* ]] &&",
        "        { COMPREPLY=($(compgen -W 'bash zsh fish' -- \"$current\")); return; }",
        '    case "$verb" in',
        *cases,
        "    esac",
        "    if [[ $current == @* || $previous == @ ]]; then",
        f"        others=$(metalog completion {_NAMES} 2>/dev/null)",
        "        [[ $COMP_WORDBREAKS == *@* ]] && others=${others//@/} current=${current#@}",
        '        COMPREPLY=($(compgen -W "$others" -- "$current"))',
        "        return",
        "    fi",
        "    [[ $current == -* ]] || {",
        '        _metalog_match "$others" "$current"',
        "        local IFS=$'\\n'",
        '        COMPREPLY+=($(compgen -f -- "$current"))',
        "        return",
        "    }",
        '    COMPREPLY=($(compgen -W "$words" -- "$current"))',
        "}",
        "complete -o filenames -F _metalog metalog kraft-metalog",
    ]


def _zsh(verbs: dict[str, _Completed]) -> list[str]:
    lines = [
        "#compdef metalog kraft-metalog",
        "_metalog_match() { compadd -M 'm:{a-zA-Z}={A-Za-z}' -- \"$@\" }",
        "_metalog() {",
        "    local -a verbs",
    ]
    lines += [
        *_zsh_verb(_verb_lines(), _OPTIONS),
        "    local verb=$words[2]",
        "    shift words",
        "    (( CURRENT-- ))",
    ]
    for name, inner in _inner_lines().items():
        lines += [
            f"    if [[ $verb == {name} ]]; then",
            *_zsh_verb(inner, _OPTIONS),
            '    verb+=" $words[2]"',
            "    shift words",
            "    (( CURRENT-- ))",
            "    fi",
        ]
    lines.append("    case $verb in")
    for name, completed in verbs.items():
        lines.append(f"        '{name}') _arguments -S \\")
        for option in completed.options:
            for text in option.names:
                lines.append(f"            {_quoted(_zsh_option(text, option))} \\")
        others = " ".join(completed.words)
        last = f"*:source:{{_files; _metalog_match {others} $(metalog completion {_NAMES})}}"
        last = "*:shell:(bash zsh fish)" if name == "completion" else last
        lines.append(f"            {_quoted(last)} ;;")
    return [*lines, "    esac", "}", "compdef _metalog metalog kraft-metalog"]


def _zsh_verb(lines: dict[str, str], options: Sequence[str]) -> list[str]:
    return [
        "    verbs=(",
        *(f"        {_quoted(f'{name}:{line}')}" for name, line in lines.items()),
        "    )",
        "    if (( CURRENT == 2 )); then",
        "        _describe verb verbs",
        f"        compadd -- {' '.join(options)}",
        "        return",
        "    fi",
    ]


def _zsh_option(text: str, option: _Option) -> str:
    line = option.line.replace("[", "(").replace("]", ")").replace(":", "\\:")
    value = "" if option.values is None else ":value:_files"
    if option.values:
        value = f":value: _metalog_match {' '.join(option.values)}"
    equals = "=" if value and text.startswith("--") else ""
    return f"*{text}{equals}[{line}]{value}"


def _fish(verbs: dict[str, _Completed]) -> list[str]:
    lines = [
        "function __metalog_words",
        "    set -l typed (commandline -opc)",
        '    test "$typed[2..]" = "$argv"',
        "end",
        "function __metalog_verb",
        "    set -l typed (commandline -opc)",
        "    test (count $typed) -gt (count $argv)",
        '    and test "$typed[2..$(math 1 + (count $argv))]" = "$argv"',
        "end",
        *_fish_verbs("", _verb_lines(), _OPTIONS),
    ]
    for name, inner in _inner_lines().items():
        lines += _fish_verbs(name, inner, _OPTIONS)
    for name, completed in verbs.items():
        seen = f"-n '__metalog_verb {name}'"
        others = " ".join(completed.words)
        if name != "completion":
            lines.append(f"complete -c metalog {seen} -a '{others} (metalog completion {_NAMES})'")
        for option in completed.options:
            words = " ".join(
                f"-l {text[2:]}" if text.startswith("--") else f"-s {text[1:]}"
                for text in option.names
            )
            value = "" if option.values is None else " -r"
            if option.values:
                value = f" -x -a {_quoted(' '.join(option.values))}"
            lines.append(f"complete -c metalog {seen} {words}{value} -d {_quoted(option.line)}")
    lines.append("complete -c metalog -n '__metalog_verb completion' -f -a 'bash zsh fish'")
    return [*lines, "complete -c kraft-metalog -w metalog"]


def _fish_verbs(before: str, lines: dict[str, str], options: Sequence[str]) -> list[str]:
    """What may follow the words ``before`` and nothing else."""
    place = f"complete -c metalog -n '__metalog_words {before}'"
    return [
        *(f"{place} -f -a {name} -d {_quoted(line)}" for name, line in lines.items()),
        *(f"{place} -f -a {option}" for option in options),
    ]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


_WRITERS: Final = {"bash": _bash, "zsh": _zsh, "fish": _fish}
