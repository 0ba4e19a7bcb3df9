"""Writes numbers with their nouns, and ranges: ``1 ACL``, ``1,200 ACLs``, ``Monday to Friday``.

This module must not know what is counted.
"""

from __future__ import annotations


def plural(number: int, one: str, many: str | None = None) -> str:
    """``one`` if ``number`` is 1, else ``many``, which is by default ``one`` with an s."""
    return one if number == 1 else many or f"{one}s"


def counted(number: int, one: str, many: str | None = None) -> str:
    """``1 line`` or ``1,200 lines``: the number and the noun."""
    return f"{number:,} {plural(number, one, many)}"


def ranged(first: object, last: object) -> str:
    """``Monday to Friday``, or ``Monday`` if both ends are equal."""
    return str(first) if first == last else f"{first} to {last}"


def noun_range(one: str, start: int, end: int) -> str:
    """``record 7``, or ``records 7 to 9``: the noun, and the numbers ``start`` to ``end - 1``."""
    return f"{plural(end - start, one)} {ranged(start, end - 1)}"
