"""A long run: a promise, and tries of it that follow from a seed. This module must not know any one
promise."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Promise(NamedTuple):
    """``unit`` tries the promise with a seed, returns the number of tries, and raises
    ``AssertionError`` where it is broken."""

    name: str
    tried: str
    """The unit of a try, for the page."""
    unit: Callable[[int], int]
