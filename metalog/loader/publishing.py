"""Delivers images to publishers, in order, and isolates each publisher's faults.

This module must not know what a publisher does, nor where images come from.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from threading import Lock
from typing import NamedTuple

from metalog.image.delta import MetadataDelta
from metalog.image.manifest import Manifest
from metalog.image.metadata import MetadataImage
from metalog.ports import Gate, LoadObserver, Publisher

_log = logging.getLogger(__name__)


class PublisherFault(NamedTuple):
    """A publisher's latest ``error``, at the image that ends at ``offset``.

    ``times`` counts the publisher's errors. After an error, its next delta is the whole image.
    ``healed`` is true after the publisher has accepted the whole image.
    """

    publisher: str
    offset: int
    error: Exception
    times: int
    healed: bool


class Publishers:
    """The publishers of one loader, and their faults.

    A gate opens at the first image, because the loader publishes nothing before it is ready.
    """

    def __init__(self, publishers: Iterable[Publisher]) -> None:
        self._publishers = tuple(publishers)
        self._lock = Lock()
        self._faults: dict[int, PublisherFault] = {}

    @property
    def faults(self) -> Sequence[PublisherFault]:
        return tuple(self._faults.values())

    def publish(self, delta: MetadataDelta, image: MetadataImage, manifest: Manifest) -> None:
        with self._lock:
            self._publish(delta, image, manifest)

    def _publish(self, delta: MetadataDelta, image: MetadataImage, manifest: Manifest) -> None:
        for number, publisher in enumerate(self._publishers):
            fault = self._faults.get(number)
            try:
                if fault is None or fault.healed:
                    publisher.publish(delta, image, manifest)
                else:
                    publisher.publish(MetadataDelta.of_whole(image), image, manifest)
            except Exception as error:
                _log.exception(
                    "%s failed at the changes up to offset %d; its next delta is the whole image",
                    type(publisher).__name__,
                    image.provenance.offset,
                )
                times = 1 if fault is None else fault.times + 1
                self._faults[number] = PublisherFault(
                    type(publisher).__name__, image.provenance.offset, error, times, healed=False
                )
                if isinstance(publisher, LoadObserver):
                    publisher.note_load_fault(error)
            else:
                if fault is not None:
                    self._faults[number] = fault._replace(healed=True)
                if isinstance(publisher, Gate):
                    publisher.complete_initial_load()

    def note_staleness(self, for_ms: int) -> None:
        """Tell gates how long the image has been stale; any thread may call this method."""
        with self._lock:
            for publisher in self._publishers:
                if isinstance(publisher, Gate):
                    publisher.note_staleness(for_ms)
