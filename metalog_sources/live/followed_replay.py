"""Continues the replay of a log that is still written.

This module must not know what the image is used for.
"""

from __future__ import annotations

from metalog.loader import Loader, Ready, feed
from metalog_sources.replay import Replayed


class LiveReplay:
    """A callable that returns the present state of a log.

    A call raises ``MetalogError`` if the log cannot be read. A later call can succeed.
    """

    def __init__(self, replayed: Replayed, loader: Loader) -> None:
        """``loader`` is the loader that produced ``replayed``."""
        self._replayed = replayed
        self._loader = loader
        loader_fault_ids = set(map(id, (doubt.fault for doubt in loader.doubts.values())))
        self._other_doubts = [
            doubt for doubt in replayed.doubts if id(doubt.fault) not in loader_fault_ids
        ]

    def __call__(self) -> Replayed:
        log, loader = self._replayed.source.log, self._loader
        for event in log.read(loader.position):
            feed(loader, log, (event,))
        bounds = log.bounds()
        return self._replayed._replace(
            image=loader.image,
            offset=min(bounds.end, loader.position),
            bounds=bounds,
            proven=log.proven,
            snapshots=tuple(log.snapshots()),
            ready=isinstance(loader.state, Ready),
            doubts=(*loader.doubts.values(), *self._other_doubts),
            skipped=loader.skipped,
        )
