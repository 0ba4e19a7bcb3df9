"""Checkpoint files: their reading and writing, and when a log gets a new one.

The names below are what others need from here; each is imported when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snapshot.upkeep import Upkeep as Upkeep

__all__ = ["Upkeep"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = import_module("snapshot.upkeep").Upkeep
    globals()[name] = value
    return value
