"""Python's cyclic garbage collector, while much is loaded that lives long.

A replay makes millions of small objects and not one cycle. A collector that runs
meanwhile walks all of them again and again, and each later full collection walks them
once more: at 500,000 ACLs that is half of the CPU of a load, and pauses of half a second
in every thread. So it rests during a load, and what is there afterwards is frozen out
of its later rounds. References still free what is no longer used.

The collector belongs to the process: cycles that other threads leave behind during a
load are frozen too and never freed. This module must not know what is loaded.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Iterator[None]:
    """No cyclic collection within; afterwards none looks at what was made before.

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
