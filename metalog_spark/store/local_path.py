"""Paths of this machine's disk, as Spark names them.

This module must not know what a file holds.
"""

from __future__ import annotations

import re


def local_path(named: str) -> str:
    """The path of a file on this machine, or on a disk that all share.

    Args:
        named: the path as Spark has it, ``file:/x`` or ``file:///x``; others stay as they are.
    """
    return re.sub(r"^file:/+", "/", named)
