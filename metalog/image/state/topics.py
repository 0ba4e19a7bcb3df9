"""The topics of a cluster and their partitions.

This module must not know brokers, nor what a topic's configuration is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from metalog.errors import CorruptLog
from metalog.ids import Uuid, in_order, uuid_text
from metalog.image.state.features import record_version
from metalog.image.state.never_doubtful import NeverDoubtful
from metalog.image.table import EMPTY as EMPTY_TABLE
from metalog.image.table import Table
from metalog.image.unread_subject import UnreadSubject
from metalog.records.fast_decode.partition_fast_decode import PartitionChangeRun
from metalog.records.messages import (
    ClearElrRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from metalog.text.plurals import counted

Replicas = tuple[int, ...]

NO_LEADER_CHANGE: Final = -2
NO_RECOVERY_CHANGE: Final = -1
_LISTS: Final = (
    "replicas",
    "isr",
    "removing_replicas",
    "adding_replicas",
    "eligible_leader_replicas",
    "last_known_elr",
)
MIGRATING: Final = Uuid(bytes(16))
"""The log directory of a replica if the partition's record has no directories (KIP-858)."""

_WITH_DIRECTORIES: Final = 1
_WITH_ELR: Final = 2
_PARTITION_VERSIONS: Final = {17: _WITH_DIRECTORIES, 23: _WITH_ELR}
"""metadata.version -> version of PartitionRecord (Kafka 4.3's MetadataVersion)."""


class Partition(NamedTuple):
    """``directories`` has one entry for each of ``replicas``. Their numbers can differ after a
    record that changed only ``replicas``.

    ``leader`` is -1 without a leader. ``leader_recovery_state`` is 1 during recovery from an
    unclean election, else 0.
    """

    replicas: Replicas
    directories: tuple[Uuid, ...]
    isr: Replicas
    removing_replicas: Replicas
    adding_replicas: Replicas
    leader: int
    leader_recovery_state: int
    leader_epoch: int
    partition_epoch: int
    eligible_leader_replicas: Replicas = ()
    last_known_elr: Replicas = ()


PARTITION_RECORDS: Final = (PartitionRecord, PartitionChangeRecord, ClearElrRecord)
"""The types of the records that change only partitions."""


class _State:
    """A partition before the changes, and the new values of the fields that change most often.

    Most changes then do not read ``before``, which is often not in the CPU's cache.
    """

    __slots__ = ("before", "isr", "leader", "leader_epoch", "partition_epoch")

    def __init__(self, partition: Partition) -> None:
        self.before = partition
        _, _, self.isr, _, _, leader, _, leader_epoch, partition_epoch, _, _ = partition
        self.leader, self.leader_epoch, self.partition_epoch = leader, leader_epoch, partition_epoch

    def now(self) -> Partition:
        """The partition after the changes. Each change raises the partition epoch."""
        if self.partition_epoch == self.before.partition_epoch:
            return self.before
        replicas, directories, _, removing, adding, _, recovery, _, _, elr, last_elr = self.before
        fields = (
            replicas, directories, self.isr, removing, adding, self.leader, recovery,
            self.leader_epoch, self.partition_epoch, elr, last_elr,
        )  # fmt: skip
        return tuple.__new__(Partition, fields)


class Topic(NamedTuple):
    id: Uuid
    name: str
    partitions: Table[int, Partition] = EMPTY_TABLE


class TopicsImage(NamedTuple):
    """A new topic gets ``partitions_at_first``: an empty table, or an ``UnreadSubject`` if the
    replay does not read partitions."""

    by_id: Table[Uuid, Topic] = EMPTY_TABLE
    by_name: Table[str, Topic] = EMPTY_TABLE
    partitions_at_first: Table[int, Partition] = EMPTY_TABLE

    @property
    def reads_partitions(self) -> bool:
        at_first: object = self.partitions_at_first
        return not isinstance(at_first, UnreadSubject)

    def write(self, metadata_version: int) -> Iterator[tuple[TopicRecord | PartitionRecord, int]]:
        """The records of a snapshot with their versions: topics by id, each with its partitions."""
        for topic_id, topic in in_order(self.by_id.items()):
            yield TopicRecord(topic.name, topic_id), 0
            for number, partition in sorted(topic.partitions.items()):
                version = _partition_version(partition, metadata_version)
                yield _partition_record(topic_id, number, partition, version), version


EMPTY: Final = TopicsImage()


