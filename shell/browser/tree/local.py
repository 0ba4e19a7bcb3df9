"""``/local``: the program's own version, as in Kafka's shell.

This module must not know the metadata.
"""

from __future__ import annotations

from shell.browser.nodes import Directory, Leaf, fixed
from shell.version import VERSION


def local_directory() -> Directory:
    """``/local``. The commit is unknown in an installed package."""
    return fixed({"version": lambda: Leaf(VERSION), "commitId": lambda: Leaf("unknown")})
