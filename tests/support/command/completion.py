"""The completions that bash, zsh and fish propose for a line, with our completion script loaded.

zsh completes only in its line editor, so it gets a terminal, and reports its proposals through a
pipe. This module must not know the code under test.
"""

from __future__ import annotations

import os
import pty
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

_NAMES = """metalog() {
case "$3 $4" in
" ") printf '%s\\n' @prod @demo ;;
"@demo question") printf '%s\\n' topic:payments topic:payouts User:billing ;;
"@demo topic") printf '%s\\n' payments payouts ;;
esac; }
"""
"""Replaces the command, from which a script requests the names in metalog.toml and in a SOURCE."""
_FISH_NAMES = """function metalog; switch "$argv[3..4]"
case ""; printf '%s\\n' @prod @demo
case "@demo question"; printf '%s\\n' topic:payments topic:payouts User:billing
case "@demo topic"; printf '%s\\n' payments payouts
end; end
"""
_END = "-- done --"
_ZSH = (
    r"""
autoload -U compinit; compinit -u -D
source ./script
exec 9>heard
compadd() {
    local -a offered
    builtin compadd -O offered "$@"
    (( $#offered )) && print -rlu 9 -- "${(@Q)offered}"
    builtin compadd "$@"
}
end_of_it() { print -u 9 -- '"""
    + _END
    + r"""' }
zle -N end_of_it
zle-line-init() { end_of_it }
zle -N zle-line-init
bindkey '^I' complete-word
bindkey '^T' end_of_it
"""
)


def proposed(shell: str, script: str, lines: Sequence[str], folder: Path) -> dict[str, set[str]]:
    """By line: what ``shell`` proposes at the line's end, in ``folder``, with ``script``
    loaded."""
    (folder / "script").write_text(script)
    asked = {"bash": _by_bash, "zsh": _by_zsh, "fish": _by_fish}[shell]
    try:
        return asked(lines, folder)
    finally:
        (folder / "script").unlink()


def _by_bash(lines: Sequence[str], folder: Path) -> dict[str, set[str]]:
    """bash's proposals. Like readline, it also ends a word at ``@``, ``=`` and ``:``, and replaces
    the text behind the last of them."""
    text = f"{_NAMES}COMP_WORDBREAKS=' @=:'\nsource ./script\n"
    for line in lines:
        text += (
            f"COMP_LINE='{line}' COMP_POINT={len(line)}; _metalog\n"
            f"printf '%s\\n' \"${{COMPREPLY[@]}}\" '{_END}'\n"
        )
    found = _parted(_run(["bash", "--norc"], text, folder), lines)
    kept = {line: re.sub("[^@=:]*$", "", line.rpartition(" ")[2]) for line in lines}
    return {line: {f"{kept[line]}{each}" for each in found[line]} for line in lines}


def _by_fish(lines: Sequence[str], folder: Path) -> dict[str, set[str]]:
    text = f"{_FISH_NAMES}source ./script\n"
    for line in lines:
        text += f"complete -C '{line}'\necho '{_END}'\n"
    found = _parted(_run(["fish", "--no-config"], text, folder), lines)
    return {line: {each.partition("\t")[0] for each in found[line]} for line in lines}


def _run(command: Sequence[str], text: str, folder: Path) -> str:
    done = subprocess.run(
        command, input=text, cwd=folder, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stderr == ""
    return done.stdout


def _parted(printed: str, lines: Sequence[str]) -> dict[str, set[str]]:
    *parts, last = printed.split(f"{_END}\n")
    assert last == ""
    return {
        line: set(filter(None, part.splitlines())) for line, part in zip(lines, parts, strict=True)
    }


def _by_zsh(lines: Sequence[str], folder: Path) -> dict[str, set[str]]:
    (folder / "set-up").write_text(_NAMES + _ZSH)
    os.mkfifo(folder / "heard")
    ours, its = pty.openpty()
    environment: Mapping[str, str] = {**os.environ, "TERM": "dumb", "COLUMNS": "200"}
    process = subprocess.Popen(
        ["zsh", "-f", "-i"],
        stdin=its,
        stdout=its,
        stderr=its,
        env=environment,
        cwd=folder,
        start_new_session=True,
    )
    os.close(its)
    os.write(ours, b"source ./set-up\n")
    found: dict[str, set[str]] = {}
    try:
        with (folder / "heard").open() as heard:
            assert heard.readline() == f"{_END}\n"
            for line in lines:
                os.write(ours, f"{line}\t\x14\x15".encode())
                found[line] = set(iter(lambda: heard.readline().rstrip("\n"), _END))
                os.read(ours, 1 << 16)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
        (folder / "heard").unlink()
        (folder / "set-up").unlink()
    return found
