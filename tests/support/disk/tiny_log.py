"""Logs of a few records, written by hand, and publishers that record their replay.

This module must not know what a test claims.
"""

from __future__ import annotations

from collections.abc import Sequence

from metalog.ids import Uuid
from metalog.image.delta import MetadataDelta
from metalog.image.manifest import Manifest
from metalog.image.metadata import MetadataImage
from metalog.image.state.acls import record_of
from metalog.loader import Loader
from metalog.ports import Appended, HighWatermark
from metalog.records.batch import Batch, assemble_batch, build_batch
from metalog.records.checkpoint import snapshot_batches
from metalog.records.frame import encode_value
from metalog.records.messages import (
    AbortTransactionRecord,
    AccessControlEntryRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    LeaderChangeMessage,
    NoOpRecord,
)
from metalog.records.record import RawRecord
from tests.support.worlds.small_acls import allow

BEGIN, END, ABORT, NOTHING = (
    BeginTransactionRecord(),
    EndTransactionRecord(),
    AbortTransactionRecord(),
    NoOpRecord(),
)


def uuid(number: int) -> Uuid:
    return Uuid(number.to_bytes(16, "big"))


def ace(number: int, name: str = "t") -> AccessControlEntryRecord:
    acl = allow(name, principal="User:a")
    return record_of(uuid(number), acl)


def batch(base: int, *records: object, epoch: int = 1) -> Batch:
    pairs = [(record, 0) for record in records]
    return build_batch(base, epoch, 1000 + base, pairs)  # type: ignore[arg-type]


def leader_change(base: int, epoch: int, leader: int = 7) -> Batch:
    return build_batch(base, epoch, 1000, [(LeaderChangeMessage(0, leader), 0)])


def values(base: int, *raw: bytes) -> Batch:
    """A batch of records with exactly these values."""
    records = [RawRecord(0, 0, delta, None, value, ()) for delta, value in enumerate(raw)]
    return assemble_batch(base, 1, 1000, records)


def snapshot(*records: object, epoch: int = 1, timestamp: int = 900) -> Sequence[Batch]:
    pairs = ((record, 0) for record in records)
    return tuple(
        snapshot_batches(
            pairs,  # type: ignore[arg-type]
            epoch=epoch,
            timestamp=timestamp,
            last_contained_timestamp=timestamp,
        )
    )


class Recorder:
    """A publisher that keeps what it got, and fails on demand."""

    def __init__(self) -> None:
        self.got: list[tuple[MetadataDelta, MetadataImage, Manifest]] = []
        self.fails = False

    def publish(self, delta: MetadataDelta, image: MetadataImage, manifest: Manifest) -> None:
        if self.fails:
            raise RuntimeError("publisher out of order")
        self.got.append((delta, image, manifest))

    @property
    def offsets(self) -> list[int]:
        return [image.provenance.offset for _, image, _ in self.got]


def ids(image: MetadataImage) -> set[int]:
    return {int.from_bytes(key, "big") for key in image.acls.by_id}


def loaded(*batches: Batch, mark: int, **options: bool) -> Loader:
    loader = Loader(**options)
    loader.handle(HighWatermark(mark))
    for each in batches:
        loader.handle(Appended(each))
    return loader


def raw(record: object) -> bytes:
    """The value of a metadata record, as in a batch."""
    return encode_value(record, 0)  # type: ignore[arg-type]
