"""Writes the history of the company's cluster as a metadata log that Kafka can replay.

Each request is a batch with its own time. The writer restarts three times. This module must not
know why a change is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Final

from authorizer.history.timeline import TimelineChange
from metalog.acl import Acl
from metalog.controller.activation import activation_batches
from metalog.ids import Uuid, random_uuid, uuid_text
from metalog.image.metadata import EMPTY
from metalog.log.folder_writer.writer import WritableDirectoryLog
from metalog.records.acl_codes import record_of
from metalog.records.message import Message
from metalog.records.messages import (
    BrokerEndpoint,
    FeatureLevelRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RemoveAccessControlEntryRecord,
    TopicRecord,
    UnfenceBrokerRecord,
    UserScramCredentialRecord,
)
from metalog.records.messages.voters_record import Endpoint
from metalog.scram import ScramMechanism
from metalog_spark.demo.calendar import DAY, MINUTE, START
from metalog_spark.demo.story import Event
from snapshot.formatting import Controller, Format, format_directories
from snapshot.initial_features import initial_features

_NODE: Final = 100
_BROKERS: Final = (1, 2, 3)
_PARTITIONS: Final = 3
_RESTART_DAYS: Final = (90, 181, 272)
_SASL_SSL: Final = 3
_ITERATIONS: Final = 8192

Records = list[tuple[Message, int]]


class _ControllerLog:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._now_ms = START
        self._epoch = -1
        self._restarts = [START + day * DAY for day in _RESTART_DAYS]
        self._claim()

    def append(self, time_ms: int, records: Records) -> int:
        """Returns the offset of the first record."""
        while self._restarts and self._restarts[0] <= time_ms:
            self._now_ms = self._restarts.pop(0)
            self.close()
            self._claim()
        self._now_ms = time_ms
        return self._log.append(self._epoch, records) - len(records)

    def activate(self) -> None:
        for records in activation_batches(EMPTY, None, self._log.bootstrap_records):
            self.append(START, list(records))

    def close(self) -> None:
        self._log.close()

    def _claim(self) -> None:
        self._log = WritableDirectoryLog(self._folder, now_ms=lambda: self._now_ms)
        self._epoch = self._log.claim()


def write_log(
    folder: Path,
    random: Random,
    events: Iterable[Event],
    topics: Mapping[str, int],
    users: Mapping[str, int],
) -> list[TimelineChange]:
    """Returns the log's changes of ACLs. ``topics`` and ``users`` map names to creation times."""
    _format(folder, random)
    log = _ControllerLog(folder)
    try:
        log.activate()
        directories = [random_uuid(random.randbytes) for _ in _BROKERS]
        log.append(START + MINUTE, list(_brokers(random, directories)))
        made = [(time_ms, _topic(random, name, directories)) for name, time_ms in topics.items()]
        made += [(time_ms, [_user(random, name)]) for name, time_ms in users.items()]
        steps: list[tuple[int, Event | Records]] = [*made, *((e.time_ms, e) for e in events)]
        changes: list[TimelineChange] = []
        bound: dict[Acl, Uuid] = {}
        for time_ms, step in sorted(steps, key=lambda pair: pair[0]):
            if isinstance(step, Event):
                changes += _carried_out(log, random, step, bound)
            else:
                log.append(time_ms, step)
        return changes
    finally:
        log.close()


def _format(folder: Path, random: Random) -> None:
    features = initial_features(None, {})
    format_directories(
        Format(
            folder,
            [folder],
            _NODE,
            [(FeatureLevelRecord(name, level), 0) for name, level in features.items()],
            cluster_id=uuid_text(random_uuid(random.randbytes)),
            controllers=(Controller(_NODE, Endpoint("CONTROLLER", "controller-100", 9093)),),
        ),
        now_ms=START,
        entropy=random.randbytes,
    )


def _carried_out(
    log: _ControllerLog, random: Random, event: Event, bound: dict[Acl, Uuid]
) -> Iterator[TimelineChange]:
    gone = [(bound.pop(acl), None) for acl in event.removed]
    new = [(random_uuid(random.randbytes), acl) for acl in event.added]
    bound.update((acl, uuid) for uuid, acl in new)
    records: Records = [(RemoveAccessControlEntryRecord(uuid), 0) for uuid, _ in gone]
    records += [(record_of(uuid, acl), 0) for uuid, acl in new]
    base = log.append(event.time_ms, records)
    for offset, (uuid, acl) in enumerate([*gone, *new], base):
        yield TimelineChange(offset, uuid, acl, event.time_ms)


def _brokers(random: Random, directories: list[Uuid]) -> Iterator[tuple[Message, int]]:
    for epoch, (broker, directory) in enumerate(zip(_BROKERS, directories, strict=True)):
        yield (
            RegisterBrokerRecord(
                broker_id=broker,
                incarnation_id=random_uuid(random.randbytes),
                broker_epoch=epoch,
                end_points=(BrokerEndpoint("CLIENTS", f"broker-{broker}", 9092, _SASL_SSL),),
                log_dirs=(directory,),
            ),
            max(RegisterBrokerRecord.VERSIONS),
        )
        yield UnfenceBrokerRecord(broker, epoch), 0


def _topic(random: Random, name: str, directories: list[Uuid]) -> Records:
    uuid = random_uuid(random.randbytes)
    records: Records = [(TopicRecord(name, uuid), 0)]
    for partition in range(_PARTITIONS):
        replicas = (*_BROKERS[partition:], *_BROKERS[:partition])
        record = PartitionRecord(
            partition_id=partition,
            topic_id=uuid,
            replicas=replicas,
            isr=replicas,
            leader=replicas[0],
            leader_epoch=0,
            partition_epoch=0,
            directories=tuple(directories[_BROKERS.index(replica)] for replica in replicas),
        )
        records.append((record, max(PartitionRecord.VERSIONS)))
    return records


def _user(random: Random, name: str) -> tuple[Message, int]:
    """A user with a credential that no password matches."""
    return (
        UserScramCredentialRecord(
            name=name,
            mechanism=ScramMechanism.SCRAM_SHA_512,
            salt=random.randbytes(24),
            stored_key=random.randbytes(64),
            server_key=random.randbytes(64),
            iterations=_ITERATIONS,
        ),
        0,
    )
