"""Groups items by a key. This module must not know what the items are."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


def grouped(items: Iterable[V], key: Callable[[V], K]) -> dict[K, list[V]]:
    """The items of each key; keys and items have the order of ``items``."""
    groups: dict[K, list[V]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups
