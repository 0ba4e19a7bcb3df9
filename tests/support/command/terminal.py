"""Runs a command at a pseudo terminal, and types its input.

This module must not know the code under test.
"""

from __future__ import annotations

import os
import pty
import select
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence

from tests.support.kafka.cases import REPOSITORY

LIMIT_S = 120
_LOCAL_MODES = 3


def at_a_terminal(
    command: Sequence[str],
    *,
    typed: str = "",
    answers: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
) -> tuple[str, int]:
    """The output of ``command`` at a terminal, and its exit code.

    The terminal does not echo, and has ``typed`` from the start. With ``answers``, it echoes as
    terminals do, and each answer is typed when its prompt is at the end of the output.
    """
    ours, its = pty.openpty()
    left = dict(answers or {})
    if answers is None:
        modes = termios.tcgetattr(its)
        modes[_LOCAL_MODES] &= ~termios.ECHO
        termios.tcsetattr(its, termios.TCSANOW, modes)
        os.write(ours, typed.encode())
    process = subprocess.Popen(
        command,
        stdin=its,
        stdout=its,
        stderr=its,
        env={**os.environ, "TERM": "xterm", "PAGER": "cat", **(environment or {})},
        cwd=REPOSITORY,
        start_new_session=True,
    )
    os.close(its)
    printed = b""
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        if not select.select([ours], [], [], 0.1)[0]:
            continue
        try:
            chunk = os.read(ours, 65_536)
        except OSError:
            break
        if not chunk:
            break
        printed += chunk
        for prompt in list(left):
            if printed.endswith(prompt.encode()):
                os.write(ours, left.pop(prompt).encode())
    os.close(ours)
    return printed.decode().replace("\r\n", "\n"), process.wait(LIMIT_S)
