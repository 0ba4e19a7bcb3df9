"""Decides columns of requests, millions at a time: one answer per row, from one image.

Rows repeat themselves (an audit log more than anything): what was worked out for a session
and a name is remembered, for the rows and calls that follow. Nothing is audited: nobody is
let in by these answers.

This module must not know where columns come from, nor Arrow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from operator import getitem
from sys import getsizeof
from typing import Final, NamedTuple

from authorizer.config import AuthorizerConfig
from authorizer.engine import remembered
from authorizer.engine.decide import Decision
from authorizer.engine.decision_cache import DecisionContext
from authorizer.engine.index import AclIndex
from authorizer.engine.remembered import ENTRY_BYTES
from authorizer.engine.session_cache import TYPE_BYTES, SessionCache, bytes_of
from metalog.acl import Operation, ResourceType
from metalog.client_host import client_host
from metalog.errors import InvalidRequest

_OPERATIONS: Final = {operation.name: operation for operation in Operation}
_RESOURCE_TYPES: Final = {resource_type.name: resource_type for resource_type in ResourceType}


class RequestColumns(NamedTuple):
    """A request is a row: ``Type:name``, an address, Kafka's name of an operation
    and of a resource type (``READ``, ``TOPIC``), and the resource's name."""

    principals: Sequence[str]
    hosts: Sequence[str]
    operations: Sequence[str]
    resource_types: Sequence[str]
    resource_names: Sequence[str]


class BulkDecider:
    """Answers by one image of the ACLs and one configuration, from as many calls as one likes."""

    def __init__(self, index: AclIndex, config: AuthorizerConfig) -> None:
        self._decider = DecisionContext(index, config, shut_by="")
        self._sessions = _Sessions(self._decider)

    def allowed(self, columns: RequestColumns) -> list[bool]:
        """Whether each request is allowed; ``InvalidRequest`` names the row that is not a
        request."""
        try:
            of_names = map(getitem, self._names(columns), columns.resource_names)
            return list(map(getitem, of_names, map(_OPERATIONS.__getitem__, columns.operations)))
        except (KeyError, TypeError, ValueError):
            _refuse_what_is_no_request(columns)
            raise

    def decisions(self, columns: RequestColumns) -> list[Decision]:
        """Each result with its rule and, where one decided, the ACL: for whoever wants to know,
        since finding it takes several times as long. Each different row is decided once a call."""
        try:
            asking = [names.scope for names in self._names(columns)]
            asked = list(zip(asking, columns.operations, columns.resource_names, strict=True))
            decided = {row: _decision(*row) for row in dict.fromkeys(asked)}
        except (KeyError, TypeError, ValueError):
            _refuse_what_is_no_request(columns)
            raise
        return [decided[row] for row in asked]

    def _names(self, columns: RequestColumns) -> Iterator[_Names]:
        """What is known of each row's session."""
        if len(set(map(len, columns))) > 1:
            raise ValueError
        known = self._sessions.remembered
        if known.answers > remembered.REMEMBERED or known.size > remembered.REMEMBERED_BYTES:
            self._sessions = _Sessions(self._decider)
        sessions = zip(columns.principals, columns.hosts, columns.resource_types, strict=True)
        return map(self._sessions.__getitem__, sessions)


class _Remembered:
    """How many answers are remembered, and about how many bytes they take."""

    def __init__(self) -> None:
        self.answers = 0
        self.size = 0

    def count(self, size: int) -> None:
        self.answers += 1
        self.size += size


class _Sessions(dict[tuple[str, str, str], "_Names"]):
    """By principal, host and resource type."""

    def __init__(self, decider: DecisionContext) -> None:
        super().__init__()
        self.remembered = _Remembered()
        self._decider = decider

    def __missing__(self, asked: tuple[str, str, str]) -> _Names:
        principal, host, resource_type = asked
        identity = (client_host(_text(host)), _text(principal))
        scope = self._decider.scope(_RESOURCE_TYPES[resource_type], identity)
        names = self[asked] = _Names(scope, self.remembered)
        self.remembered.count(bytes_of(asked) + TYPE_BYTES)
        return names


class _Names(dict[str, tuple[bool, ...]]):
    """What a session may do, by the name of the resource: whether each operation is allowed."""

    def __init__(self, scope: SessionCache, remembered: _Remembered) -> None:
        super().__init__()
        self.scope = scope
        self._remembered = remembered

    def __missing__(self, name: str) -> tuple[bool, ...]:
        self._remembered.count(ENTRY_BYTES + getsizeof(name))
        results = self[name] = _results_of(self.scope.allowed_on(_text(name)))
        return results


def _decision(scope: SessionCache, operation: str, name: str) -> Decision:
    return scope.decide(_OPERATIONS[operation], _text(name))


@cache
def _results_of(allowed: int) -> tuple[bool, ...]:
    return tuple([allowed >> operation & 1 == 1 for operation in Operation])


def _text(value: str) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _refuse_what_is_no_request(columns: Sequence[Sequence[object]]) -> None:
    """``InvalidRequest`` says what is wrong with the first row of which something is."""
    lengths = [len(column) for column in columns]
    if len(set(lengths)) > 1:
        listed = ", ".join(
            f"{name} has {length}"
            for name, length in zip(RequestColumns._fields, lengths, strict=True)
        )
        raise InvalidRequest(f"the columns differ in length: {listed}") from None
    known: dict[str, Iterable[str]] = {
        "operations": _OPERATIONS,
        "resource_types": _RESOURCE_TYPES,
    }
    for number, row in enumerate(zip(*columns, strict=True)):
        for name, value in zip(RequestColumns._fields, row, strict=True):
            if not isinstance(value, str):
                raise InvalidRequest(f"row {number} of {name}: {value!r} is not text") from None
            if value not in known.get(name, (value,)):
                raise InvalidRequest(f"row {number} of {name}: {value!r} is not known") from None
