"""A node run by ``metalog serve`` in a process of its own, as a person starts and stops it.

This module must not know what is asked of it.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

OPEN = re.compile(r"Listener (\S+) \(\S+\) is open on (\S+)\.")


@contextmanager
def served(*arguments: str, listeners: int = 1) -> Iterator[dict[str, str]]:
    """Listener to address, once so many are open; stopped by SIGTERM at the end."""
    command = [sys.executable, "-W", "error", "-m", "shell.main", "serve", *arguments]
    node = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert node.stdout is not None
    addresses: dict[str, str] = {}
    try:
        while len(addresses) < listeners:
            line = node.stdout.readline()
            if not line:
                raise RuntimeError(f"it did not start: {node.communicate()[1]}")
            if (match := OPEN.match(line)) is not None:
                addresses[match[1]] = match[2]
        yield addresses
        node.send_signal(signal.SIGTERM)
        said, errors = node.communicate(timeout=20)
        assert said.splitlines()[-1] == "Stopped.", errors
        assert node.returncode == 0, errors
    finally:
        node.kill()
        node.wait()
        for stream in (node.stdout, node.stderr):
            if stream is not None:
                stream.close()
