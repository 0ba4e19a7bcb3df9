"""Follows a log that is still being written, and yields the committed changes.

A change is the difference between two published images. So changes that arrive together have one
offset, that of the last record, and an ACL that is added and removed between two images is no
change.

The replica replays on its own thread, and passes changes to the thread that prints them. This
module must not know how a change is shown.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final

from authorizer.analysis.changes.changes import Change, CredentialChange
from authorizer.history.timeline import TimelineChange
from metalog.errors import InvalidSource
from metalog.loader import Ready
from metalog.ports import LiveLog
from metalog.replica.replica import Replica
from metalog.scram import ScramMechanism

if TYPE_CHECKING:
    from metalog.acl import Acl
    from metalog.ids import Uuid
    from metalog.image.delta import MetadataDelta
    from metalog.image.manifest import Manifest
    from metalog.image.metadata import MetadataImage
    from metalog.scram import ScramCredential
    from metalog_sources.replay import Replayed

    Users = Mapping[str, ScramCredential | None]

_WAIT_S: Final = 0.2


class _Handover:
    """A publisher that puts the changes since the image ``seen`` into a queue."""

    def __init__(self, seen: MetadataImage) -> None:
        self.waiting: SimpleQueue[list[Change]] = SimpleQueue()
        self._seen: MetadataImage | None = seen

    def publish(self, delta: MetadataDelta, image: MetadataImage, manifest: Manifest) -> None:
        """Queue the changes. The first image is of the whole log, so it is compared with
        ``seen``."""
        changes = list(
            _changes_of(delta, image) if self._seen is None else _changes_since(self._seen, image)
        )
        self._seen = None
        if changes:
            self.waiting.put(changes)


def follow(
    replayed: Replayed, report: Callable[[Exception], None], *, salvage: bool = False
) -> Iterator[list[Change]]:
    """Yield the changes after ``replayed``, in lists of changes that arrived together, until the
    caller stops.

    ``report`` gets a fault that prevents reading the log; the fault is not logged, and reading is
    tried again. With ``salvage``, unreadable records are skipped.
    """
    log = replayed.source.log
    if not isinstance(log, LiveLog):
        raise InvalidSource(
            f"{replayed.source.text}: no node writes to it; --follow needs the folder to which"
            " a node writes"
        )
    logging.getLogger("metalog").addHandler(logging.NullHandler())
    handover = _Handover(replayed.image)
    reported: Exception | None = None
    with Replica(log, [handover], tolerant=salvage) as replica:
        while True:
            try:
                yield handover.waiting.get(timeout=_WAIT_S)
            except Empty:
                state = replica.state
                fault = None if isinstance(state, Ready) else state.fault
                if fault is not None and fault is not reported:
                    reported = fault
                    report(fault)


def _changes_since(seen: MetadataImage, image: MetadataImage) -> Iterator[Change]:
    before, after = dict(seen.acls.by_id.items()), dict(image.acls.by_id.items())
    deleted = {uuid: None for uuid in before if uuid not in after}
    yield from _acl_changes({**deleted, **after}, before, image)
    for mechanism in ScramMechanism:
        had = _users(seen, mechanism)
        has: dict[str, ScramCredential | None] = dict.fromkeys(had)
        yield from _user_changes(mechanism, has | _users(image, mechanism), had, image)


def _changes_of(delta: MetadataDelta, image: MetadataImage) -> Iterator[Change]:
    if delta.acls is not None:
        yield from _acl_changes(delta.acls.changes, delta.image.acls.by_id, image)
    if delta.scram is not None:
        for mechanism, changes in delta.scram.changes.items():
            yield from _user_changes(mechanism, changes, _users(delta.image, mechanism), image)


def _users(image: MetadataImage, mechanism: ScramMechanism) -> dict[str, ScramCredential | None]:
    return dict(image.scram.mechanisms.get(mechanism, {}))


def _acl_changes(
    now: Mapping[Uuid, Acl | None], before: Mapping[Uuid, Acl], image: MetadataImage
) -> Iterator[Change]:
    offset, _, time_ms = image.provenance
    for uuid, acl in now.items():
        if acl != before.get(uuid):
            yield TimelineChange(offset - 1, uuid, acl, time_ms)


def _user_changes(
    mechanism: ScramMechanism, now: Users, before: Users, image: MetadataImage
) -> Iterator[Change]:
    offset, _, time_ms = image.provenance
    for user, credential in now.items():
        if credential != before.get(user):
            iterations = None if credential is None else credential.iterations
            yield CredentialChange(offset - 1, user, mechanism, iterations, time_ms)
