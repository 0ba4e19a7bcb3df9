"""An observer's requests in every version; no quorum can take it for a voter."""

from __future__ import annotations

import inspect
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from kio.schema.errors import ErrorCode as KafkaErrorCode

from metalog.hosts.host_port import Address
from metalog.ids import SnapshotId
from metalog.wire import fetch
from metalog.wire.fetch import (
    FETCH,
    FETCH_SNAPSHOT,
    FETCH_VERSIONS,
    SNAPSHOT_VERSIONS,
    Chunk,
    EpochLeader,
    Fetched,
    FetchPosition,
    fetch_request,
    read_chunk,
    read_fetched,
    snapshot_request,
)
from metalog.wire.frames import Malformed
from metalog.wire.messages import read_request, read_response, write_request, write_response
from metalog.wire.schema import response_parts, response_type

PLACE = FetchPosition(7, 2, 3, 5)


def sent(body: Any) -> Any:
    return read_request(write_request(body, 1, "me")).body


@pytest.mark.parametrize("version", FETCH_VERSIONS)
def test_a_fetch_is_an_observers(version: int) -> None:
    body = sent(fetch_request(version, PLACE, cluster_id="c", wait_s=0.5))
    replica = body.replica_state.replica_id if version >= 15 else body.replica_id
    assert replica == -1
    assert (body.cluster_id, body.max_wait, body.min_bytes) == ("c", timedelta(seconds=0.5), 0)
    [topic] = body.topics
    [partition] = topic.partitions
    assert (topic.topic_id, partition.partition) == (UUID(int=1), 0)
    assert (partition.fetch_offset, partition.last_fetched_epoch) == (7, 2)
    assert (partition.current_leader_epoch, partition.log_start_offset) == (3, 0)
    assert getattr(partition, "high_watermark", 5) == 5


@pytest.mark.parametrize("version", SNAPSHOT_VERSIONS)
def test_a_fetch_of_a_snapshot_is_an_observers(version: int) -> None:
    body = sent(snapshot_request(version, SnapshotId(9, 2), 100, leader_epoch=3, cluster_id=None))
    assert body.replica_id == -1
    [topic] = body.topics
    [partition] = topic.partitions
    assert (topic.name, partition.partition, partition.position) == ("__cluster_metadata", 0, 100)
    assert (partition.snapshot_id.end_offset, partition.snapshot_id.epoch) == (9, 2)
    assert partition.current_leader_epoch == 3


def test_nobody_can_give_another_replica_id() -> None:
    """Another voter's id once moved a real quorum's high-water mark and lost a change."""
    for build in (fetch_request, snapshot_request):
        assert not [name for name in inspect.signature(build).parameters if "replica" in name]
    numbers = {name: value for name, value in vars(fetch).items() if isinstance(value, int)}
    assert numbers["_OBSERVER"] == -1


def fetch_response(version: int, **partition: Any) -> Any:
    parts = response_parts(FETCH, version)
    given = {"error_code": KafkaErrorCode.none, "high_watermark": 9, "log_start_offset": 2}
    given |= {"aborted_transactions": None, "records": None} | partition
    for name, kind in (
        ("diverging_epoch", parts.EpochEndOffset),
        ("current_leader", parts.LeaderIdAndEpoch),
        ("snapshot_id", parts.SnapshotId),
    ):
        if name in given:
            given[name] = kind(**given[name])
    topic = parts.FetchableTopicResponse(
        topic_id=UUID(int=1), partitions=(parts.PartitionData(partition_index=0, **given),)
    )
    endpoint = (
        {"node_endpoints": (parts.NodeEndpoint(node_id=2, host="b", port=9093, rack=None),)}
        if version >= 17
        else {}
    )
    return parts.FetchResponse(
        throttle_time=timedelta(), error_code=KafkaErrorCode.none, responses=(topic,), **endpoint
    )


def received(body: Any) -> Any:
    return read_response(write_response(body, 1), type(body))


@pytest.mark.parametrize("version", FETCH_VERSIONS)
def test_what_an_answer_says(version: int) -> None:
    endpoints = {2: Address("b", 9093)} if version >= 17 else {}
    leader = {"leader_id": 2, "leader_epoch": 5}
    plain = fetch_response(version, current_leader=leader, records=b"abc")
    assert read_fetched(received(plain)) == Fetched(
        0, EpochLeader(2, 5), endpoints, 9, 2, None, None, b"abc"
    )
    diverged = fetch_response(version, diverging_epoch={"epoch": 4, "end_offset": 6})
    assert read_fetched(received(diverged)).diverging == (4, 6)
    compacted = fetch_response(version, snapshot_id={"end_offset": 8, "epoch": 4})
    assert read_fetched(received(compacted)).snapshot == SnapshotId(8, 4)
    refused = fetch_response(version, error_code=KafkaErrorCode.fenced_leader_epoch)
    assert read_fetched(received(refused)).code == 74


def test_an_error_of_the_whole_answer() -> None:
    body = response_type(FETCH, 18)(
        throttle_time=timedelta(), error_code=KafkaErrorCode.inconsistent_cluster_id, responses=()
    )
    assert read_fetched(received(body)) == Fetched(104, EpochLeader(), {})


def test_an_answer_about_nothing_is_malformed() -> None:
    body = response_type(FETCH, 18)(
        throttle_time=timedelta(), error_code=KafkaErrorCode.none, responses=()
    )
    with pytest.raises(Malformed, match="about 0 partitions"):
        read_fetched(received(body))


def test_a_piece_of_a_snapshot() -> None:
    parts = response_parts(FETCH_SNAPSHOT, 1)
    partition = parts.PartitionSnapshot(
        index=0,
        error_code=KafkaErrorCode.none,
        snapshot_id=parts.SnapshotId(end_offset=9, epoch=2),
        current_leader=parts.LeaderIdAndEpoch(leader_id=1, leader_epoch=3),
        size=100,
        position=40,
        unaligned_records=b"abc",
    )
    topic = parts.TopicSnapshot(name="__cluster_metadata", partitions=(partition,))
    body = parts.FetchSnapshotResponse(
        throttle_time=timedelta(), error_code=KafkaErrorCode.none, topics=(topic,)
    )
    assert read_chunk(received(body)) == Chunk(0, 100, 40, b"abc")
