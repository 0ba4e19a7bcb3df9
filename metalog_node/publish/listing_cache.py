"""Long listings of ACLs: each is written once, on a thread, and kept until an ACL has changed.

Ten thousand ACLs take a quarter of a second to write, in which the event loop would serve
nobody. This module must not know how a listing is written.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Final

from metalog.image.delta import MetadataDelta
from metalog.image.manifest import Manifest
from metalog.image.metadata import MetadataImage

_KEPT: Final = 8


class Listings:
    """A publisher, which comes after those that are listed from: what is kept is forgotten once
    they have the news."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="metalog-listing")
        self._lock = Lock()
        self._kept: OrderedDict[Hashable, Future[bytes]] = OrderedDict()

    def written(self, asked: Hashable, write: Callable[[], bytes]) -> Future[bytes]:
        """What ``write`` gave when this was last ``asked``, if nothing has changed since."""
        with self._lock:
            kept = self._kept.get(asked)
            if kept is None:
                kept = self._kept[asked] = self._thread.submit(write)
                if len(self._kept) > _KEPT:
                    self._kept.popitem(last=False)
            return kept

    def publish(self, delta: MetadataDelta, image: MetadataImage, manifest: Manifest) -> None:
        if delta.acls is None:
            return
        with self._lock:
            self._kept.clear()

    def close(self) -> None:
        self._thread.shutdown()
