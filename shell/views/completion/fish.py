"""The script for fish.

This module must not know any verb.
"""

from __future__ import annotations

from collections.abc import Mapping

from shell.views.completion.completed import FIRST_OPTIONS, NAMES, CompletedCommand, quoted


def fish_script(command: CompletedCommand) -> list[str]:
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
        "function __metalog_names",
        "    set -l typed (commandline -opc)",
        "    test (count $typed) -gt 2; or return",
        "    set -l word (string replace -r '^--[^=]*=' '' -- (commandline -ct))",
        f"    metalog completion {NAMES} $typed[3] $argv[1] $word 2>/dev/null",
        "end",
        *_fish_verbs("", command.lines),
    ]
    for name, inner in command.inner_lines.items():
        lines += _fish_verbs(name, inner)
    for name, completed in command.verbs.items():
        seen = f"-n '__metalog_verb {name}'"
        others = " ".join(completed.words)
        if completed.kind:
            lines.append(f"complete -c metalog {seen} -a '(__metalog_names {completed.kind})'")
        if name != "completion":
            lines.append(f"complete -c metalog {seen} -a '{others} (metalog completion {NAMES})'")
        for option in completed.options:
            words = " ".join(
                f"-l {text[2:]}" if text.startswith("--") else f"-s {text[1:]}"
                for text in option.names
            )
            value = "" if option.values is None else " -r"
            if option.values:
                value = f" -x -a {quoted(' '.join(option.values))}"
            if option.kind:
                value = f" -x -a '(__metalog_names {option.kind})'"
            lines.append(f"complete -c metalog {seen} {words}{value} -d {quoted(option.line)}")
    lines.append("complete -c metalog -n '__metalog_verb completion' -f -a 'bash zsh fish'")
    return [*lines, "complete -c kraft-metalog -w metalog"]


def _fish_verbs(before: str, lines: Mapping[str, str]) -> list[str]:
    """The verbs that may follow exactly the words ``before``."""
    place = f"complete -c metalog -n '__metalog_words {before}'"
    return [
        *(f"{place} -f -a {name} -d {quoted(line)}" for name, line in lines.items()),
        *(f"{place} -f -a {option}" for option in FIRST_OPTIONS),
    ]
