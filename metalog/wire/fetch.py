"""Fetch and FetchSnapshot of ``__cluster_metadata``, as an observer sends them (KIP-595, KIP-630).

The replica id is always -1, so the leader keeps no state for the observer
(docs/decisions/0034-observer-without-replica-id.md). This module must not decide what to fetch.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final, NamedTuple

from metalog.errors import ErrorCode
from metalog.hosts.host_port import Address
from metalog.ids import METADATA_TOPIC_ID, SnapshotId
from metalog.text.plurals import counted
from metalog.wire.frames import Malformed
from metalog.wire.schema import Body, request_parts

FETCH: Final = 1
FETCH_SNAPSHOT: Final = 59
FETCH_VERSIONS: Final = range(13, 19)
SNAPSHOT_VERSIONS: Final = range(2)
MOST_BYTES: Final = 8 << 20
"""A request asks for at most this many bytes, as Kafka's own followers do."""

_OBSERVER: Final = -1
_TOPIC: Final = "__cluster_metadata"
_UNKNOWN: Final = -1


class EpochLeader(NamedTuple):
    """The leader of an epoch; ``id`` is -1 if the leader is unknown."""

    id: int = _UNKNOWN
    epoch: int = _UNKNOWN


class FetchPosition(NamedTuple):
    """An observer's position in the log.

    ``offset`` is the next offset to fetch. ``last_epoch`` is the epoch of the previous record; 0 if
    there is none. An unknown ``leader_epoch`` is 0, and an unknown ``high_watermark`` is -1.
    """

    offset: int
    last_epoch: int
    leader_epoch: int
    high_watermark: int


class Fetched(NamedTuple):
    """An answer to Fetch.

    ``diverging`` is None, or an epoch and its end offset in the leader's log. An unknown
    ``high_watermark`` is -1.
    """

    code: int
    leader: EpochLeader
    endpoints: Mapping[int, Address]
    high_watermark: int = _UNKNOWN
    log_start: int = _UNKNOWN
    diverging: tuple[int, int] | None = None
    snapshot: SnapshotId | None = None
    records: bytes = b""


class Chunk(NamedTuple):
    """An answer to FetchSnapshot: ``data`` at ``position`` in a snapshot of ``size`` bytes."""

    code: int
    size: int = 0
    position: int = 0
    data: bytes = b""


def fetch_request(
    version: int,
    position: FetchPosition,
    *,
    cluster_id: str | None,
    wait_s: float,
    most_bytes: int = MOST_BYTES,
) -> Body:
    """A Fetch request; the leader answers after ``wait_s`` seconds at the latest."""
    parts = request_parts(FETCH, version)
    partition = parts.FetchPartition(
        partition=0,
        current_leader_epoch=position.leader_epoch,
        fetch_offset=position.offset,
        last_fetched_epoch=position.last_epoch,
        log_start_offset=0,
        partition_max_bytes=most_bytes,
        **({"high_watermark": position.high_watermark} if version >= 18 else {}),
    )
    topic = parts.FetchTopic(topic_id=uuid.UUID(bytes=METADATA_TOPIC_ID), partitions=(partition,))
    observer = (
        {"replica_state": parts.ReplicaState(replica_id=_OBSERVER)}
        if version >= 15
        else {"replica_id": _OBSERVER}
    )
    return parts.FetchRequest(
        cluster_id=cluster_id,
        max_wait=timedelta(seconds=wait_s),
        min_bytes=0,
        max_bytes=most_bytes,
        topics=(topic,),
        forgotten_topics_data=(),
        **observer,
    )


def read_fetched(body: Body) -> Fetched:
    """The answer in ``body``; ``Malformed`` if the answer is not about one partition."""
    nodes = getattr(body, "node_endpoints", ())
    endpoints = {int(each.node_id): Address(each.host, each.port) for each in nodes}
    if body.error_code != ErrorCode.NONE:
        return Fetched(int(body.error_code), EpochLeader(), endpoints)
    partition = _only_partition(body.responses)
    end, snapshot = partition.diverging_epoch, partition.snapshot_id
    return Fetched(
        int(partition.error_code),
        EpochLeader(int(partition.current_leader.leader_id), partition.current_leader.leader_epoch),
        endpoints,
        partition.high_watermark,
        partition.log_start_offset,
        None if end.epoch == _UNKNOWN else (end.epoch, end.end_offset),
        None if snapshot.epoch == _UNKNOWN else SnapshotId(snapshot.end_offset, snapshot.epoch),
        partition.records or b"",
    )


def snapshot_request(
    version: int,
    snapshot: SnapshotId,
    position: int,
    *,
    leader_epoch: int,
    cluster_id: str | None,
    most_bytes: int = MOST_BYTES,
) -> Body:
    parts = request_parts(FETCH_SNAPSHOT, version)
    partition = parts.PartitionSnapshot(
        partition=0,
        current_leader_epoch=leader_epoch,
        snapshot_id=parts.SnapshotId(end_offset=snapshot.end_offset, epoch=snapshot.epoch),
        position=position,
    )
    return parts.FetchSnapshotRequest(
        cluster_id=cluster_id,
        replica_id=_OBSERVER,
        max_bytes=most_bytes,
        topics=(parts.TopicSnapshot(name=_TOPIC, partitions=(partition,)),),
    )


def read_chunk(body: Body) -> Chunk:
    if body.error_code != ErrorCode.NONE:
        return Chunk(int(body.error_code))
    partition = _only_partition(body.topics)
    return Chunk(
        int(partition.error_code), partition.size, partition.position, partition.unaligned_records
    )


def _only_partition(topics: tuple[Any, ...]) -> Any:
    partitions = [partition for topic in topics for partition in topic.partitions]
    if len(partitions) != 1:
        raise Malformed(
            f"a response about {counted(len(partitions), 'partition')} to a request about one"
        )
    return partitions[0]
