"""``metalog completion SHELL``: a script that completes verbs, options and file names.

The script is written from the parsers of the verbs, so it knows what they know.
This module must not know what any verb does.
"""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser, Namespace
from importlib import import_module
from typing import Final, NamedTuple

from shell.options import build_parser
from shell.output import Output

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
    from shell.main import VERBS

    return {
        name: _options(build_parser(name, verb.line, import_module(verb.module)))
        for name, verb in VERBS.items()
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


def _bash(verbs: dict[str, list[_Option]]) -> list[str]:
    cases = []
    for name, options in verbs.items():
        words = " ".join(text for option in options for text in option.names)
        cases.append(f"        {name}) words='{words}' ;;")
    values = {
        text: " ".join(option.values)
        for options in verbs.values()
        for option in options
        for text in option.names
        if option.values
    }
    return [
        "_metalog() {",
        "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}",
        "    local verb=${COMP_WORDS[1]} words=",
        "    COMPREPLY=()",
        "    if (( COMP_CWORD == 1 )); then",
        f"        COMPREPLY=($(compgen -W '{' '.join(verbs)} --help --version' -- \"$current\"))",
        "        return",
        "    fi",
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
    lines = ["#compdef metalog kraft-metalog", "_metalog() {", "    local -a verbs", "    verbs=("]
    lines += [f"        {_quoted(f'{name}:{line}')}" for name, line in _verb_lines().items()]
    lines += [
        "    )",
        "    if (( CURRENT == 2 )); then",
        "        _describe verb verbs",
        "        return",
        "    fi",
        "    local verb=$words[2]",
        "    shift words",
        "    (( CURRENT-- ))",
        "    case $verb in",
    ]
    for name, options in verbs.items():
        lines.append(f"        {name}) _arguments -S \\")
        for option in options:
            for text in option.names:
                lines.append(f"            {_quoted(_zsh_option(text, option))} \\")
        last = "'*:shell:(bash zsh fish)'" if name == "completion" else "'*:source:_files'"
        lines.append(f"            {last} ;;")
    return [*lines, "    esac", "}", "compdef _metalog metalog kraft-metalog"]


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
    for name, options in verbs.items():
        seen = f"-n '__fish_seen_subcommand_from {name}'"
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
