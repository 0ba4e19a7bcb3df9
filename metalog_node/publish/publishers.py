"""Two publishers of a node: one has the users' credentials, one shortens garbage collections.

The replica's thread publishes to both; any thread may read the credentials. This module must not
know listeners or requests.
"""

from __future__ import annotations

import gc
from typing import Final

from metalog.image.delta import MetadataDelta
from metalog.image.manifest import Manifest
from metalog.image.metadata import MetadataImage
from metalog.scram import ScramCredential, ScramMechanism
from metalog_node.auth.dummy_credentials import DummyCredentials

COLLECT_AFTER: Final = 1_000
"""``GcFreezer`` collects garbage after this many changed ACLs."""
FREEZE_FROM: Final = 10_000
"""``GcFreezer`` does not freeze fewer objects, because their full collection takes a few
milliseconds."""


class CredentialsPublisher:
    """The SCRAM users of the newest image, and a dummy credential for every other name.

    ``secret`` is the key for the dummy credentials of a mechanism without users.
    """

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        nobody = MetadataImage().scram
        self._newest = nobody, DummyCredentials(nobody.mechanisms, secret)
        self.is_loaded = False
        """Whether the log has been replayed. Until then, the users are unknown."""

    def publish(self, delta: MetadataDelta, image: MetadataImage, manifest: Manifest) -> None:
        """Take the newest credentials. The replica's thread makes the dummy credentials, because
        this work reads every credential."""
        if image.scram is not self._newest[0]:
            self._newest = image.scram, DummyCredentials(image.scram.mechanisms, self._secret)

    def complete_initial_load(self) -> None:
        self.is_loaded = True

    def note_staleness(self, for_ms: int) -> None:
        """Do nothing, because users log in with the credentials of the last good image."""

    def scram(self, mechanism: ScramMechanism, user: str) -> ScramCredential | None:
        return self._newest[0].credential(mechanism, user)

    def dummy(self, mechanism: ScramMechanism, user: str) -> ScramCredential:
        return self._newest[1].of(mechanism, user)


class GcFreezer:
    """Calls ``gc.freeze`` for ACLs that came after the load, so that full collections skip them.

    A full collection that visits 100,000 ACLs stops every thread for 130 ms (see
    ``metalog.gc_pause``). Frozen garbage is never freed, so ``GcFreezer`` collects garbage first.
    Frozen cycles in use, such as those of an open connection, are never freed either. So
    ``GcFreezer`` freezes seldom.
    """

    def __init__(self) -> None:
        self._changes = 0

    def publish(self, delta: MetadataDelta, image: MetadataImage, manifest: Manifest) -> None:
        if delta.acls is not None:
            self._changes += len(delta.acls.changes)
        if self._changes >= COLLECT_AFTER and gc.isenabled():
            self._changes = 0
            gc.collect()
            if len(gc.get_objects()) >= FREEZE_FROM:
                gc.freeze()
