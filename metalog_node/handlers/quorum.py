"""Handles Fetch, FetchSnapshot and DescribeQuorum for this node's log (KIP-595, KIP-630).

This node is the only voter. Every follower is an observer, whatever replica id it sends, and the
node keeps no state about observers. A Fetch without new records waits in the fetch purgatory. This
module must not know where the log is stored.
"""

from __future__ import annotations

import time
import uuid
from concurrent.futures import Future
from dataclasses import fields
from datetime import timedelta
from functools import partial
from typing import Any, Final

from kio.schema.errors import ErrorCode as KafkaErrorCode

from metalog.acl import Operation
from metalog.errors import ApiError, ErrorCode, NotController
from metalog.ids import METADATA_TOPIC_ID, SnapshotId
from metalog.ports import LogBounds
from metalog.wire.fetch import FETCH, FETCH_SNAPSHOT, FETCH_VERSIONS, SNAPSHOT_VERSIONS
from metalog.wire.schema import Body, response_parts
from metalog.wire.versions import VersionRange
from metalog_node.handlers.request import (
    NO_THROTTLING,
    SMALL_REQUESTS,
    Answer,
    DeferredResponse,
    HandledApi,
    IncomingRequest,
    Services,
    authorize_cluster,
    error_fields,
)
from metalog_node.publish.fetch_purgatory import FetchPurgatory
from metalog_node.publish.served_log import Served, ServedLog

DESCRIBE_QUORUM: Final = 55

_TOPIC: Final = "__cluster_metadata"
_TOPIC_ID: Final = uuid.UUID(bytes=METADATA_TOPIC_ID)
_UNKNOWN: Final = -1
_ENDPOINT_SINCE: Final = {FETCH: 17, FETCH_SNAPSHOT: 1}
_UNKNOWN_PARTITION: Final = "This server does not host this topic-partition."
_LONGEST_WAIT_S: Final = 30.0
_MOST_BYTES: Final = 8 << 20
_ERROR: Final = KafkaErrorCode
_NOT_READY: Final = ErrorCode.BROKER_NOT_AVAILABLE
"""The error on which Kafka's followers try again later."""
_HIGHEST_MARK: Final = (1 << 63) - 1
"""Assumed for a request version without the field."""


def fetch(services: Services, incoming: IncomingRequest) -> Answer:
    authorize_cluster(services, incoming, Operation.CLUSTER_ACTION)
    body = incoming.request.body
    error = _request_error(services, body, [topic.topic_id for topic in body.topics], _TOPIC_ID)
    if error is not _ERROR.none:
        return _fetch_error(incoming, error)
    [wanted] = body.topics[0].partitions
    wait_s = min(body.max_wait.total_seconds(), _LONGEST_WAIT_S)
    attempt = partial(_attempt, services, incoming, wanted, body.max_bytes)
    return _deferred(_purgatory(services).ask(attempt, wait_s))


def _request_error(
    services: Services, body: Any, topics: list[Any], expected: object
) -> KafkaErrorCode:
    """The error of a request for another cluster or another partition."""
    if body.cluster_id not in (None, services.cluster_id):
        return _ERROR.inconsistent_cluster_id
    partitions = [each.partition for topic in body.topics for each in topic.partitions]
    return _ERROR.none if (topics, partitions) == ([expected], [0]) else _ERROR.invalid_request


def _attempt(
    services: Services,
    incoming: IncomingRequest,
    wanted: Any,
    max_bytes: int,
    log: ServedLog,
    is_last: bool,
) -> Body | None:
    bounds = log.bounds()
    error = _epoch_error(bounds, wanted.current_leader_epoch)
    is_valid = 0 <= wanted.last_fetched_epoch <= wanted.current_leader_epoch
    if wanted.fetch_offset < 0 or not is_valid or incoming.request.body.max_wait < timedelta():
        error = _ERROR.invalid_request
    served = None
    if bounds is not None and error is _ERROR.none:
        known = getattr(wanted, "high_watermark", _HIGHEST_MARK)
        if wanted.fetch_offset == bounds.end <= known and not is_last:
            return None
        most = min(max_bytes, wanted.partition_max_bytes, _MOST_BYTES)
        served = log.after(bounds, wanted.fetch_offset, wanted.last_fetched_epoch, most)
    parts = response_parts(FETCH, incoming.request.head.version)
    partition = _partition(services, parts, error, bounds, served)
    return parts.FetchResponse(
        throttle_time=NO_THROTTLING,
        error_code=_ERROR.none,
        responses=(parts.FetchableTopicResponse(topic_id=_TOPIC_ID, partitions=(partition,)),),
        **_endpoint(services, incoming, parts),
    )


