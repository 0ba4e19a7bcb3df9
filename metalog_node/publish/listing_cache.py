"""A cache of long ACL listings. A thread encodes the listings.

A change of ACLs removes all listings. The encoder of the latest listing stays, because it can reuse
unchanged parts. Only one encoder stays, because an encoder holds its listing's ACLs in memory. This
module must not know how a listing is encoded.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Final

from metalog.image.delta import MetadataDelta
from metalog.image.manifest import Manifest
from metalog.image.metadata import MetadataImage

_KEPT: Final = 8

Pieces = Sequence[bytes]
"""The bytes of an encoded listing, in order."""


class Listings:
    """A publisher. The authorizer must be an earlier publisher, so that new listings have the new
    ACLs."""

    def __init__(self) -> None:
        self.is_loaded = False
        """Whether the earlier publishers have the whole log."""
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="metalog-listing")
        self._lock = Lock()
        self._kept: OrderedDict[Hashable, Future[Pieces]] = OrderedDict()
        self._latest: tuple[Hashable, Callable[[], Pieces]] | None = None

    def written(self, key: Hashable, make: Callable[[], Callable[[], Pieces]]) -> Future[Pieces]:
        """The encoded listing for ``key``, from the cache or from the encoder that ``make``
        returns. After a change of ACLs, the cache may call the encoder again."""
        with self._lock:
            kept = self._kept.get(key)
            if kept is None:
                if self._latest is None or self._latest[0] != key:
                    self._latest = key, make()
                kept = self._kept[key] = self._thread.submit(self._latest[1])
                if len(self._kept) > _KEPT:
                    self._kept.popitem(last=False)
            return kept

    def publish(self, delta: MetadataDelta, image: MetadataImage, manifest: Manifest) -> None:
        self.is_loaded = True
        if delta.acls is None:
            return
        with self._lock:
            self._kept.clear()
            if delta.acls.is_replacement:
                self._latest = None

    def close(self) -> None:
        self._thread.shutdown()
