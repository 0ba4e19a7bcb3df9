"""``metalog completion SHELL``: a script that completes verbs, options and file names.

The script is written from the parsers of the verbs, so it knows what they know.
This module must not know what any verb does.
"""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser, Namespace
from typing import Final, NamedTuple

from shell.options import build_parser
from shell.output import Output
from shell.verb_table import table_of

USAGE: Final = "bash|zsh|fish"
FORMATS: Final = ("text",)
PAGED: Final = False
EPILOG: Final = """\
bash:  source <(metalog completion bash)                     in ~/.bashrc
zsh:   source <(metalog completion zsh)                      in ~/.zshrc, after compinit
fish:  metalog completion fish > ~/.config/fish/completions/metalog.fish"""


class _Option(NamedTuple):
    names: tuple[str, ...]
    line: str
    values: tuple[str, ...] | None
    """None where the option takes no value, empty where any value will do."""


def configure(parser: ArgumentParser) -> None:
    parser.add_argument_group("shell").add_argument(
        "shell", choices=tuple(_WRITERS), metavar="SHELL", help="bash, zsh or fish"
    )


def run(arguments: Namespace, output: Output) -> int:
    for line in _WRITERS[arguments.shell](_options_by_verb()):
        output.line(line)
    return 0


def _options_by_verb() -> dict[str, list[_Option]]:
    """By all words of a verb: ``acls``, ``pipeline build``."""
    from shell.main import TABLE

    return {
        words: _options(build_parser(words, verb.line, module))
        for words, verb, module in TABLE.commands()
    }


def _options(parser: ArgumentParser) -> list[_Option]:
    found = []
    for action in parser._actions:
        values = None if action.nargs == 0 else tuple(map(str, action.choices or ()))
        if action.option_strings and action.help != SUPPRESS:
            line = (action.help or "").replace("%%", "%")
            found.append(_Option(tuple(action.option_strings), line, values))
    return found


def _verb_lines() -> dict[str, str]:
    from shell.main import VERBS

    return {name: verb.line for name, verb in VERBS.items()}


def _inner_lines() -> dict[str, dict[str, str]]:
    """Of each verb that has verbs of its own, what ``_verb_lines`` is of all."""
    from shell.main import VERBS

    tables = {name: table_of(verb.load()) for name, verb in VERBS.items()}
    return {
        name: {inner: verb.line for inner, verb in table.verbs.items()}
        for name, table in tables.items()
        if table is not None
    }


def _bash(verbs: dict[str, list[_Option]]) -> list[str]:
    cases = []
    for name, options in verbs.items():
        words = " ".join(text for option in options for text in option.names)
        cases.append(f"        '{name}') words='{words}' ;;")
    values = {
        text: " ".join(option.values)
        for options in verbs.values()
        for option in options
        for text in option.names
        if option.values
    }
    first = " ".join(_verb_lines())
    inner = [
        f"    if [[ $verb == {name} ]]; then\n"
        f"        verb+=\" ${{COMP_WORDS[2]}}\" words='{' '.join(lines)} --help'\n"
        "        (( COMP_CWORD == 2 )) &&\n"
        '            { COMPREPLY=($(compgen -W "$words" -- "$current")); return; }\n'
        "    fi"
        for name, lines in _inner_lines().items()
    ]
    return [
        "_metalog() {",
        "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}",
        "    local verb=${COMP_WORDS[1]} words=",
        "    COMPREPLY=()",
        "    if (( COMP_CWORD == 1 )); then",
        f"        COMPREPLY=($(compgen -W '{first} --help --version' -- \"$current\"))",
        "        return",
        "    fi",
        *inner,
        '    case "$previous" in',
        *(
            f"        {text}) COMPREPLY=($(compgen -W '{choices}' -- \"$current\")); return ;;"
            for text, choices in values.items()
        ),
        "    esac",
        "    [[ $verb == completion && $current != -* ]] &&",
        "        { COMPREPLY=($(compgen -W 'bash zsh fish' -- \"$current\")); return; }",
        '    [[ $current == -* ]] || { COMPREPLY=($(compgen -f -- "$current")); return; }',
        '    case "$verb" in',
        *cases,
        "    esac",
        '    COMPREPLY=($(compgen -W "$words" -- "$current"))',
        "}",
        "complete -o filenames -F _metalog metalog kraft-metalog",
    ]


def _zsh(verbs: dict[str, list[_Option]]) -> list[str]:
    lines = ["#compdef metalog kraft-metalog", "_metalog() {", "    local -a verbs"]
    lines += [
        *_zsh_verb(_verb_lines()),
        "    local verb=$words[2]",
        "    shift words",
        "    (( CURRENT-- ))",
    ]
    for name, inner in _inner_lines().items():
        lines += [
            f"    if [[ $verb == {name} ]]; then",
            *_zsh_verb(inner),
            '    verb+=" $words[2]"',
            "    shift words",
            "    (( CURRENT-- ))",
            "    fi",
        ]
    lines.append("    case $verb in")
    for name, options in verbs.items():
        lines.append(f"        '{name}') _arguments -S \\")
        for option in options:
            for text in option.names:
                lines.append(f"            {_quoted(_zsh_option(text, option))} \\")
        last = "'*:shell:(bash zsh fish)'" if name == "completion" else "'*:source:_files'"
        lines.append(f"            {last} ;;")
    return [*lines, "    esac", "}", "compdef _metalog metalog kraft-metalog"]


def _zsh_verb(lines: dict[str, str]) -> list[str]:
    return [
        "    verbs=(",
        *(f"        {_quoted(f'{name}:{line}')}" for name, line in lines.items()),
        "    )",
        "    if (( CURRENT == 2 )); then",
        "        _describe verb verbs",
        "        return",
        "    fi",
    ]


def _zsh_option(text: str, option: _Option) -> str:
    line = option.line.replace("[", "(").replace("]", ")").replace(":", "\\:")
    value = "" if option.values is None else ":value:_files"
    if option.values:
        value = f":value:({' '.join(option.values)})"
    return f"*{text}[{line}]{value}"


def _fish(verbs: dict[str, list[_Option]]) -> list[str]:
    lines = [
        f"complete -c metalog -n __fish_use_subcommand -f -a {name} -d {_quoted(line)}"
        for name, line in _verb_lines().items()
    ]
    for name, inner in _inner_lines().items():
        seen = f"__fish_seen_subcommand_from {name}"
        unseen = f"not __fish_seen_subcommand_from {' '.join(inner)}"
        lines += [
            f"complete -c metalog -n '{seen}; and {unseen}' -f -a {word} -d {_quoted(line)}"
            for word, line in inner.items()
        ]
    for name, options in verbs.items():
        words_seen = [f"__fish_seen_subcommand_from {word}" for word in name.split()]
        seen = f"-n '{'; and '.join(words_seen)}'"
        for option in options:
            words = " ".join(
                f"-l {text[2:]}" if text.startswith("--") else f"-s {text[1:]}"
                for text in option.names
            )
            value = "" if option.values is None else " -r"
            if option.values:
                value = f" -x -a {_quoted(' '.join(option.values))}"
            lines.append(f"complete -c metalog {seen} {words}{value} -d {_quoted(option.line)}")
    lines.append(
        "complete -c metalog -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'"
    )
    return [*lines, "complete -c kraft-metalog -w metalog"]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


_WRITERS: Final = {"bash": _bash, "zsh": _zsh, "fish": _fish}
