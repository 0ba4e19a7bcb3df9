"""One request for each API of a node, in the newest version, harmless if it is allowed.

This module must not know which clients may send it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from metalog.ids import SnapshotId
from metalog.principal import KafkaPrincipal
from metalog.wire.declared.extensions import WireScramCredentials, WireScramPasswordRequest
from metalog.wire.declared.newest import UNREGISTER_CONTROLLER
from metalog.wire.envelope import seal
from metalog.wire.fetch import FetchPosition, fetch_request, snapshot_request
from metalog.wire.messages import write_request
from metalog.wire.schema import Body, request_parts, request_type
from tests.support.wire import admin_requests as admin

FETCH, METADATA, QUOTAS, QUORUM, FETCH_SNAPSHOT, DESCRIBE_CLUSTER = 1, 3, 48, 55, 59, 60
TOPIC = "topic"
INNER = write_request(admin.create(), 1, "client")


@cache
def requests() -> dict[int, Body]:
    """The requests, by API key."""
    metadata, quorum = request_parts(METADATA, 13), request_parts(QUORUM, 2)
    every: list[Any] = [
        metadata.MetadataRequest(
            topics=(metadata.MetadataRequestTopic(name=TOPIC, topic_id=None),),
            allow_auto_topic_creation=False,
            include_topic_authorized_operations=False,
        ),
        fetch_request(18, FetchPosition(0, 0, 0, -1), cluster_id=None, wait_s=0),
        snapshot_request(1, SnapshotId(1, 1), 0, leader_epoch=-1, cluster_id=None),
        admin.describe(),
        admin.create(admin.creation()),
        admin.delete(admin.acl_filter(resource_name_filter="nothing")),
        request_type(QUOTAS, 1)(components=(), strict=False),
        admin.describe_users("nobody"),
        admin.alter_users(deletions=(admin.deletion("nobody"),)),
        quorum.DescribeQuorumRequest(
            topics=(
                quorum.TopicData(
                    topic_name="__cluster_metadata",
                    partitions=(quorum.PartitionData(partition_index=0),),
                ),
            )
        ),
        request_type(DESCRIBE_CLUSTER, 1)(
            include_cluster_authorized_operations=False, endpoint_type=2
        ),
        request_type(UNREGISTER_CONTROLLER, 0)(controller_id=77),
        seal(1, INNER, KafkaPrincipal("User", "nobody"), bytes([10, 0, 0, 1])),
        WireScramPasswordRequest(
            credentials=(WireScramCredentials(username="nobody", hash_type=1, password=None),)
        ),
    ]
    return {int(each.__api_key__): each for each in every}


def first_error(answer: Any) -> int:
    """The response's error code or, if that is 0, that of its first item."""
    for name, value in _walk(answer):
        if name == "error_code" and value:
            return int(value)
    return 0


def _walk(value: Any) -> Any:
    if isinstance(value, tuple):
        for each in value:
            yield from _walk(each)
    elif hasattr(value, "__dataclass_fields__"):
        for name in value.__dataclass_fields__:
            inner = getattr(value, name)
            yield name, inner
            yield from _walk(inner)
