"""Replays a whole snapshot into a delta, or raises ``CorruptLog``.

It checks header and footer, and refuses transaction markers. This module must not know what is
published, nor what comes after the snapshot.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from metalog.errors import CorruptSnapshot
from metalog.ids import SnapshotId
from metalog.image.delta import MetadataDelta
from metalog.image.manifest import NOTHING
from metalog.image.policy import MARKERS, name_of
from metalog.loader.record_policy import RecordPolicy
from metalog.loader.size import Size
from metalog.records.batch import Batch
from metalog.records.checkpoint import check_snapshot
from metalog.records.fast_decode.acl_fast_decode import numbered
from metalog.records.messages import SnapshotHeaderRecord
from metalog.records.unread import UnreadTypes


class SnapshotContents(NamedTuple):
    """A replayed snapshot; ``controls`` are its control records.

    ``timestamp`` (ms) is the time of the last log record that the snapshot includes.
    """

    size: Size
    has_records: bool
    timestamp: int
    controls: Sequence[Any]


def replay_snapshot(
    id: SnapshotId,
    batches: Iterable[Batch],
    delta: MetadataDelta,
    policy: RecordPolicy,
    unread: UnreadTypes | None = None,
) -> SnapshotContents:
    """Apply the metadata records of a snapshot to ``delta``, except the types in ``unread``.

    After ``CorruptLog``, ``delta`` is incomplete and must be thrown away.
    """
    size = Size()
    controls: list[Any] = []

    def measured() -> Iterator[Batch]:
        nonlocal size
        for batch in batches:
            if batch.is_control:
                controls.extend(batch.messages())
            size = size.with_batch(batch)
            yield batch

    has_records = False
    for batch in check_snapshot(measured(), id.epoch):
        if not batch.is_control:
            has_records = True
            _replay_batch(delta, batch, policy, unread)
    timestamp = max(
        (h.last_contained_log_timestamp for h in controls if type(h) is SnapshotHeaderRecord),
        default=NOTHING.timestamp,
    )
    return SnapshotContents(size, has_records, timestamp, controls)


def _replay_batch(
    delta: MetadataDelta, batch: Batch, policy: RecordPolicy, unread: UnreadTypes | None
) -> None:
    parts = batch.parts(unread)
    for offset, part in numbered(parts, batch.base_offset):
        if type(part) in MARKERS:
            problem = f"{name_of(part)} is not allowed in a snapshot"
            raise CorruptSnapshot(problem, file=batch.file, offset=offset, byte=batch.position)
    span = range(batch.base_offset, batch.next_offset)
    policy.replay(delta, numbered(parts, batch.base_offset), span, [batch])
