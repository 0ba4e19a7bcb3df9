"""The script for zsh.

This module must not know any verb.
"""

from __future__ import annotations

from collections.abc import Mapping

from shell.views.completion.completed import (
    FIRST_OPTIONS,
    NAMES,
    CompletedCommand,
    CompletedOption,
    quoted,
)


def zsh_script(command: CompletedCommand) -> list[str]:
    lines = [
        "#compdef metalog kraft-metalog",
        "_metalog_match() {",
        "    compadd -M 'm:{a-zA-Z}={A-Za-z}' -- ${@:#*:}",
        "    compadd -M 'm:{a-zA-Z}={A-Za-z}' -S '' -- ${(M)@:#*:}",
        "}",
        "_metalog_names() {",
        "    [[ $CURRENT -gt 2 && $words[2] != -* ]] || return",
        "    local -a names",
        f'    names=($(metalog completion {NAMES} ${{(Q)words[2]}} $1 "$PREFIX" 2>/dev/null))',
        "    compadd -- $names",
        "}",
        "_metalog() {",
        "    local -a verbs",
    ]
    lines += [
        *_zsh_verb(command.lines),
        "    local verb=$words[2]",
        "    shift words",
        "    (( CURRENT-- ))",
    ]
    for name, inner in command.inner_lines.items():
        lines += [
            f"    if [[ $verb == {name} ]]; then",
            *_zsh_verb(inner),
            '    verb+=" $words[2]"',
            "    shift words",
            "    (( CURRENT-- ))",
            "    fi",
        ]
    lines.append("    case $verb in")
    for name, completed in command.verbs.items():
        lines.append(f"        '{name}') _arguments -S \\")
        for option in completed.options:
            for text in option.names:
                lines.append(f"            {quoted(_zsh_option(text, option))} \\")
        others = " ".join(completed.words)
        names = f"; _metalog_names {completed.kind}" if completed.kind else ""
        last = f"*:source:{{_files; _metalog_match {others} $(metalog completion {NAMES}){names}}}"
        last = "*:shell:(bash zsh fish)" if name == "completion" else last
        lines.append(f"            {quoted(last)} ;;")
    return [*lines, "    esac", "}", "compdef _metalog metalog kraft-metalog"]


def _zsh_verb(lines: Mapping[str, str]) -> list[str]:
    return [
        "    verbs=(",
        *(f"        {quoted(f'{name}:{line}')}" for name, line in lines.items()),
        "    )",
        "    if (( CURRENT == 2 )); then",
        "        _describe verb verbs",
        f"        compadd -- {' '.join(FIRST_OPTIONS)}",
        "        return",
        "    fi",
    ]


def _zsh_option(text: str, option: CompletedOption) -> str:
    line = option.line.replace("[", "(").replace("]", ")").replace(":", "\\:")
    value = "" if option.values is None else ":value:_files"
    if option.values:
        value = f":value: _metalog_match {' '.join(option.values)}"
    if option.kind:
        value = f":value: _metalog_names {option.kind}"
    equals = "=" if value and text.startswith("--") else ""
    return f"*{text}{equals}[{line}]{value}"
