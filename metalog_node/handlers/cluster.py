"""Metadata, DescribeCluster and DescribeClientQuotas: the node as a cluster of one.

It is its own broker and controller, and has no topics: admin clients need to find where to
send what they came for. This module must not know ACLs or users.
"""

from __future__ import annotations

from typing import Any, Final

from kio.schema.errors import ErrorCode as KafkaErrorCode

from metalog.acl import Operation
from metalog.errors import SUCCESS, ApiError
from metalog.wire.hosts import Address
from metalog.wire.schema import Body, response_parts
from metalog.wire.versions import VersionRange
from metalog_node.handlers.question import (
    NO_THROTTLING,
    Answer,
    Api,
    Question,
    Services,
    ask,
    authorized_operations,
    error_fields,
)

METADATA: Final = 3
DESCRIBE_QUOTAS: Final = 48
DESCRIBE_CLUSTER: Final = 60

_BROKERS: Final = 1
_CONTROLLERS: Final = 2
_NOT_ASKED: Final = -(1 << 31)
_MISMATCHED_ENDPOINT_TYPE: Final = KafkaErrorCode(114)
_UNSUPPORTED_ENDPOINT_TYPE: Final = KafkaErrorCode(115)


def metadata(services: Services, question: Question) -> Answer:
    version = question.request.head.version
    asked = question.request.body
    parts = response_parts(METADATA, version)
    here = services.addresses[question.listener.name]
    since: dict[str, Any] = {}
    if version >= 2:
        since["cluster_id"] = services.cluster_id
    if version >= 3:
        since["throttle_time"] = NO_THROTTLING
    if 8 <= version <= 10 and asked.include_cluster_authorized_operations:
        since["cluster_authorized_operations"] = authorized_operations(services, question)
    if version >= 13:
        since["error_code"] = KafkaErrorCode.none
    if version >= 1:
        since["controller_id"] = services.node_id
    return parts.MetadataResponse(
        brokers=(
            parts.MetadataResponseBroker(node_id=services.node_id, host=here.host, port=here.port),
        ),
        topics=tuple(_unknown_topic(parts, version, each) for each in asked.topics or ()),
        **since,
    )


def _unknown_topic(parts: Any, version: int, asked: Any) -> Any:
    since = {"topic_id": asked.topic_id} if version >= 10 else {}
    return parts.MetadataResponseTopic(
        error_code=KafkaErrorCode.unknown_topic_or_partition,
        name=asked.name,
        partitions=(),
        **since,
    )


def describe_cluster(services: Services, question: Question) -> Answer:
    version = question.request.head.version
    asked = question.request.body
    parts = response_parts(DESCRIBE_CLUSTER, version)
    wanted = asked.endpoint_type if version >= 1 else _BROKERS
    served = _CONTROLLERS if question.listener.is_controllers else _BROKERS
    fields: dict[str, Any] = {"endpoint_type": wanted} if version >= 1 else {}
    if wanted != served:
        known = wanted in (_BROKERS, _CONTROLLERS)
        return parts.DescribeClusterResponse(
            throttle_time=NO_THROTTLING,
            error_code=_MISMATCHED_ENDPOINT_TYPE if known else _UNSUPPORTED_ENDPOINT_TYPE,
            error_message=_mismatch(served) if known else f"Unsupported endpoint type {wanted}",
            cluster_id="",
            brokers=(),
            **fields,
        )
    if asked.include_cluster_authorized_operations:
        fields["cluster_authorized_operations"] = authorized_operations(services, question)
    return parts.DescribeClusterResponse(
        throttle_time=NO_THROTTLING,
        error_code=KafkaErrorCode.none,
        error_message=None,
        cluster_id=services.cluster_id,
        controller_id=services.node_id,
        brokers=(_broker(parts, version, services, services.addresses[question.listener.name]),),
        **fields,
    )


def _broker(parts: Any, version: int, services: Services, here: Address) -> Any:
    since = {"is_fenced": False} if version >= 2 else {}
    return parts.DescribeClusterBroker(
        broker_id=services.node_id, host=here.host, port=here.port, **since
    )


def _mismatch(served: int) -> str:
    kind = "CONTROLLER" if served == _CONTROLLERS else "BROKER"
    return f"The request was sent to an endpoint of type {kind}"


def describe_quotas(services: Services, question: Question) -> Answer:
    """None is enforced here; ConfigCommand asks before it shows a user's credentials."""
    ask(services, question, Operation.DESCRIBE_CONFIGS)
    return _quotas(question, SUCCESS)


def refuse_quotas(question: Question, error: ApiError) -> Body:
    return _quotas(question, error)


def refuse_metadata(question: Question, error: ApiError) -> Body:
    """Its response has no room for an error before version 13."""
    version = question.request.head.version
    since: dict[str, Any] = {"throttle_time": NO_THROTTLING} if version >= 3 else {}
    if version >= 13:
        since["error_code"] = error_fields(error)["error_code"]
    parts = response_parts(METADATA, version)
    return parts.MetadataResponse(brokers=(), topics=(), **since)


def refuse_cluster(question: Question, error: ApiError) -> Body:
    parts = response_parts(DESCRIBE_CLUSTER, question.request.head.version)
    return parts.DescribeClusterResponse(
        throttle_time=NO_THROTTLING, **error_fields(error), cluster_id="", brokers=()
    )


def _quotas(question: Question, error: ApiError) -> Body:
    parts = response_parts(DESCRIBE_QUOTAS, question.request.head.version)
    return parts.DescribeClientQuotasResponse(
        throttle_time=NO_THROTTLING, **error_fields(error), entries=None if error else ()
    )


APIS: Final = {
    DESCRIBE_QUOTAS: Api(
        "DescribeClientQuotas", VersionRange(0, 1), describe_quotas, refuse_quotas
    ),
    DESCRIBE_CLUSTER: Api("DescribeCluster", VersionRange(0, 2), describe_cluster, refuse_cluster),
}
OF_BROKERS: Final = {
    METADATA: Api("Metadata", VersionRange(0, 13), metadata, refuse_metadata),
}
