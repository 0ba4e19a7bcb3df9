"""A client for a cluster's ACLs, SCRAM users and topics, through one of its nodes.

A read is repeated after a lost connection or a retriable error. A write is repeated only after
NOT_CONTROLLER, the error of a controller that does not lead. (A broker forwards a write to the
leader.) This module must not know why something is read or changed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from metalog.acl import Acl, AclFilter, Operation
from metalog.errors import ErrorCode, InvalidRequest
from metalog.hosts.host_port import Address
from metalog.ids import Uuid
from metalog.scram import ScramMechanism
from metalog.wire.acls import (
    VERSIONS,
    DescribedAcls,
    create_acls_request,
    delete_acls_request,
    describe_acls_request,
    read_created_acls,
    read_deleted_acls,
    read_described_acls,
)
from metalog.wire.client.bootstrap import first_connection
from metalog.wire.client.connection import Connection, NotSent, Unreachable
from metalog.wire.client.security import ClientSettings
from metalog.wire.declared.acls_v0 import CREATE_ACLS, DELETE_ACLS, DESCRIBE_ACLS
from metalog.wire.frames import Malformed
from metalog.wire.outcome import ApiOutcome, outcome_of
from metalog.wire.schema import Body, request_type
from metalog.wire.scram_users import (
    ALTER_SCRAM,
    DESCRIBE_SCRAM,
    DescribedUsers,
    NewCredential,
    delete_credential_request,
    describe_users_request,
    read_altered_users,
    read_described_users,
    set_credential_request,
)
from metalog.wire.scram_users import VERSIONS as SCRAM_VERSIONS
from metalog.wire.versions import NoCommonVersion

PATIENCE_S: Final = 10.0
"""Retriable errors are retried for this many seconds."""

_METADATA: Final = 3
_METADATA_VERSIONS: Final = (4, 5, 6, 7, 12)
_WITH_IDS: Final = 12
_DESCRIBE_CLUSTER: Final = 60
_DESCRIBE_CLUSTER_VERSIONS: Final = (1,)
_CONTROLLERS: Final = 2
_NO_OPERATIONS_SENT: Final = -(1 << 31)
_NAMES: Final = {
    _METADATA: "Metadata",
    DESCRIBE_ACLS: "DescribeAcls",
    CREATE_ACLS: "CreateAcls",
    DELETE_ACLS: "DeleteAcls",
    DESCRIBE_SCRAM: "DescribeUserScramCredentials",
    ALTER_SCRAM: "AlterUserScramCredentials",
    _DESCRIBE_CLUSTER: "DescribeCluster",
}
_BROKERS_ONLY: Final = frozenset((DESCRIBE_SCRAM,))
"""APIs that only brokers answer, although Kafka 4.3's controllers announce them too."""
_READ_AGAIN: Final = frozenset((5, 7, 8, 13, 14, 15, 16, 41))
"""LEADER_NOT_AVAILABLE, REQUEST_TIMED_OUT, BROKER_NOT_AVAILABLE, NETWORK_EXCEPTION,
COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR, NOT_CONTROLLER."""
_MOST_DISCONNECTS: Final = 2
_PAUSE_S: Final = 0.1


class ListedTopic(NamedTuple):
    """One topic; ``id`` is None if the node's version of Metadata has no topic ids."""

    name: str
    id: Uuid | None
    partitions: int


class OutcomeUnknown(InvalidRequest):
    """A change was sent, and the cluster perhaps made the change."""


def check_needs_no_login(connection: Connection) -> None:
    """Raise ``Unreachable`` if the peer closes the connection during a request.

    A peer that requires a login answers ApiVersions, and closes the connection at the next request.
    """
    version = connection.version(_METADATA, _METADATA_VERSIONS[:1])
    connection.ask(request_type(_METADATA, version)(topics=(), allow_auto_topic_creation=False))


