"""Requests of admin clients, valid and odd, and a node's answers in comparable form.

This module must not know which node answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from metalog.errors import InvalidRequest
from metalog.hosts.host_port import Address
from metalog.wire.client.connection import Connection
from metalog.wire.client.security import PLAINTEXT, ClientSettings
from metalog.wire.schema import Body, request_parts, request_type

METADATA, DESCRIBE_ACLS, CREATE_ACLS, DELETE_ACLS = 3, 29, 30, 31
QUOTAS, DESCRIBE_SCRAM, ALTER_SCRAM, QUORUM, DESCRIBE_CLUSTER = 48, 50, 51, 55, 60

_PLACES = frozenset(("host", "port", "cluster_id", "rack", "throttle_time"))
"""Fields in which two clusters differ."""


def creation(version: int = 3, **changed: Any) -> Any:
    """An ACL of ``User:beside``; codes are Kafka's numbers."""
    given: dict[str, object] = {
        "resource_type": 2,
        "resource_name": "beside",
        "principal": "User:beside",
        "host": "*",
        "operation": 3,
        "permission_type": 3,
    }
    if version >= 1:
        given["resource_pattern_type"] = 3
    return request_parts(CREATE_ACLS, version).AclCreation(**{**given, **changed})


def create(*creations: Any, version: int = 3) -> Body:
    return request_parts(CREATE_ACLS, version).CreateAclsRequest(creations=creations)


def acl_filter(version: int = 3, **changed: Any) -> Any:
    """All ACLs of ``User:beside``."""
    return request_parts(DELETE_ACLS, version).DeleteAclsFilter(**_filter(version, changed))


def delete(*filters: Any, version: int = 3) -> Body:
    return request_parts(DELETE_ACLS, version).DeleteAclsRequest(filters=filters)


def describe(version: int = 3, **changed: Any) -> Body:
    return request_type(DESCRIBE_ACLS, version)(**_filter(version, changed))


def _filter(version: int, changed: Mapping[str, object]) -> dict[str, object]:
    given: dict[str, object] = {
        "resource_type_filter": 1,
        "resource_name_filter": None,
        "principal_filter": "User:beside",
        "host_filter": None,
        "operation": 1,
        "permission_type": 1,
    }
    if version >= 1:
        given["pattern_type_filter"] = 1
    return {**given, **changed}


def upsertion(
    name: str,
    mechanism: int = 1,
    iterations: int = 4096,
    salt: bytes = b"salt",
    salted_password: bytes = bytes(32),
) -> Any:
    return request_parts(ALTER_SCRAM, 0).ScramCredentialUpsertion(
        name=name,
        mechanism=mechanism,
        iterations=iterations,
        salt=salt,
        salted_password=salted_password,
    )


def deletion(name: str, mechanism: int = 1) -> Any:
    return request_parts(ALTER_SCRAM, 0).ScramCredentialDeletion(name=name, mechanism=mechanism)


def alter_users(*upsertions: Any, deletions: tuple[Any, ...] = ()) -> Body:
    return request_type(ALTER_SCRAM, 0)(deletions=deletions, upsertions=upsertions)


def describe_users(*names: str) -> Body:
    parts = request_parts(DESCRIBE_SCRAM, 0)
    return parts.DescribeUserScramCredentialsRequest(
        users=tuple(parts.UserName(name=each) for each in names)
    )


class NodeClient:
    """A client of one node; it reconnects after the node closed the connection."""

    def __init__(self, address: Address, settings: ClientSettings = PLAINTEXT) -> None:
        self._address = address
        self._settings = settings
        self._connection: Connection | None = None

    def ask(self, body: Body) -> Any:
        """The answer in comparable form; ``closed`` if the node closed the connection."""
        if self._connection is None:
            self._connection = Connection(self._address, self._settings)
        try:
            return comparable(self._connection.ask(body))
        except InvalidRequest:
            self._connection = None
            return "closed"

    def offers(self) -> dict[int, tuple[int, int]]:
        connection = Connection(self._address, self._settings)
        with connection:
            return {key: (each.least, each.most) for key, each in connection.versions.items()}

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()


def comparable(value: Any) -> Any:
    """The value without addresses of the cluster, and with sets in a fixed order."""
    if is_dataclass(value):
        return tuple(_fields(value))
    if isinstance(value, tuple):
        return sorted(map(comparable, value), key=repr)
    return value


def _fields(value: Any) -> Iterator[tuple[str, Any]]:
    for each in fields(value):
        if each.name not in _PLACES:
            yield each.name, comparable(getattr(value, each.name))
