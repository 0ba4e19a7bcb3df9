"""Pauses Python's cyclic garbage collector during a load of many long-lived objects.

A replay creates millions of small objects and no cycle. A collector that runs during the load
walks them again and again, and each later full collection walks them once more. At 500,000 ACLs
the walks take half of the load's CPU, and each full one stops every thread for half a second. So
the collector is off during a load, and the objects that exist afterwards are frozen
(``gc.freeze``). Reference counting still frees unused objects.

The collector belongs to the process: cycles that other threads leave behind during a
load are frozen too, and never freed. This module must not know what is loaded.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Iterator[None]:
    """Switch the collector off within the block, and freeze all objects at its end.

    A process that has switched its collector off keeps it off, and nothing is frozen.
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