class StoppedRun(Exception):
    """The changes of a run below index ``at`` were applied; change ``at`` contradicts the state."""

    def __init__(self, at: int) -> None:
        super().__init__(at)
        self.at = at


class TopicsDelta(NeverDoubtful):
    """Changes to a ``TopicsImage``.

    ``topics`` maps the id of an added topic to the topic, and the id of a removed topic to None.
    """

    __slots__ = ("_ids", "_partitions", "image", "is_replacement", "topics")

    def __init__(self, image: TopicsImage, *, is_replacement: bool = False) -> None:
        self.image = image
        self.is_replacement = is_replacement
        self.topics: dict[Uuid, Topic | None] = {}
        self._partitions: dict[Uuid, dict[int, _State]] = {}
        self._ids: dict[str, Uuid | None] = {}

    def add(self, record: TopicRecord) -> None:
        partitions = self.image.partitions_at_first
        self.topics[record.topic_id] = Topic(record.topic_id, record.name, partitions)
        self._partitions.pop(record.topic_id, None)
        self._ids[record.name] = record.topic_id

    def remove(self, record: RemoveTopicRecord) -> str:
        """Remove a topic and return its name."""
        topic = self._topic(record.topic_id)
        self.topics[topic.id] = None
        self._partitions.pop(topic.id, None)
        if self._id(topic.name) == topic.id:
            self._ids[topic.name] = None
        return topic.name

    def set_partition(self, record: PartitionRecord) -> None:
        topic = self._topic(record.topic_id)
        replicas = tuple(record.replicas)
        partition = Partition(
            replicas,
            _checked(tuple(record.directories), replicas),
            tuple(record.isr),
            tuple(record.removing_replicas),
            tuple(record.adding_replicas),
            record.leader,
            record.leader_recovery_state,
            record.leader_epoch,
            record.partition_epoch,
            tuple(record.eligible_leader_replicas or ()),
            tuple(record.last_known_elr or ()),
        )
        self._set(topic, record.partition_id, partition)

    def change_partition(self, record: PartitionChangeRecord) -> None:
        topic = self._topic(record.topic_id)
        before = self._partition(topic, record.partition_id)
        self._set(topic, record.partition_id, _merged(before, record))

    def change_run(self, run: PartitionChangeRun) -> None:
        """Apply the changes of ``run``; ``StoppedRun`` if a change contradicts the state.

        Most records of a log are such changes, so the loop is written for speed.
        """
        partitions = self._partitions
        for change in run.changes:
            topic_id, number, (isr, leader) = change
            try:
                state = partitions[topic_id][number]
            except KeyError:
                try:
                    before = self._unchanged(self._topic(topic_id), number)
                except CorruptLog:
                    raise StoppedRun(run.changes.index(change)) from None
                state = partitions.setdefault(topic_id, {})[number] = _State(before)
            if isr is not None:
                state.isr = isr
            if leader != NO_LEADER_CHANGE:
                state.leader = leader
                state.leader_epoch += 1
            state.partition_epoch += 1

    def _partition(self, topic: Topic, number: int) -> Partition:
        changed = self._partitions.get(topic.id)
        state = None if changed is None else changed.get(number)
        return self._unchanged(topic, number) if state is None else state.now()

    def _unchanged(self, topic: Topic, number: int) -> Partition:
        before = topic.partitions.get(number)
        if before is None:
            raise CorruptLog(f"changes partition {number}, which topic {topic.name} does not have")
        return before

    def clear_elr(self, record: ClearElrRecord) -> None:
        """Clear the eligible leader replicas of one topic; an empty name means all topics."""
        if not record.topic_name:
            for topic_id in {*self._base().by_id, *self.topics}:
                if self.topics.get(topic_id, ...) is not None:
                    self._clear_elr(self._topic(topic_id))
            return
        found = self._id(record.topic_name)
        if found is None:
            raise CorruptLog(f"clears the ELR of topic {record.topic_name}, which does not exist")
        self._clear_elr(self._topic(found))

    def apply(self) -> TopicsImage:
        base = self._base()
        by_id: dict[Uuid, Topic | None] = dict(self.topics)
        for topic_id, partitions in self._partitions.items():
            topic = by_id.get(topic_id) or base.by_id[topic_id]
            changed = {number: state.now() for number, state in partitions.items()}
            by_id[topic_id] = topic._replace(partitions=topic.partitions.changed(changed))
        by_name = base.by_name.changed(_by_name(base, by_id))
        return base._replace(by_id=base.by_id.changed(by_id), by_name=by_name)

    def _base(self) -> TopicsImage:
        image = self.image
        return (
            image._replace(by_id=EMPTY_TABLE, by_name=EMPTY_TABLE) if self.is_replacement else image
        )

    def _topic(self, id: Uuid) -> Topic:
        topic = self.topics[id] if id in self.topics else self._base().by_id.get(id)
        if topic is None:
            raise CorruptLog(f"names the topic with id {uuid_text(id)}, which does not exist")
        return topic

    def _id(self, name: str) -> Uuid | None:
        if name in self._ids:
            return self._ids[name]
        topic = self._base().by_name.get(name)
        return None if topic is None else topic.id

    def _set(self, topic: Topic, number: int, partition: Partition) -> None:
        self._partitions.setdefault(topic.id, {})[number] = _State(partition)

    def _clear_elr(self, topic: Topic) -> None:
        for number in {*topic.partitions, *self._partitions.get(topic.id, ())}:
            partition = self._partition(topic, number)
            if partition.eligible_leader_replicas or partition.last_known_elr:
                cleared = partition._replace(
                    eligible_leader_replicas=(),
                    last_known_elr=(),
                    partition_epoch=partition.partition_epoch + 1,
                )
                self._set(topic, number, cleared)


