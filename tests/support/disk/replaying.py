"""Replays the cases: from any snapshot, with any high-water mark, in any steps.

This module must not know what a test claims.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, cached_property
from typing import Any

from metalog.ids import SnapshotId, uuid_text
from metalog.image.metadata import MetadataImage
from metalog.loader import Loader
from metalog.log.folder.directory import DirectoryLog
from metalog.ports import Appended, HighWatermark, Publisher
from metalog.records.batch import Batch, Part
from metalog.records.unread import UnreadTypes
from tests.support.kafka.cases import KafkaCase

UNREADABLE_ON_PURPOSE = "frames-crafted/"


class DecodedOnce(Batch):
    """A batch that hundreds of replays decode only once."""

    @cached_property
    def _parts(self) -> tuple[Part, ...]:
        return tuple(super().parts())

    def parts(self, unread: UnreadTypes | None = None) -> list[Part]:
        return [*self._parts] if unread is None else super().parts(unread)


class World:
    """The batches of one case, in memory."""

    def __init__(self, case: KafkaCase) -> None:
        log = DirectoryLog(case.log_dir)
        bounds = log.bounds()
        self.case = case
        self.end = bounds.end
        self.start = bounds.start
        self.batches: Sequence[Batch] = tuple(map(DecodedOnce._make, log.batches(bounds.start)))
        self.snapshots: dict[SnapshotId, Sequence[Batch]] = {
            snapshot: tuple(map(DecodedOnce._make, log.open_snapshot(snapshot)))
            for snapshot in log.snapshots()
            if snapshot.end_offset > 0
        }
        self.tolerant = case.name.startswith(UNREADABLE_ON_PURPOSE)

    def base_for(self, offset: int) -> SnapshotId | None:
        """The oldest snapshot from which ``offset`` can be replayed; None is the log alone."""
        if self.start == 0:
            return None
        return min(self._bases_for(offset))

    def reaches(self, offset: int) -> bool:
        """Whether the state at ``offset`` can still be replayed."""
        return self.start == 0 or bool(self._bases_for(offset))

    def _bases_for(self, offset: int) -> list[SnapshotId]:
        return [
            snapshot for snapshot in self.snapshots if self.start <= snapshot.end_offset <= offset
        ]

    def loader(
        self, base: SnapshotId | None = None, publishers: Iterable[Publisher] = ()
    ) -> Loader:
        loader = Loader(publishers, tolerant=self.tolerant)
        if base is not None:
            loader.load_snapshot(base, self.snapshots[base])
        return loader

    def after(self, position: int) -> Iterator[Batch]:
        return (batch for batch in self.batches if batch.next_offset > position)

    def image_at(self, offset: int, base: SnapshotId | None = None) -> MetadataImage:
        """The image of all committed records if the high-water mark is ``offset``."""
        [image] = self.images_at([offset], self.base_for(offset) if base is None else base)
        return image

    def images_at(self, offsets: Iterable[int], base: SnapshotId | None) -> Iterator[MetadataImage]:
        """The image at each of ``offsets``, in order, by one replay."""
        loader = self.loader(base)
        batches = deque(self.after(loader.position))
        for offset in sorted(offsets):
            loader.handle(HighWatermark(offset))
            while batches and batches[0].base_offset < offset:
                loader.handle(Appended(batches.popleft()))
            yield loader.image

    def image(self) -> MetadataImage:
        return self.image_at(self.end)


@cache
def world_of(case: KafkaCase) -> World:
    return World(case)


def acl_rows(image: MetadataImage) -> list[dict[str, Any]]:
    """The ACLs in the form of ``acls.json``."""
    rows = [
        {
            "id": uuid_text(uuid),
            "resourceType": acl.resource_type.name,
            "resourceName": acl.resource_name,
            "patternType": acl.pattern_type.name,
            "principal": acl.principal,
            "host": acl.host,
            "operation": acl.operation.name,
            "permissionType": acl.permission_type.name,
        }
        for uuid, acl in image.acls.by_id.items()
    ]
    return sorted(rows, key=lambda row: row["id"])


def scram_rows(image: MetadataImage) -> list[dict[str, Any]]:
    """The credentials in the form of ``scram.json``."""
    rows = [
        {"user": user, "mechanism": mechanism.name, "iterations": credential.iterations}
        for mechanism, users in image.scram.mechanisms.items()
        for user, credential in users.items()
    ]
    return sorted(rows, key=lambda row: (row["user"], row["mechanism"]))
