"""Which APIs a listener answers, in which versions, and by whom.

Sources: what Kafka 4.3.1 offers on its listeners. One line an API; what is not here is refused
before it is read. This module must not know sockets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from metalog.wire.session import SASL_AUTHENTICATE, SASL_HANDSHAKE
from metalog.wire.versions import API_VERSIONS, VersionRange, Versions
from metalog_node.handlers import acls, cluster, scram
from metalog_node.handlers.question import Handler


class Api(NamedTuple):
    """``name`` as Kafka's audit lines have it."""

    name: str
    versions: VersionRange
    handler: Handler


_ADMIN: Final[Mapping[int, Api]] = {
    acls.DESCRIBE_ACLS: Api("DescribeAcls", VersionRange(1, 3), acls.describe),
    acls.CREATE_ACLS: Api("CreateAcls", VersionRange(1, 3), acls.create),
    acls.DELETE_ACLS: Api("DeleteAcls", VersionRange(1, 3), acls.delete),
    cluster.DESCRIBE_QUOTAS: Api(
        "DescribeClientQuotas", VersionRange(0, 1), cluster.describe_quotas
    ),
    scram.DESCRIBE_SCRAM: Api("DescribeUserScramCredentials", VersionRange(0, 0), scram.describe),
    scram.ALTER_SCRAM: Api("AlterUserScramCredentials", VersionRange(0, 0), scram.alter),
    cluster.DESCRIBE_CLUSTER: Api("DescribeCluster", VersionRange(0, 2), cluster.describe_cluster),
}
_OF_BROKERS: Final[Mapping[int, Api]] = {
    cluster.METADATA: Api("Metadata", VersionRange(0, 13), cluster.metadata),
}
_OF_CONTROLLERS: Final[Mapping[int, Api]] = {}
_OF_CONNECTIONS: Final[Versions] = {
    SASL_HANDSHAKE: VersionRange(0, 1),
    API_VERSIONS: VersionRange(0, 4),
    SASL_AUTHENTICATE: VersionRange(0, 2),
}


def apis_of(*, is_controllers: bool) -> Mapping[int, Api]:
    """By key, those that a listener's clients may ask once they are known."""
    return {**_ADMIN, **(_OF_CONTROLLERS if is_controllers else _OF_BROKERS)}


def spoken(apis: Mapping[int, Api]) -> Versions:
    """What ApiVersions tells of ``apis``, those of the connection itself among them."""
    return {**_OF_CONNECTIONS, **{key: api.versions for key, api in apis.items()}}
