"""Handles Metadata, DescribeCluster and UnregisterController.

Metadata and DescribeCluster show the node as the only broker and controller, without topics.
UnregisterController (Kafka 4.4) removes the registration of another controller.
This module must not know ACLs or users, nor how a controller registers.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any, Final

from kio.schema.errors import ErrorCode as KafkaErrorCode

from authorizer.api import cluster, topic
from metalog.acl import Operation
from metalog.controller.registration import unregister_controller
from metalog.errors import ApiError, AuthorizerNotReady, ErrorCode
from metalog.wire.declared.newest import UNREGISTER_CONTROLLER
from metalog.wire.schema import Body, response_parts, response_type
from metalog.wire.versions import VersionRange
from metalog_node.handlers.request import (
    NO_THROTTLING,
    SMALL_REQUESTS,
    Answer,
    DeferredResponse,
    HandledApi,
    IncomingRequest,
    Services,
    allowed_topics,
    authorize_cluster,
    authorized_operations,
    error_fields,
)

METADATA: Final = 3
DESCRIBE_CLUSTER: Final = 60

_BROKERS, _CONTROLLERS = 1, 2
_ENDPOINT_TYPES: Final = {_BROKERS: "BROKER", _CONTROLLERS: "CONTROLLER"}
_TOPIC_IDS_SINCE: Final = 10
_BY_TOPIC_ID_SINCE: Final = 12
_TOPIC_NAME: Final = re.compile(r"(?!\.{1,2}$)[a-zA-Z0-9._-]{1,249}")


def metadata(services: Services, incoming: IncomingRequest) -> Answer:
    version = incoming.request.head.version
    body = incoming.request.body
    topics = body.topics or ()
    ids = {each.topic_id: None for each in topics if getattr(each, "topic_id", None)}
    has_no_name = any(each.name is None for each in topics)
    if version < _BY_TOPIC_ID_SINCE and (ids or has_no_name):
        return refuse_metadata(incoming, ApiError(ErrorCode.INVALID_REQUEST))
    if has_no_name and not ids:
        return refuse_metadata(incoming, ApiError(ErrorCode.UNKNOWN_SERVER_ERROR))
    parts = response_parts(METADATA, version)
    here = services.addresses[incoming.listener.name]
    newer: dict[str, Any] = {}
    if version >= 2:
        newer["cluster_id"] = services.cluster_id
    if 8 <= version <= 10 and body.include_cluster_authorized_operations:
        newer["cluster_authorized_operations"] = _shown_operations(services, incoming)
    if version >= 1:
        newer["controller_id"] = services.node_id
    broker = parts.MetadataResponseBroker(node_id=services.node_id, host=here.host, port=here.port)
    if ids:
        outcomes = [_topic(version, KafkaErrorCode.unknown_topic_id, None, each) for each in ids]
    else:
        outcomes = _named_topics(services, incoming, sorted({each.name for each in topics}))
    return _metadata(incoming, (broker,), outcomes, KafkaErrorCode.none, newer)


def _named_topics(services: Services, incoming: IncomingRequest, names: list[str]) -> list[Body]:
    """The answers about ``names``. No topic exists, but a client learns this only about topics
    that it may describe."""
    version, body = incoming.request.head.version, incoming.request.body
    answers: list[Body] = []
    try:
        allowed = allowed_topics(services, incoming, Operation.DESCRIBE, names)
        for name in names:
            more: dict[str, Any] = {}
            if name not in allowed:
                code = KafkaErrorCode.topic_authorization_failed
            elif not _TOPIC_NAME.fullmatch(name):
                code = KafkaErrorCode.invalid_topic_exception
            else:
                code = KafkaErrorCode.unknown_topic_or_partition
            if name in allowed and getattr(body, "include_topic_authorized_operations", False):
                operations = authorized_operations(services, incoming, topic(name))
                more["topic_authorized_operations"] = operations
            answers.append(_topic(version, code, name, None, **more))
    except AuthorizerNotReady:
        code = KafkaErrorCode.leader_not_available
        return [_topic(version, code, name, None) for name in names]
    return answers


def _topic(
    version: int, code: KafkaErrorCode, name: str | None, topic_id: Any, **more: Any
) -> Body:
    if version >= _TOPIC_IDS_SINCE:
        more["topic_id"] = topic_id
    parts = response_parts(METADATA, version)
    return parts.MetadataResponseTopic(error_code=code, name=name, partitions=(), **more)


def _metadata(
    incoming: IncomingRequest,
    brokers: tuple[Any, ...],
    topics: list[Body],
    error: KafkaErrorCode,
    newer: dict[str, Any],
) -> Body:
    version = incoming.request.head.version
    if version >= 3:
        newer["throttle_time"] = NO_THROTTLING
    if version >= 13:
        newer["error_code"] = error
    declared = response_type(METADATA, version)
    return declared(brokers=brokers, topics=tuple(topics), **newer)


def refuse_metadata(incoming: IncomingRequest, error: ApiError) -> Body:
    """A response with ``error``. Before version 13, only the topics have a field for an error."""
    code, version = error_fields(error)["error_code"], incoming.request.head.version
    topics = [
        _topic(version, code, each.name or "", getattr(each, "topic_id", None))
        for each in incoming.request.body.topics or ()
    ]
    return _metadata(incoming, (), topics, code, {})


def describe_cluster(services: Services, incoming: IncomingRequest) -> Answer:
    version = incoming.request.head.version
    body = incoming.request.body
    parts = response_parts(DESCRIBE_CLUSTER, version)
    served = _BROKERS
    if incoming.listener.is_for_controllers:
        authorize_cluster(services, incoming, Operation.ALTER)
        served = _CONTROLLERS
    wanted = body.endpoint_type if version >= 1 else _BROKERS
    if wanted != served:
        code, why = _mismatch(version, served, wanted)
        return parts.DescribeClusterResponse(
            throttle_time=NO_THROTTLING,
            error_code=code,
            error_message=why,
            cluster_id="",
            brokers=(),
        )
    fields: dict[str, Any] = {"endpoint_type": wanted} if version >= 1 else {}
    if body.include_cluster_authorized_operations:
        fields["cluster_authorized_operations"] = _shown_operations(services, incoming)
    here = services.addresses[incoming.listener.name]
    newer = {"is_fenced": False} if version >= 2 else {}
    broker = parts.DescribeClusterBroker(
        broker_id=services.node_id, host=here.host, port=here.port, **newer
    )
    return parts.DescribeClusterResponse(
        throttle_time=NO_THROTTLING,
        error_code=KafkaErrorCode.none,
        error_message=None,
        cluster_id=services.cluster_id,
        controller_id=services.node_id,
        brokers=(broker,),
        **fields,
    )


def _shown_operations(services: Services, incoming: IncomingRequest) -> int:
    operations = authorized_operations(services, incoming, cluster())
    return operations if operations & (1 << Operation.DESCRIBE) else 0


def _mismatch(version: int, served: int, wanted: int) -> tuple[KafkaErrorCode, str]:
    if wanted not in _ENDPOINT_TYPES:
        code, why = KafkaErrorCode.unsupported_endpoint_type, f"Unsupported endpoint type {wanted}"
    else:
        code = KafkaErrorCode.mismatched_endpoint_type
        why = (
            f"The request was sent to an endpoint of type {_ENDPOINT_TYPES[served]}, "
            f"but we wanted an endpoint of type {_ENDPOINT_TYPES[wanted]}"
        )
    return code if version else KafkaErrorCode.invalid_request, why


def refuse_cluster(incoming: IncomingRequest, error: ApiError) -> Body:
    parts = response_parts(DESCRIBE_CLUSTER, incoming.request.head.version)
    return parts.DescribeClusterResponse(
        throttle_time=NO_THROTTLING, **error_fields(error), cluster_id="", brokers=()
    )


def unregister(services: Services, incoming: IncomingRequest) -> Answer:
    authorize_cluster(services, incoming, Operation.ALTER)
    change = partial(
        unregister_controller,
        controller_id=incoming.request.body.controller_id,
        active_id=services.node_id,
    )
    done = services.replica.submit(change)
    return DeferredResponse(done, lambda changed: _unregistered(incoming, changed.result()))


def _unregistered(incoming: IncomingRequest, error: ApiError) -> Body:
    declared = response_type(UNREGISTER_CONTROLLER, incoming.request.head.version)
    return declared(throttle_time=NO_THROTTLING, error_code=error.code, error_message=error.message)


APIS: Final = {
    DESCRIBE_CLUSTER: HandledApi(
        "DescribeCluster", VersionRange(0, 2), describe_cluster, refuse_cluster, **SMALL_REQUESTS
    ),
    UNREGISTER_CONTROLLER: HandledApi(
        "UnregisterController",
        VersionRange(0, 0),
        unregister,
        _unregistered,
        since="4.4",
        **SMALL_REQUESTS,
    ),
}
BROKER_APIS: Final = {
    METADATA: HandledApi(
        "Metadata",
        VersionRange(0, 13),
        metadata,
        refuse_metadata,
        ErrorCode.LEADER_NOT_AVAILABLE,
        most_bytes_on_loop=0,
    )
}
