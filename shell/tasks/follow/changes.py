"""Follows a log that is still being written, and yields the committed changes.

A change has the offset and time of its record. If a snapshot replaces records, the changes are the
difference between the last image and the snapshot. This module must not know how a change is
shown.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterator, Sequence
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final

from authorizer.analysis.changes.changes import Change, CredentialChange, changes
from authorizer.history.timeline import TimelineChange
from metalog.errors import InvalidSource
from metalog.image.manifest import SnapshotManifest
from metalog.loader import Ready
from metalog.ports import LiveLog
from metalog.replica.replica import Replica
from metalog.scram import ScramMechanism
from shell.tasks.history import change_notes

if TYPE_CHECKING:
    from metalog.image.delta import MetadataDelta
    from metalog.image.manifest import Manifest
    from metalog.image.metadata import MetadataImage
    from metalog.records.batch import Batch
    from metalog.records.fast_decode.acl_fast_decode import Part
    from metalog.scram import ScramCredential
    from metalog_sources.replay import Replayed

_WAIT_S: Final = 0.2


class _Handover:
    """A publisher that queues the changes after the image ``seen`` for another thread."""

    def __init__(self, seen: MetadataImage) -> None:
        self.waiting: SimpleQueue[list[Change]] = SimpleQueue()
        self._seen = seen
        self._notes = change_notes()
        self._is_first = True

    def note(self, batch: Batch, offset: int, parts: Sequence[Part]) -> None:
        is_new = batch.next_offset > self._seen.provenance.offset
        self._notes.note(batch, offset, parts if is_new else ())

    def publish(self, delta: MetadataDelta, image: MetadataImage, manifest: Manifest) -> None:
        """Queue the changes in new records. If a snapshot replaces new records, the old and the new
        image are compared."""
        reached = self._seen.provenance.offset
        begins_at = manifest.snapshot.end_offset if isinstance(manifest, SnapshotManifest) else 0
        has_records = begins_at <= reached if self._is_first else not delta.is_replacement
        found = (
            changes(self._notes.records(reached)) if has_records else _changes(self._seen, image)
        )
        if some := list(found):
            self.waiting.put(some)
        self._seen, self._is_first = image, False
        self._notes.drop_before(image.provenance.offset)


def follow(
    replayed: Replayed, report: Callable[[Exception], None], *, salvage: bool = False
) -> Generator[list[Change], None, None]:
    """Yield the changes after ``replayed`` endlessly, in lists of changes that arrived together.

    ``report`` gets a fault that prevents reading; then the log is read again. ``salvage`` skips
    unreadable records.

    Raises:
        InvalidSource: no node writes to the log.
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
    with Replica(log, [handover], tolerant=salvage, note_records=handover.note) as replica:
        while True:
            try:
                yield handover.waiting.get(timeout=_WAIT_S)
            except Empty:
                state = replica.state
                fault = None if isinstance(state, Ready) else state.fault
                if fault is not None and fault is not reported:
                    reported = fault
                    report(fault)


def _changes(seen: MetadataImage, image: MetadataImage) -> Iterator[Change]:
    offset, _, time_ms = image.provenance
    before, after = dict(seen.acls.by_id.items()), dict(image.acls.by_id.items())
    for uuid in before | after:
        if before.get(uuid) != after.get(uuid):
            yield TimelineChange(offset - 1, uuid, after.get(uuid), time_ms)
    for mechanism in ScramMechanism:
        had, has = _users(seen, mechanism), _users(image, mechanism)
        for user in had | has:
            if had.get(user) != (credential := has.get(user)):
                iterations = None if credential is None else credential.iterations
                yield CredentialChange(offset - 1, user, mechanism, iterations, time_ms)


def _users(image: MetadataImage, mechanism: ScramMechanism) -> dict[str, ScramCredential]:
    return dict(image.scram.mechanisms.get(mechanism, {}))
