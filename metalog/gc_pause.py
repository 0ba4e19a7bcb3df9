"""Pauses Python's cyclic garbage collector during a load of many long-lived objects.

A replay creates millions of small objects and no cycle. With 500,000 ACLs, a collector that runs
during the load takes half of the CPU time, and each full collection after the load stops every
thread for half a second. So the collector is off during the load, and all objects are frozen at the
end (``gc.freeze``). Reference counting still frees unused objects.

A process has one collector, so a cycle that another thread leaves behind during the load is frozen
too, and never freed. This module must not know what is loaded.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Iterator[None]:
    """Switch the collector off within the block, and freeze all objects at the end of the block.

    If the collector is off before the block, nothing changes.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
