"""Writes numbers with their nouns: ``1 ACL``, ``1,200 ACLs``.

This module must not know what is counted.
"""

from __future__ import annotations


def plural(number: int, one: str, many: str | None = None) -> str:
    """``one`` if ``number`` is 1, else ``many``; without ``many``, ``one`` and an s."""
    return one if number == 1 else many or f"{one}s"


def counted(number: int, one: str, many: str | None = None) -> str:
    """``1 line``, ``1,200 lines``; if ``one`` has several words, the last gets the s."""
    return f"{number:,} {plural(number, one, many)}"
