"""Makes the log of a big cluster: topics, ACLs, then many partition changes in small batches.

The log has 3,000 topics of 20 partitions and 10,000 ACLs, then a million partition changes in
batches of 1 to 60 records, with ACL changes and NoOp records among them. The same numbers give the
same log on every machine (SplitMix64). Nothing here measures.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from workloads import FOLDER, SplitMix64

from metalog.acl import Operation, PatternType, PermissionType, ResourceType
from metalog.ids import Uuid
from metalog.records.batch import build_batch, encode_batch
from metalog.records.messages import (
    AccessControlEntryRecord,
    FeatureLevelRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveAccessControlEntryRecord,
    TopicRecord,
)

TIME_MS = 1_700_000_000_000
SEGMENT = "00000000000000000000.log"
_BROKERS = 30
_LARGEST_BATCH = 60
_ACLS_A_BATCH = 1000
_METADATA_VERSION = 29

Records = list[tuple[Any, int]]


class BigLog(NamedTuple):
    """The size of the log; the defaults are those of the published figures."""

    topics: int = 3_000
    partitions: int = 20
    acls: int = 10_000
    changes: int = 1_000_000
    acl_changes: int = 500
    seed: int = 0xB16

    @property
    def name(self) -> str:
        return f"big-{self.topics}-{self.partitions}-{self.acls}-{self.changes}-{self.seed:x}"


def make_big_log(shape: BigLog, folder: Path = FOLDER) -> Path:
    """The folder of the log, which is written if it does not exist yet."""
    place = folder / shape.name
    if not (place / SEGMENT).exists():
        place.mkdir(parents=True, exist_ok=True)
        unfinished = place / f"{SEGMENT}.part"
        with unfinished.open("wb") as out:
            base = 0
            for number, records in enumerate(_batches(shape)):
                batch = build_batch(base, 1, TIME_MS + number * 1_000, records)
                out.write(encode_batch(batch))
                base = batch.next_offset
        unfinished.rename(place / SEGMENT)
    return place


def _batches(shape: BigLog) -> Iterator[Records]:
    random = SplitMix64(shape.seed)
    yield [(FeatureLevelRecord("metadata.version", _METADATA_VERSION), 0)]
    topic_ids = [_uuid(random) for _ in range(shape.topics)]
    for number, topic_id in enumerate(topic_ids):
        yield [(TopicRecord(f"team-{number % 97}.topic-{number}", topic_id), 0)] + [
            (_partition(topic_id, partition, random), 1) for partition in range(shape.partitions)
        ]
    acl_ids = [_uuid(random) for _ in range(shape.acls)]
    acls = [(_acl(acl_id, number), 0) for number, acl_id in enumerate(acl_ids)]
    for at in range(0, len(acls), _ACLS_A_BATCH):
        yield list(acls[at : at + _ACLS_A_BATCH])
    yield from _changes(shape, random, topic_ids, acl_ids)


def _changes(
    shape: BigLog, random: SplitMix64, topic_ids: list[Uuid], acl_ids: list[Uuid]
) -> Iterator[Records]:
    left, every, due = shape.changes, shape.changes // max(shape.acl_changes, 1), 0
    removed: dict[int, Uuid] = {}
    while left > 0:
        size = min(1 + random.below(_LARGEST_BATCH), left)
        left -= size
        yield [(_change(topic_ids, shape.partitions, random), 1) for _ in range(size)]
        due += size
        if due >= every:
            due -= every
            yield [_acl_change(random, acl_ids, removed)]
            yield [(NoOpRecord(), 0)]


def _acl_change(
    random: SplitMix64, acl_ids: list[Uuid], removed: dict[int, Uuid]
) -> tuple[Any, int]:
    number = random.below(len(acl_ids))
    if number in removed:
        return _acl(removed.pop(number), number), 0
    removed[number] = acl_ids[number]
    return RemoveAccessControlEntryRecord(acl_ids[number]), 0


def _partition(topic_id: Uuid, partition: int, random: SplitMix64) -> PartitionRecord:
    first = random.below(_BROKERS)
    replicas = tuple((first + step) % _BROKERS for step in range(3))
    return PartitionRecord(
        partition_id=partition,
        topic_id=topic_id,
        replicas=replicas,
        isr=replicas,
        removing_replicas=(),
        adding_replicas=(),
        leader=first,
        leader_epoch=0,
        partition_epoch=0,
        directories=tuple(_uuid(random) for _ in replicas),
    )


def _change(topic_ids: list[Uuid], partitions: int, random: SplitMix64) -> PartitionChangeRecord:
    """A partition change as when a broker stops or starts: of the in-sync replicas, and in half of
    the cases of the leader."""
    topic_id, partition = topic_ids[random.below(len(topic_ids))], random.below(partitions)
    first = random.below(_BROKERS)
    isr = tuple((first + step) % _BROKERS for step in range(2 + random.below(2)))
    return PartitionChangeRecord(
        partition_id=partition, topic_id=topic_id, isr=isr, leader=first if random.below(2) else -2
    )


def _acl(acl_id: Uuid, number: int) -> AccessControlEntryRecord:
    return AccessControlEntryRecord(
        id=acl_id,
        resource_type=ResourceType.TOPIC,
        resource_name=f"team-{number % 97}.topic-{number % 3_000}",
        pattern_type=PatternType.PREFIXED if number % 10 == 0 else PatternType.LITERAL,
        principal=f"User:app-{number % 700}",
        host="*",
        operation=Operation.READ if number % 2 else Operation.WRITE,
        permission_type=PermissionType.DENY if number % 50 == 0 else PermissionType.ALLOW,
    )


def _uuid(random: SplitMix64) -> Uuid:
    return Uuid((random.next() << 64 | random.next()).to_bytes(16, "big"))
