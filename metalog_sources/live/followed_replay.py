"""A log that is still written, looked at again: its replay goes on from where it ended.

This module must not know what is asked of the image.
"""

from __future__ import annotations

from metalog.image.metadata import MetadataImage
from metalog.loader import Loader, feed
from metalog.ports import Log


class LiveImage:
    """Call it for the newest image. A ``MetalogError`` says why there is none; the next call
    tries again."""

    def __init__(self, log: Log, loader: Loader) -> None:
        """``loader`` has replayed ``log`` so far."""
        self._log = log
        self._loader = loader

    def __call__(self) -> MetadataImage:
        for event in self._log.read(self._loader.position):
            feed(self._loader, self._log, (event,))
        return self._loader.image
