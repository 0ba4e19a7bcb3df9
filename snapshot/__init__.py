"""Reads and writes checkpoint files, and decides when a log needs a new one.

The names below are the public API; each is imported when first used.
"""

from typing import TYPE_CHECKING

from metalog.lazy import lazy_names

if TYPE_CHECKING:
    from snapshot.formatting import format_log as format_log
    from snapshot.generator import SnapshotGenerator as SnapshotGenerator
    from snapshot.upkeep import Upkeep as Upkeep

if not TYPE_CHECKING:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "snapshot.generator": "SnapshotGenerator",
            "snapshot.formatting": "format_log",
            "snapshot.upkeep": "Upkeep",
        },
    )
