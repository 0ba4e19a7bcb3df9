"""Decisions on columns, for whoever asks by the million: one answer a row, from one image.

Rows repeat themselves (an audit log more than anything): what was worked out for a session
and a name is remembered, for the rows and calls that follow. Nothing is audited: nobody is
let in by these answers.

This module must not know where columns come from, nor Arrow.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from authorizer.config import AuthorizerConfig
from authorizer.decide import ALLOWED, Decision
from authorizer.index import AclIndex
from authorizer.scopes import Decider, Scope
from metalog.acl import Operation, ResourceType
from metalog.errors import InvalidRequest

Row = tuple[str, str, str, str, str]

_OPERATIONS: Final = {operation.name: operation for operation in Operation}
_RESOURCE_TYPES: Final = {resource_type.name: resource_type for resource_type in ResourceType}


class Columns(NamedTuple):
    """A request is a row: ``Type:name``, an address in Java's text, Kafka's name of an operation
    and of a resource type (``READ``, ``TOPIC``), and the resource's name."""

    principals: Sequence[str]
    hosts: Sequence[str]
    operations: Sequence[str]
    resource_types: Sequence[str]
    resource_names: Sequence[str]


class BulkDecider:
    """Answers by one image of the ACLs and one configuration, from as many calls as one likes."""

    def __init__(self, index: AclIndex, config: AuthorizerConfig) -> None:
        self._decider = Decider(index, config.super_users, config.allow_everyone, is_open=True)

    def allowed(self, columns: Columns) -> list[bool]:
        """Whether each request is allowed; ``InvalidRequest`` names the row that is no request."""
        try:
            return self._results(columns)
        except (KeyError, TypeError, ValueError):
            _refuse_what_is_no_request(columns)
            raise

    def decisions(self, columns: Columns) -> list[Decision]:
        """Each result with its rule and, where one decided, the ACL: for whoever wants to know,
        since finding it takes several times as long. Each different row is decided once a call."""
        try:
            rows: list[Row] = list(zip(*columns, strict=True))
            decided = {row: self._decision(row) for row in dict.fromkeys(rows)}
        except (KeyError, TypeError, ValueError):
            _refuse_what_is_no_request(columns)
            raise
        return [decided[row] for row in rows]

    def _results(self, columns: Columns) -> list[bool]:
        results: list[bool] = []
        scopes: dict[tuple[str, str, str], Scope] = {}
        row: Row
        for row in zip(*columns, strict=True):
            principal, host, operation, resource_type, name = row
            session = (principal, host, resource_type)
            scope = scopes.get(session)
            if scope is None:
                scope = scopes[session] = self._scope(principal, host, resource_type)
            verdicts = scope.verdicts.get(name)
            if verdicts is None:
                verdicts = scope.on(_text(name))
            results.append(verdicts[_OPERATIONS[operation]] is ALLOWED)
        return results

    def _decision(self, row: Row) -> Decision:
        principal, host, operation, resource_type, name = row
        scope = self._scope(principal, host, resource_type)
        return scope.decide(_OPERATIONS[operation], _text(name))

    def _scope(self, principal: str, host: str, resource_type: str) -> Scope:
        identity = (_text(host), _text(principal))
        return self._decider.scope(_RESOURCE_TYPES[resource_type], identity)


def _text(value: str) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _refuse_what_is_no_request(columns: Sequence[Sequence[object]]) -> None:
    """``InvalidRequest`` says what is wrong with the first row of which something is."""
    lengths = [len(column) for column in columns]
    if len(set(lengths)) > 1:
        listed = ", ".join(
            f"{name} has {length}" for name, length in zip(Columns._fields, lengths, strict=True)
        )
        raise InvalidRequest(f"the columns are not of one length: {listed}") from None
    known: dict[str, Iterable[str]] = {
        "operations": _OPERATIONS,
        "resource_types": _RESOURCE_TYPES,
    }
    for number, row in enumerate(zip(*columns, strict=True)):
        for name, value in zip(Columns._fields, row, strict=True):
            if not isinstance(value, str):
                raise InvalidRequest(f"row {number} of {name}: {value!r} is no text") from None
            if value not in known.get(name, (value,)):
                raise InvalidRequest(f"row {number} of {name}: {value!r} is not known") from None
