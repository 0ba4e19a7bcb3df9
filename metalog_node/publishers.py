"""What a node keeps of each image beside its authorizer: credentials, and whether it is ready.

Both are publishers on the replica's thread; any thread may read them. This module must not know
listeners or requests.
"""

from __future__ import annotations

from concurrent.futures import Future, InvalidStateError
from contextlib import suppress

from metalog.image.delta import MetadataDelta
from metalog.image.manifest import Manifest
from metalog.image.metadata import MetadataImage
from metalog.image.scram import ScramImage
from metalog.scram import ScramCredential, ScramMechanism
from metalog_node.decoys import Decoys


class Credentials:
    """The users of the newest image. ``secret`` makes decoys where there are none."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._image = MetadataImage().scram
        self._decoys: tuple[ScramImage, dict[ScramMechanism, Decoys]] = self._image, {}

    def publish(self, delta: MetadataDelta, image: MetadataImage, manifest: Manifest) -> None:
        self._image = image.scram

    def scram(self, mechanism: ScramMechanism, user: str) -> ScramCredential | None:
        return self._image.credential(mechanism, user)

    def decoy(self, mechanism: ScramMechanism, user: str) -> ScramCredential:
        """For one thread; made when first asked for after a change."""
        image = self._image
        if self._decoys[0] is not image:
            self._decoys = image, {}
        kept = self._decoys[1]
        if mechanism not in kept:
            known = image.mechanisms.get(mechanism)
            kept[mechanism] = Decoys(mechanism, known or {}, self._secret)
        return kept[mechanism].of(user)


class Readiness:
    """``loaded`` is done once the log was replayed up to its high-water mark: what a listener
    waits for where no authorizer says when it may open."""

    def __init__(self) -> None:
        self.loaded: Future[None] = Future()
        self.loaded.set_running_or_notify_cancel()

    def publish(self, delta: MetadataDelta, image: MetadataImage, manifest: Manifest) -> None:
        """Nothing is kept of it."""

    def complete_initial_load(self) -> None:
        with suppress(InvalidStateError):
            self.loaded.set_result(None)

    def note_staleness(self, for_ms: int) -> None:
        """A node that was ready stays so; what is stale is the authorizer's to judge."""
