"""A publisher that only reports when the first image is published, or why it is not yet.

This module must not know what an image contains.
"""

from __future__ import annotations

from metalog.futures import InitialLoad
from metalog.image.delta import MetadataDelta
from metalog.image.manifest import Manifest
from metalog.image.metadata import MetadataImage


class LoadGate:
    """``loaded`` is done once the log was replayed up to its high-water mark."""

    def __init__(self) -> None:
        self.loaded = InitialLoad()

    def publish(self, delta: MetadataDelta, image: MetadataImage, manifest: Manifest) -> None:
        """Ignores the image."""

    def complete_initial_load(self) -> None:
        """The first image was published."""
        self.loaded.complete()

    def note_load_fault(self, fault: Exception) -> None:
        """Report ``fault``, which keeps the log from being loaded."""
        self.loaded.note_fault(fault)

    def note_staleness(self, for_ms: int) -> None:
        """Does nothing: a loaded log stays loaded, however old its image becomes."""