class ClusterClient:
    """A client of a cluster; one of the nodes ``bootstrap`` must be running.

    The first call connects. A call can raise:

    - ``Unreachable`` or ``Malformed``: no node can be used.
    - ``NotSent``: the change was not sent.
    - ``OutcomeUnknown``: the change was sent, and no readable answer came.
    - ``AuthenticationFailed``: the login was refused.
    - ``NoCommonVersion``: the node does not offer the API of the call.
    """

    def __init__(self, bootstrap: Sequence[Address], settings: ClientSettings) -> None:
        self._bootstrap = tuple(bootstrap)
        self._settings = settings
        self._connection: Connection | None = None
        self.is_at_controllers = False
        """Whether the last connection was to a controller."""

    def describe_acls(self, wanted: AclFilter) -> DescribedAcls:

        def request(version: int) -> Body:
            return describe_acls_request(version, wanted)

        return read_described_acls(self._read(DESCRIBE_ACLS, VERSIONS, request))

    def create_acls_version(self) -> int:
        """The highest version of CreateAcls that the node and this client share."""
        return _version(self._connected(), CREATE_ACLS, VERSIONS)

    def supported_level(self, feature: str) -> int:
        """The highest level of ``feature`` that the node supports; 0 if it announces none."""
        supported = self._connected().features.get(feature)
        return 0 if supported is None else supported.most

    def finalized_level(self, feature: str) -> int:
        """The node's finalized level of ``feature``; 0 if the node announces no level."""
        return self._connected().finalized.get(feature, 0)

    def create_acls(self, acls: Sequence[Acl]) -> list[ApiOutcome]:
        """Create ACLs; one outcome per ACL, in order."""
        return self._write(
            CREATE_ACLS,
            VERSIONS,
            lambda version: create_acls_request(version, acls),
            lambda body: read_created_acls(body, acls),
        )

    def delete_acls(self, acls: Sequence[Acl]) -> list[ApiOutcome]:
        """Delete ACLs; one outcome per ACL, in order. A missing ACL is not a failure."""
        return self._write(
            DELETE_ACLS,
            VERSIONS,
            lambda version: delete_acls_request(version, acls),
            lambda body: read_deleted_acls(body, acls),
        )

    def describe_users(self, users: Sequence[str] | None = None) -> DescribedUsers:
        """The SCRAM users among ``users``, or all SCRAM users."""

        def request(version: int) -> Body:
            return describe_users_request(version, users)

        return read_described_users(self._read(DESCRIBE_SCRAM, SCRAM_VERSIONS, request))

    def topics(self) -> list[ListedTopic]:
        """The topics that the user may describe; a broker leaves out all other topics."""

        def request(version: int) -> Body:
            more = {"include_topic_authorized_operations": False} if version >= _WITH_IDS else {}
            declared = request_type(_METADATA, version)
            return declared(topics=None, allow_auto_topic_creation=False, **more)

        answer = self._read(_METADATA, _METADATA_VERSIONS, request)
        return [
            ListedTopic(each.name, _id_of(each), len(each.partitions))
            for each in answer.topics
            if each.name is not None
        ]

    def authorized_operations(self) -> frozenset[Operation] | None:
        """The operations on the cluster that the user may do; None if the node sends no list."""

        def request(version: int) -> Body:
            declared = request_type(_DESCRIBE_CLUSTER, version)
            return declared(include_cluster_authorized_operations=True)

        try:
            described = self._read(_DESCRIBE_CLUSTER, range(2), request)
        except NoCommonVersion:
            return None
        bits = described.cluster_authorized_operations
        if described.error_code != ErrorCode.NONE or bits == _NO_OPERATIONS_SENT:
            return None
        return frozenset(each for each in Operation if bits >> each & 1)

    def set_credential(self, wanted: NewCredential) -> list[ApiOutcome]:
        return self._write(
            ALTER_SCRAM,
            SCRAM_VERSIONS,
            lambda version: set_credential_request(version, wanted),
            read_altered_users,
        )

    def delete_credential(self, user: str, mechanism: ScramMechanism) -> list[ApiOutcome]:
        return self._write(
            ALTER_SCRAM,
            SCRAM_VERSIONS,
            lambda version: delete_credential_request(version, user, mechanism),
            read_altered_users,
        )

    def close(self) -> None:
        """Close the connection; the next call opens another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _read(self, api_key: int, versions: Iterable[int], request: Callable[[int], Body]) -> Body:
        begun_s = time.monotonic()
        disconnects = 0
        while True:
            connection = self._connected()
            body = request(_version(connection, api_key, versions))
            try:
                answer = connection.ask(body, self._left(begun_s))
            except Unreachable:
                self.close()
                disconnects += 1
                if disconnects > _MOST_DISCONNECTS or self._left(begun_s) <= _PAUSE_S:
                    raise
            except Malformed:
                self.close()
                raise
            else:
                is_final = outcome_of(answer).code not in _READ_AGAIN
                if is_final or time.monotonic() - begun_s > PATIENCE_S:
                    return answer
            time.sleep(_PAUSE_S)

    def _write(
        self,
        api_key: int,
        versions: Iterable[int],
        request: Callable[[int], Body],
        read: Callable[[Body], list[ApiOutcome]],
    ) -> list[ApiOutcome]:
        begun_s = time.monotonic()
        while True:
            connection = self._connected()
            body = request(_version(connection, api_key, versions))
            try:
                outcomes = read(connection.ask(body, self._left(begun_s)))
            except NotSent:
                self.close()
                raise
            except (Unreachable, Malformed) as error:
                self.close()
                raise OutcomeUnknown(f"{error}; the change's outcome is unknown") from None
            is_refused = {each.code for each in outcomes} == {ErrorCode.NOT_CONTROLLER}
            if not is_refused or time.monotonic() - begun_s > PATIENCE_S:
                return outcomes
            self._go_to_controller(connection)
            time.sleep(_PAUSE_S)

    def _connected(self) -> Connection:
        if self._connection is None:
            self._connection = first_connection(self._bootstrap, self._settings)
            self.is_at_controllers = _METADATA not in self._connection.versions
        return self._connection

    def _go_to_controller(self, connection: Connection) -> None:
        """Connect to the leader; if that fails, the next call begins with ``bootstrap``."""
        leader = None
        try:
            version = connection.version(_DESCRIBE_CLUSTER, _DESCRIBE_CLUSTER_VERSIONS)
            declared = request_type(_DESCRIBE_CLUSTER, version)
            request = declared(
                include_cluster_authorized_operations=False, endpoint_type=_CONTROLLERS
            )
            leader = _leader_of(connection.ask(request))
            self.close()
            if leader is not None:
                self._connection = Connection(leader, self._settings)
        except (Unreachable, Malformed, NoCommonVersion):
            self.close()

    def _left(self, begun_s: float) -> float:
        left = begun_s + self._settings.call_timeout_s - time.monotonic()
        return max(min(self._settings.request_timeout_s, left), 0.0)


def _version(connection: Connection, api_key: int, versions: Iterable[int]) -> int:
    is_broker = _METADATA in connection.versions
    try:
        version = connection.version(api_key, versions)
    except NoCommonVersion:
        version = None
    if version is None or (api_key in _BROKERS_ONLY and not is_broker):
        advice = "" if is_broker else "; it is a controller's listener: give a broker's"
        raise NoCommonVersion(
            f"the listener {connection.address} does not offer {_NAMES[api_key]} in a supported "
            f"version{advice}"
        )
    return version


def _leader_of(described: Any) -> Address | None:
    leader = (node for node in described.brokers if node.broker_id == described.controller_id)
    return next((Address(node.host, node.port) for node in leader), None)


def _id_of(topic: Any) -> Uuid | None:
    topic_id = getattr(topic, "topic_id", None)
    return None if topic_id is None else Uuid(topic_id.bytes)
