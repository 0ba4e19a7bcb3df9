"""A node that ``metalog serve`` runs in a process of its own, as a person starts and stops it.

This module must not know what it is used for.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

OPEN = re.compile(r"Listener (\S+) \(\S+\) is open on (\S+)\.")


@contextmanager
def served(
    *arguments: str, listeners: int = 1, log: Path | None = None, first: str = ""
) -> Iterator[dict[str, str]]:
    """Each listener's address, once ``listeners`` of them are open; stopped by SIGTERM at the end.
    The file ``log``, if given, then has its log. ``first`` is Python code that the process runs
    first."""
    with _started(*arguments, first=first) as node:
        yield _opened(node, listeners)
        node.send_signal(signal.SIGTERM)
        said, errors = node.communicate(timeout=60)
        assert said.splitlines()[-1] == "Stopped.", errors
        assert node.returncode == 0, errors
        if log is not None:
            log.write_text(errors)


@contextmanager
def killed_at_the_end(*arguments: str, listeners: int = 1) -> Iterator[dict[str, str]]:
    """The same, killed by SIGKILL at the end."""
    with _started(*arguments) as node:
        yield _opened(node, listeners)


@contextmanager
def _started(*arguments: str, first: str = "") -> Iterator[subprocess.Popen[str]]:
    script = f"{first}\nimport sys\nfrom shell.main import main\nsys.exit(main())"
    command = [sys.executable, "-W", "error", "-c", script, "serve", *arguments]
    node = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield node
    finally:
        node.kill()
        node.wait()
        for stream in (node.stdout, node.stderr):
            if stream is not None:
                stream.close()


def _opened(node: subprocess.Popen[str], listeners: int) -> dict[str, str]:
    assert node.stdout is not None
    addresses: dict[str, str] = {}
    while len(addresses) < listeners:
        line = node.stdout.readline()
        if not line:
            raise RuntimeError(f"it did not start: {node.communicate()[1]}")
        if (match := OPEN.match(line)) is not None:
            addresses[match[1]] = match[2]
    return addresses
