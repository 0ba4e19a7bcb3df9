"""A publisher that reports when the first image is published, or what prevents the publication.

This module must not know what an image contains.
"""

from __future__ import annotations

from metalog.futures import InitialLoad
from metalog.image.delta import MetadataDelta
from metalog.image.manifest import Manifest
from metalog.image.metadata import MetadataImage


class LoadGate:
    """The future ``loaded`` completes at the first published image, or at a ``ConfigException``."""

    def __init__(self) -> None:
        self.loaded = InitialLoad()

    def publish(self, delta: MetadataDelta, image: MetadataImage, manifest: Manifest) -> None:
        """Ignore the image."""

    def complete_initial_load(self) -> None:
        self.loaded.complete()

    def note_load_fault(self, fault: Exception) -> None:
        self.loaded.note_fault(fault)

    def note_staleness(self, for_ms: int) -> None:
        """Do nothing, because the log stays loaded."""
