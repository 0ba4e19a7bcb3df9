"""A cache of long ACL listings: a thread encodes each once, and it is kept until an ACL changes.

Encoding ten thousand ACLs takes a quarter of a second, too long for the event loop. This module
must not know how a listing is encoded.
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
    """A publisher after the authorizer: it drops the cache once the authorizer has the new ACLs."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="metalog-listing")
        self._lock = Lock()
        self._kept: OrderedDict[Hashable, Future[bytes]] = OrderedDict()

    def written(self, asked: Hashable, write: Callable[[], bytes]) -> Future[bytes]:
        """The encoded listing for ``asked``: from the cache, or by ``write`` if an ACL changed
        since."""
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
