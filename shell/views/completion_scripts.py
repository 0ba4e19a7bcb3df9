"""Scripts with which bash, fish and zsh complete the command.

bash also splits words at some of ``@ : =``, and replaces only the text after the last split. So
bash's script removes the text before this split from each proposal. This module must not know any
verb.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

NAMES: Final = "names"
"""The argument of ``metalog completion`` by which a script gets names."""
QUESTION: Final = "question"
"""The kind of the names in a QUESTION: principals and resources."""
LOGIN: Final = "login"
"""The kind of the names of SCRAM users."""
FIRST_OPTIONS: Final = ("--help", "--version")
"""Options that may stand before the verb."""
_BASH_SCRIPT: Final = r"""_metalog_match() {
    local word kept=$(shopt -p nocasematch)
    shopt -s nocasematch
    for word in $1; do [[ $word == "$2"* ]] && COMPREPLY+=("$word"); done
    $kept
}
# compgen -W would run a name such as $(…).
_metalog_known() {
    local name
    while IFS= read -r name; do [[ $name == "$current"* ]] && COMPREPLY+=("$name")
    done < <(metalog completion %names "$@" 2>/dev/null)
}
_metalog_names() {
    [[ ${typed[2]} != -* ]] && (( last > 2 )) &&
        _metalog_known "${typed[2]}" "$1" "$current"
}
_metalog_propose() {
    local words= others= kind=
    if (( last == 1 )); then
        COMPREPLY=($(compgen -W '%first' -- "$current"))
        return
    fi
%inner
    case "$verb:$previous" in
%values
    esac
    [[ $verb == completion && $current != -* ]] &&
        { COMPREPLY=($(compgen -W 'bash zsh fish' -- "$current")); return; }
    case "$verb" in
%verbs
    esac
    [[ $current == @* ]] && { _metalog_known; return; }
    [[ $current == -* ]] || {
        _metalog_match "$others" "$current"
        [[ -z $kind ]] || _metalog_names "$kind"
        [[ ${#COMPREPLY[@]} == 0 ]] && compopt -o filenames 2>/dev/null
        local IFS=$'\n'
        COMPREPLY+=($(compgen -f -- "$current"))
        return
    }
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}
_metalog() {
    local line=${COMP_LINE:0:COMP_POINT} typed=() head= option= at
    read -ra typed <<<"$line"
    [[ $line == *[[:space:]] ]] && typed+=("")
    local last=$(( ${#typed[@]} - 1 )) verb=${typed[1]}
    local current=${typed[last]} previous=${typed[last-1]}
    [[ $current == --*=* ]] &&
        option=${current%%=*} previous=${current%%=*} current=${current#*=}
    COMPREPLY=()
    _metalog_propose
    for (( at = 0; at < ${#current}; at++ )); do
        [[ $COMP_WORDBREAKS == *"${current:at:1}"* ]] && head=${current:0:at+1}
    done
    COMPREPLY=("${COMPREPLY[@]#"$head"}")
    [[ -n $option && $COMP_WORDBREAKS != *=* ]] &&
        COMPREPLY=("${COMPREPLY[@]/#/$option=}")
    [[ ${#COMPREPLY[@]} == 1 && $COMPREPLY == *: ]] &&
        compopt -o nospace 2>/dev/null
    return 0
}
complete -F _metalog metalog kraft-metalog"""


class CompletedOption(NamedTuple):
    """``values`` is None for an option without a value, and empty if any value is valid. ``kind``
    says which names of a SOURCE the option takes."""

    names: tuple[str, ...]
    line: str
    values: tuple[str, ...] | None
    kind: str = ""


class CompletedVerb(NamedTuple):
    """An argument that is not an option can be one of ``words``, a file or, unless ``kind`` is
    empty, a name of this kind in the SOURCE."""

    options: list[CompletedOption]
    words: tuple[str, ...]
    kind: str


class CompletedCommand(NamedTuple):
    """The keys of ``verbs`` are whole names, such as ``pipeline build``. ``lines`` and
    ``inner_lines`` are the descriptions of verbs and inner verbs."""

    verbs: Mapping[str, CompletedVerb]
    lines: Mapping[str, str]
    inner_lines: Mapping[str, Mapping[str, str]]


def quoted(text: str) -> str:
    """The text as one word for any shell."""
    return "'" + text.replace("'", "'\\''") + "'"


def bash_script(command: CompletedCommand) -> list[str]:
    script = _BASH_SCRIPT
    for placeholder, text in {
        "%names": NAMES,
        "%first": " ".join((*command.lines, *FIRST_OPTIONS)),
        "%inner": "\n".join(_bash_inner(command)),
        "%values": "\n".join(_bash_values(command)),
        "%verbs": "\n".join(_bash_verbs(command)),
    }.items():
        script = script.replace(placeholder, text, 1)
    return script.splitlines()


def _bash_inner(command: CompletedCommand) -> Iterator[str]:
    for name, lines in command.inner_lines.items():
        yield f"    if [[ $verb == {name} ]]; then"
        yield f"        verb+=\" ${{typed[2]}}\" words='{' '.join((*lines, *FIRST_OPTIONS))}'"
        yield "        (( last == 2 )) &&"
        yield '            { COMPREPLY=($(compgen -W "$words" -- "$current")); return; }'
        yield "    fi"


def _bash_values(command: CompletedCommand) -> Iterator[str]:
    for name, completed in command.verbs.items():
        for option in completed.options:
            proposes = f"_metalog_names {option.kind}" if option.kind else ""
            if option.values:
                proposes = f"_metalog_match '{' '.join(option.values)}' \"$current\""
            if proposes:
                yield from (
                    f"        '{name}:{text}') {proposes}; return ;;" for text in option.names
                )


def _bash_verbs(command: CompletedCommand) -> Iterator[str]:
    for name, completed in command.verbs.items():
        words = " ".join(text for option in completed.options for text in option.names)
        kind = f" kind={completed.kind}" if completed.kind else ""
        yield f"        '{name}') words='{words}' others='{' '.join(completed.words)}'{kind} ;;"


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
        when = f"-n '__metalog_verb {name}'"
        others = " ".join(completed.words)
        if completed.kind:
            lines.append(f"complete -c metalog {when} -a '(__metalog_names {completed.kind})'")
        if name != "completion":
            lines.append(f"complete -c metalog {when} -a '{others} (metalog completion {NAMES})'")
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
            lines.append(f"complete -c metalog {when} {words}{value} -d {quoted(option.line)}")
    lines.append("complete -c metalog -n '__metalog_verb completion' -f -a 'bash zsh fish'")
    return [*lines, "complete -c kraft-metalog -w metalog"]


def _fish_verbs(before: str, lines: Mapping[str, str]) -> list[str]:
    """The verbs and options that may follow exactly the words ``before``."""
    place = f"complete -c metalog -n '__metalog_words {before}'"
    return [
        *(f"{place} -f -a {name} -d {quoted(line)}" for name, line in lines.items()),
        *(f"{place} -f -a {option}" for option in FIRST_OPTIONS),
    ]


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