def _endpoint(services: Services, incoming: IncomingRequest, parts: Any) -> dict[str, Any]:
    """The field with this node's address, in the versions in which Kafka fills it. Kafka's
    observers of a dynamic quorum get the address only from this field, and stop without it."""
    head = incoming.request.head
    if head.version < _ENDPOINT_SINCE[head.api_key]:
        return {}
    host, port = services.addresses[incoming.listener.name]
    return {"node_endpoints": (parts.NodeEndpoint(node_id=services.node_id, host=host, port=port),)}


def _epoch_error(bounds: LogBounds | None, leader_epoch: int) -> KafkaErrorCode:
    """The error of a request with a wrong leader epoch. An epoch of -1 is never wrong."""
    if bounds is None:
        return _ERROR.not_leader_or_follower
    if 0 <= leader_epoch < bounds.epoch:
        return _ERROR.fenced_leader_epoch
    if leader_epoch > bounds.epoch:
        return _ERROR.unknown_leader_epoch
    return _ERROR.none


def _partition(
    services: Services,
    parts: Any,
    error: KafkaErrorCode,
    bounds: LogBounds | None,
    served: Served | None,
) -> Any:
    known: dict[str, Any] = {}
    if bounds is not None:
        known["log_start_offset"] = bounds.start
        known["current_leader"] = parts.LeaderIdAndEpoch(
            leader_id=services.node_id, leader_epoch=bounds.epoch
        )
    if served is not None:
        if served.diverging is not None:
            epoch, end = served.diverging
            known["diverging_epoch"] = parts.EpochEndOffset(epoch=epoch, end_offset=end)
        if served.snapshot is not None:
            known["snapshot_id"] = parts.SnapshotId(
                end_offset=served.snapshot.end_offset, epoch=served.snapshot.epoch
            )
    return parts.PartitionData(
        partition_index=0,
        error_code=error,
        high_watermark=_UNKNOWN if served is None else served.high_watermark,
        aborted_transactions=(),
        records=b"" if served is None else served.records,
        **known,
    )


def _fetch_error(incoming: IncomingRequest, error: KafkaErrorCode) -> Body:
    parts = response_parts(FETCH, incoming.request.head.version)
    return parts.FetchResponse(throttle_time=NO_THROTTLING, error_code=error, responses=())


def refuse_fetch(incoming: IncomingRequest, error: ApiError) -> Body:
    return _fetch_error(incoming, error_fields(error)["error_code"])


def fetch_snapshot(services: Services, incoming: IncomingRequest) -> Answer:
    authorize_cluster(services, incoming, Operation.CLUSTER_ACTION)
    body = incoming.request.body
    error = _request_error(services, body, [topic.name for topic in body.topics], _TOPIC)
    if error is not _ERROR.none:
        return _snapshot_error(incoming, error)
    [wanted] = body.topics[0].partitions
    attempt = partial(_snapshot_response, services, incoming, wanted, body.max_bytes)
    return _deferred(_purgatory(services).ask(attempt, 0))


def _snapshot_response(
    services: Services,
    incoming: IncomingRequest,
    wanted: Any,
    max_bytes: int,
    log: ServedLog,
    is_last: bool,
) -> Body:
    bounds = log.bounds()
    error = _epoch_error(bounds, wanted.current_leader_epoch)
    chunk = None
    if error is _ERROR.none:
        named = SnapshotId(wanted.snapshot_id.end_offset, wanted.snapshot_id.epoch)
        chunk = log.snapshot_chunk(named, max(wanted.position, 0), min(max_bytes, _MOST_BYTES))
        if chunk is None:
            error = _ERROR.snapshot_not_found
        elif not 0 <= wanted.position < chunk.size:
            error, chunk = _ERROR.position_out_of_range, None
    parts = response_parts(FETCH_SNAPSHOT, incoming.request.head.version)
    partition = parts.PartitionSnapshot(
        index=0,
        error_code=error,
        snapshot_id=parts.SnapshotId(
            end_offset=wanted.snapshot_id.end_offset, epoch=wanted.snapshot_id.epoch
        ),
        current_leader=parts.LeaderIdAndEpoch(
            leader_id=_UNKNOWN if bounds is None else services.node_id,
            leader_epoch=_UNKNOWN if bounds is None else bounds.epoch,
        ),
        size=0 if chunk is None else chunk.size,
        position=max(wanted.position, 0),
        unaligned_records=b"" if chunk is None else chunk.data,
    )
    return parts.FetchSnapshotResponse(
        throttle_time=NO_THROTTLING,
        error_code=_ERROR.none,
        topics=(parts.TopicSnapshot(name=_TOPIC, partitions=(partition,)),),
        **_endpoint(services, incoming, parts),
    )


def _snapshot_error(incoming: IncomingRequest, error: KafkaErrorCode) -> Body:
    parts = response_parts(FETCH_SNAPSHOT, incoming.request.head.version)
    return parts.FetchSnapshotResponse(throttle_time=NO_THROTTLING, error_code=error, topics=())


