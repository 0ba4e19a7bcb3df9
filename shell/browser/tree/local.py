"""``/local``: the program itself, where Kafka's shell says its own version.

This module must not know the metadata.
"""

from __future__ import annotations

from shell.browser.nodes import Directory, Leaf, fixed
from shell.version import VERSION


def local_directory() -> Directory:
    """``/local``. A released package does not know the commit that it was built from."""
    return fixed({"version": lambda: Leaf(VERSION), "commitId": lambda: Leaf("unknown")})
