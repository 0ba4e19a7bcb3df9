"""Compares two texts: whether they are one typing error apart.

This module must not know what the texts name.
"""

from __future__ import annotations

from authorizer.engine.prefixes import common_prefix


def one_edit_apart(left: str, right: str) -> bool:
    """Whether they differ by one added, missing or changed character, or by two swapped ones."""
    if len(left) > len(right):
        left, right = right, left
    growth = len(right) - len(left)
    if growth > 1 or left == right:
        return False
    start = common_prefix(left, right)
    if growth:
        return left[start:] == right[start + 1 :]
    if left[start + 1 :] == right[start + 1 :]:
        return True
    swapped = left[start + 1 : start + 2] + left[start : start + 1]
    return swapped == right[start : start + 2] and left[start + 2 :] == right[start + 2 :]
