"""The script for bash.

readline also splits a line at some of ``@ : =`` and replaces only the text after the last of them.
So the script reads the whole line, and removes from each proposal the part before that text. This
module must not know any verb.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from shell.views.completion.completed import FIRST_OPTIONS, NAMES, CompletedCommand

_SCRIPT: Final = r"""_metalog_match() {
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


def bash_script(command: CompletedCommand) -> list[str]:
    script = _SCRIPT
    for placeholder, text in {
        "%names": NAMES,
        "%first": " ".join((*command.lines, *FIRST_OPTIONS)),
        "%inner": "\n".join(_inner(command)),
        "%values": "\n".join(_values(command)),
        "%verbs": "\n".join(_verbs(command)),
    }.items():
        script = script.replace(placeholder, text, 1)
    return script.splitlines()


def _inner(command: CompletedCommand) -> Iterator[str]:
    for name, lines in command.inner_lines.items():
        yield f"    if [[ $verb == {name} ]]; then"
        yield f"        verb+=\" ${{typed[2]}}\" words='{' '.join((*lines, *FIRST_OPTIONS))}'"
        yield "        (( last == 2 )) &&"
        yield '            { COMPREPLY=($(compgen -W "$words" -- "$current")); return; }'
        yield "    fi"


def _values(command: CompletedCommand) -> Iterator[str]:
    for name, completed in command.verbs.items():
        for option in completed.options:
            proposes = f"_metalog_names {option.kind}" if option.kind else ""
            if option.values:
                proposes = f"_metalog_match '{' '.join(option.values)}' \"$current\""
            if proposes:
                yield from (
                    f"        '{name}:{text}') {proposes}; return ;;" for text in option.names
                )


def _verbs(command: CompletedCommand) -> Iterator[str]:
    for name, completed in command.verbs.items():
        words = " ".join(text for option in completed.options for text in option.names)
        kind = f" kind={completed.kind}" if completed.kind else ""
        yield f"        '{name}') words='{words}' others='{' '.join(completed.words)}'{kind} ;;"
