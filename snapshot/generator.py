"""Decides when to write a snapshot: after enough new bytes or records, or enough time.

This module must not know how a snapshot is written.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from metalog.image.delta import MetadataDelta
from metalog.image.manifest import Manifest, SnapshotManifest
from metalog.image.metadata import MetadataImage

WriteSnapshot = Callable[[MetadataImage], Path]


class SnapshotGenerator:
    """A publisher that calls ``write`` when a snapshot is due, and deletes nothing.

    A snapshot is due at the first image after ``max_bytes`` bytes, ``max_records`` records or
    ``max_ms`` milliseconds. None means no limit. ``written`` is the newest path from ``write``.
    After an error of ``write``, the next snapshot is due as after a success, as in Kafka.
    """

    def __init__(
        self,
        write: WriteSnapshot,
        *,
        max_bytes: int | None = None,
        max_records: int | None = None,
        max_ms: int | None = None,
        now_ms: Callable[[], int] = lambda: time.monotonic_ns() // 1_000_000,
    ) -> None:
        self._write = write
        self._max_ms = max_ms
        self._now_ms = now_ms
        self._since_ms = now_ms()
        self._max_bytes = max_bytes
        self._max_records = max_records
        self._bytes = 0
        self._records = 0
        self.written: Path | None = None

    def publish(self, delta: MetadataDelta, image: MetadataImage, manifest: Manifest) -> None:
        """Write a snapshot of ``image`` if one is due."""
        if isinstance(manifest, SnapshotManifest):
            self._restart()
            return
        self._bytes += manifest.size
        self._records += manifest.records
        if (
            _passed(self._bytes, self._max_bytes)
            or _passed(self._records, self._max_records)
            or _passed(self._now_ms() - self._since_ms, self._max_ms)
        ):
            self._restart()
            self.written = self._write(image)

    def _restart(self) -> None:
        self._bytes = self._records = 0
        self._since_ms = self._now_ms()


def _passed(count: int, bound: int | None) -> bool:
    return bound is not None and count >= bound
