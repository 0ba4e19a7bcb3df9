"""``metalog shell`` at a pseudo-terminal: it prompts, answers, and ends."""

import os
import pty
import select
import subprocess
import sys
import time

import pytest

from shell.version import VERSION
from tests.support.kafka.cases import DEMO

LIMIT_S = 120


@pytest.fixture
def terminal():
    """The command at a terminal: its process, and the terminal's other end."""
    ours, its = pty.openpty()
    command = [sys.executable, "-m", "shell.main", "shell", str(DEMO / "log-dir")]
    environ = {**os.environ, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"}
    environ.pop("HOME", None)
    process = subprocess.Popen(command, stdin=its, stdout=its, stderr=its, env=environ)
    os.close(its)
    try:
        yield process, ours
    finally:
        process.kill()
        process.wait()
        os.close(ours)


class Screen:
    """The text on the terminal; a wait never matches the same part twice."""

    def __init__(self, ours: int) -> None:
        self._ours = ours
        self._left = b""

    def wait_for(self, text: str) -> None:
        deadline = time.monotonic() + LIMIT_S
        while text.encode() not in self._left:
            timeout_s = max(0.0, deadline - time.monotonic())
            ready, _, _ = select.select([self._ours], [], [], timeout_s)
            assert ready, f"{text!r} did not come: {self._left.decode(errors='replace')!r}"
            self._left += os.read(self._ours, 65536)
        _, _, self._left = self._left.partition(text.encode())


def test_a_visit(terminal):
    process, ours = terminal
    screen = Screen(ours)
    screen.wait_for("/>")
    os.write(ours, b"cat /local/v\t\r")
    screen.wait_for(VERSION)
    screen.wait_for("/>")
    os.write(ours, b"cd acl\r")
    screen.wait_for("/acl>")
    os.write(ours, b"\x04")
    assert process.wait(LIMIT_S) == 0
