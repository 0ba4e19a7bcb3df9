"""``metalog shell`` at a real terminal (a pseudo one): it prompts, answers, and leaves."""

import os
import pty
import select
import subprocess
import sys
import time

import pytest
from cases import DEMO

from shell.version import VERSION

LIMIT_S = 30


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


def wait_for(ours: int, text: str) -> None:
    seen = b""
    deadline = time.monotonic() + LIMIT_S
    while text.encode() not in seen:
        ready, _, _ = select.select([ours], [], [], max(0.0, deadline - time.monotonic()))
        assert ready, f"{text!r} did not come: {seen.decode(errors='replace')!r}"
        seen += os.read(ours, 65536)


def test_a_visit(terminal):
    process, ours = terminal
    wait_for(ours, "/>")
    os.write(ours, b"cat /local/v\t\r")
    wait_for(ours, VERSION)
    wait_for(ours, "/>")
    os.write(ours, b"cd acl\r")
    wait_for(ours, "/acl>")
    os.write(ours, b"\x04")
    assert process.wait(LIMIT_S) == 0
