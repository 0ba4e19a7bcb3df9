"""Pauses Python's cyclic garbage collector during a load of many long-lived objects.

A load creates millions of small objects and no cycle. With 500,000 ACLs, the collector would take
half of the load's CPU time. Later, each full collection would stop every thread for half a second,
so ``gc.freeze`` excludes the loaded objects from it.

All threads share the collector. A cycle that another thread leaves behind during the load is never
freed. This module must not know what is loaded.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Iterator[None]:
    """Switch the collector off within the block, and freeze all objects at the end.

    If the collector is already off, do nothing.
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