def _by_name(base: TopicsImage, by_id: Mapping[Uuid, Topic | None]) -> dict[str, Topic | None]:
    """The changes by name. Removals come first: a topic can return with a new id."""
    names: dict[str, Topic | None] = {}
    for topic_id, topic in by_id.items():
        before = base.by_id.get(topic_id)
        if before is not None and (topic is None or topic.name != before.name):
            names[before.name] = None
    names.update((topic.name, topic) for topic in by_id.values() if topic is not None)
    return names


def _checked(directories: tuple[Uuid, ...], replicas: Replicas) -> tuple[Uuid, ...]:
    if directories and len(directories) != len(replicas):
        raise CorruptLog(
            f"has {counted(len(directories), 'directory', 'directories')} for"
            f" {counted(len(replicas), 'replica')}"
        )
    return _or_migrating(directories, replicas)


def _or_migrating(directories: tuple[Uuid, ...], replicas: Replicas) -> tuple[Uuid, ...]:
    if directories.count(MIGRATING) == len(directories):
        return (MIGRATING,) * len(replicas)
    return directories


def _merged(before: Partition, change: PartitionChangeRecord) -> Partition:
    changes: dict[str, Any] = {
        name: tuple(value) for name in _LISTS if (value := getattr(change, name)) is not None
    }
    directories = before.directories
    if "replicas" in changes:
        directories = _or_migrating(directories, changes["replicas"])
    if change.directories is not None:
        directories = _checked(tuple(change.directories), changes.get("replicas", before.replicas))
    if change.leader != NO_LEADER_CHANGE:
        changes |= {"leader": change.leader, "leader_epoch": before.leader_epoch + 1}
    if change.leader_recovery_state != NO_RECOVERY_CHANGE:
        changes["leader_recovery_state"] = change.leader_recovery_state
    epoch = before.partition_epoch + 1
    return before._replace(directories=directories, partition_epoch=epoch, **changes)


def _partition_version(partition: Partition, metadata_version: int) -> int:
    """The record version for ``metadata_version``, or a higher version that ``partition`` needs."""
    needed = 0
    if partition.directories.count(MIGRATING) < len(partition.directories):
        needed = _WITH_DIRECTORIES
    if partition.eligible_leader_replicas or partition.last_known_elr:
        needed = _WITH_ELR
    return max(needed, record_version(metadata_version, _PARTITION_VERSIONS))


def _partition_record(
    topic_id: Uuid, number: int, partition: Partition, version: int
) -> PartitionRecord:
    return PartitionRecord(
        partition_id=number,
        topic_id=topic_id,
        replicas=partition.replicas,
        isr=partition.isr,
        removing_replicas=partition.removing_replicas,
        adding_replicas=partition.adding_replicas,
        leader=partition.leader,
        leader_recovery_state=partition.leader_recovery_state,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        directories=partition.directories if version >= _WITH_DIRECTORIES else (),
        eligible_leader_replicas=partition.eligible_leader_replicas or None,
        last_known_elr=partition.last_known_elr or None,
    )
