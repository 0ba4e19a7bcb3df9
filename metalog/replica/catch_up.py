"""Reads a log to its end into a loader; if the newest snapshot is damaged, from an older one.

This module must not know threads, nor whether the log is followed afterwards.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress

from metalog.errors import MetalogError
from metalog.ids import FORMATTED_SNAPSHOT, SnapshotId
from metalog.loader import Loader, feed
from metalog.ports import Log, SnapshotNeeded

_log = logging.getLogger(__name__)


def catch_up(loader: Loader, log: Log, is_over: Callable[[], bool]) -> None:
    """Feed ``log`` to ``loader`` from the loader's position to the log's end.

    Returns earlier once ``is_over()``. Raises what the log and the loader raise.
    """
    while not _read_to_end(loader, log, is_over):
        pass


def _read_to_end(loader: Loader, log: Log, is_over: Callable[[], bool]) -> bool:
    """Read to the end; False if an older snapshot was loaded, so that reading must begin again."""
    for event in log.read(loader.position):
        try:
            feed(loader, log, (event,))
        except MetalogError as fault:
            if not isinstance(event, SnapshotNeeded) or not _load_older(loader, log, event.id):
                raise
            _log.warning("%s; an older snapshot and the log were used instead", fault)
            return False
        if is_over():
            break
    return True


def _load_older(loader: Loader, log: Log, damaged: SnapshotId) -> bool:
    """Load the newest whole snapshot before ``damaged`` from which the log continues."""
    start = log.bounds().start
    for older in reversed(log.snapshots()):
        if older != FORMATTED_SNAPSHOT and start <= older.end_offset < damaged.end_offset:
            with suppress(MetalogError):
                loader.load_snapshot(older, log.open_snapshot(older))
                return True
    return False
