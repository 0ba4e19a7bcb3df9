"""Counted words: ``1 ACL``, ``1,200 ACLs``. Whatever is counted for a person is written by these.

This module must not know what is counted.
"""

from __future__ import annotations


def plural(number: int, one: str, many: str | None = None) -> str:
    """``one`` where ``number`` is 1, else ``many``, which is ``one`` and an s if left out."""
    return one if number == 1 else many or f"{one}s"


def counted(number: int, one: str, many: str | None = None) -> str:
    """``1 line``, ``1,200 lines``; ``one`` may be several words, the last of which is counted."""
    return f"{number:,} {plural(number, one, many)}"
