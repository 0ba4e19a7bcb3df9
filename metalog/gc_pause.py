"""Pauses Python's cyclic garbage collector during a load of many long-lived objects.

A replay creates millions of small objects and no cycle. A collector that runs during the load
visits these objects many times. With 500,000 ACLs, the visits take half of the load's CPU time.
After the load, each full collection would stop every thread for half a second. So the collector is
off during the load, and all objects are frozen at its end (``gc.freeze``). Reference counting still
frees unused objects.

A process has one collector. So a cycle that another thread leaves behind during a load is frozen
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
