"""A cache of long ACL listings: a thread encodes each once, and it is kept until an ACL changes.

What encodes the latest one is kept across changes, so that it can reuse what they leave as it was:
only one, since it holds the ACLs that it last encoded. This module must not know how a listing is
encoded.
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
"""Of an encoded listing, in order."""


class Listings:
    """A publisher after the authorizer: it drops the cache once the authorizer has the new ACLs."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="metalog-listing")
        self._lock = Lock()
        self._kept: OrderedDict[Hashable, Future[Pieces]] = OrderedDict()
        self._latest: tuple[Hashable, Callable[[], Pieces]] | None = None

    def written(
        self, asked: Hashable, writer: Callable[[], Callable[[], Pieces]]
    ) -> Future[Pieces]:
        """The encoded listing for ``asked``: from the cache, or, if an ACL changed since, by what
        ``writer`` returns, which is called again after later changes."""
        with self._lock:
            kept = self._kept.get(asked)
            if kept is None:
                if self._latest is None or self._latest[0] != asked:
                    self._latest = asked, writer()
                kept = self._kept[asked] = self._thread.submit(self._latest[1])
                if len(self._kept) > _KEPT:
                    self._kept.popitem(last=False)
            return kept

    def publish(self, delta: MetadataDelta, image: MetadataImage, manifest: Manifest) -> None:
        if delta.acls is None:
            return
        with self._lock:
            self._kept.clear()
            if delta.acls.is_replacement:
                self._latest = None

    def close(self) -> None:
        self._thread.shutdown()