def refuse_snapshot(incoming: IncomingRequest, error: ApiError) -> Body:
    return _snapshot_error(incoming, error_fields(error)["error_code"])


def describe_quorum(services: Services, incoming: IncomingRequest) -> Answer:
    authorize_cluster(services, incoming, Operation.DESCRIBE)
    return _deferred(_purgatory(services).ask(partial(_described, services, incoming), 0))


def _described(
    services: Services, incoming: IncomingRequest, log: ServedLog, is_last: bool
) -> Body:
    """As in Kafka, a request that is not about the metadata partition alone gets an error for each
    of its partitions."""
    version = incoming.request.head.version
    parts = response_parts(DESCRIBE_QUORUM, version)
    topics = [
        (topic.topic_name, [each.partition_index for each in topic.partitions])
        for topic in incoming.request.body.topics
    ]
    bounds = None
    error, message = _ERROR.unknown_topic_or_partition, _UNKNOWN_PARTITION
    if topics == [(_TOPIC, [0])]:
        bounds = log.bounds()
        if bounds is None:
            message = "the node does not lead the quorum"
            return refuse_quorum(incoming, ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER, message))
        error, message = _ERROR.none, ""
    voters = () if bounds is None else (_voter(parts, services, log, bounds),)
    described = tuple(
        parts.TopicData(
            topic_name=name,
            partitions=tuple(
                parts.PartitionData(
                    partition_index=index,
                    error_code=error,
                    leader_id=0 if bounds is None else services.node_id,
                    leader_epoch=0 if bounds is None else bounds.epoch,
                    high_watermark=0 if bounds is None else bounds.end,
                    current_voters=voters,
                    observers=(),
                    **({"error_message": message} if version >= 2 else {}),
                )
                for index in partitions
            ),
        )
        for name, partitions in topics
    )
    newer: dict[str, Any] = {}
    if version >= 2:
        nodes = () if bounds is None else (_node(parts, services),)
        newer = {"error_message": "", "nodes": nodes}
    return parts.DescribeQuorumResponse(error_code=_ERROR.none, topics=described, **newer)


def _voter(parts: Any, services: Services, log: ServedLog, bounds: LogBounds) -> Any:
    newer: dict[str, Any] = {}
    names = {field.name for field in fields(parts.ReplicaState)}
    if "last_fetch_timestamp" in names:
        now_ms = time.time_ns() // 1_000_000
        newer = {"last_fetch_timestamp": now_ms, "last_caught_up_timestamp": now_ms}
    if "replica_directory_id" in names:
        folder = log.directory_id
        newer["replica_directory_id"] = None if folder is None else uuid.UUID(bytes=folder)
    return parts.ReplicaState(replica_id=services.node_id, log_end_offset=bounds.end, **newer)


def _node(parts: Any, services: Services) -> Any:
    controllers = [listener.name for listener in services.listeners if listener.is_for_controllers]
    return parts.Node(
        node_id=services.node_id,
        listeners=tuple(
            parts.Listener(name=name, host=address.host, port=address.port)
            for name in controllers
            for address in (services.addresses[name],)
        ),
    )


def refuse_quorum(incoming: IncomingRequest, error: ApiError) -> Body:
    version = incoming.request.head.version
    outcome = error_fields(error)
    newer = {"error_message": outcome["error_message"], "nodes": ()} if version >= 2 else {}
    return response_parts(DESCRIBE_QUORUM, version).DescribeQuorumResponse(
        error_code=outcome["error_code"], topics=(), **newer
    )


def _purgatory(services: Services) -> FetchPurgatory:
    if services.purgatory is None:
        raise NotController("followers cannot fetch the log from this node")
    return services.purgatory


def _deferred(answer: Future[Body]) -> DeferredResponse:
    return DeferredResponse(answer, Future.result)


APIS: Final = {
    DESCRIBE_QUORUM: HandledApi(
        "DescribeQuorum", VersionRange(0, 2), describe_quorum, refuse_quorum, **SMALL_REQUESTS
    )
}
CONTROLLER_APIS: Final = {
    FETCH: HandledApi(
        "Fetch",
        VersionRange(FETCH_VERSIONS[0], FETCH_VERSIONS[-1]),
        fetch,
        refuse_fetch,
        _NOT_READY,
        **SMALL_REQUESTS,
    ),
    FETCH_SNAPSHOT: HandledApi(
        "FetchSnapshot",
        VersionRange(SNAPSHOT_VERSIONS[0], SNAPSHOT_VERSIONS[-1]),
        fetch_snapshot,
        refuse_snapshot,
        _NOT_READY,
        **SMALL_REQUESTS,
    ),
}
