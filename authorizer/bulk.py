"""Decisions on columns, for whoever asks by the million: one answer a row, from one image.

Rows repeat themselves (an audit log more than anything), so each different row is decided
once a call, and what a ``BulkDecider`` worked out for a session and a name it remembers
for the calls that follow. Nothing is audited: nobody is let in by these answers.

This module must not know where columns come from, nor Arrow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple, TypeVar

from authorizer.config import AuthorizerConfig
from authorizer.decide import ALLOWED, Decision
from authorizer.index import AclIndex
from authorizer.scopes import Decider, Scope
from metalog.acl import Operation, ResourceType
from metalog.errors import InvalidRequest

Row = tuple[str, str, str, str, str]
Answer = TypeVar("Answer")

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
        return self._answered(columns, self._fill_in_results)

    def decisions(self, columns: Columns) -> list[Decision]:
        """Each result with its rule and, where one decided, the ACL: for whoever wants to know,
        since finding it takes several times as long."""
        return self._answered(columns, self._fill_in_decisions)

    def _answered(
        self, columns: Columns, fill_in: Callable[[dict[Row, Answer]], None]
    ) -> list[Answer]:
        try:
            rows: list[Row] = list(zip(*columns, strict=True))
            answers: dict[Row, Answer] = dict.fromkeys(rows)  # type: ignore[assignment]
            fill_in(answers)
        except (KeyError, TypeError, ValueError):
            problem = _invalid(columns)
            if problem is None:
                raise
            raise problem from None
        return list(map(answers.__getitem__, rows))

    def _fill_in_results(self, answers: dict[Row, bool]) -> None:
        scopes: dict[tuple[str, str, str], Scope] = {}
        for row in answers:
            principal, host, operation, resource_type, name = row
            session = (principal, host, resource_type)
            scope = scopes.get(session)
            if scope is None:
                scope = scopes[session] = self._scope(principal, host, resource_type)
            if not isinstance(name, str):
                raise TypeError
            verdicts = scope.verdicts.get(name) or scope.on(name)
            answers[row] = verdicts[_OPERATIONS[operation]] is ALLOWED

    def _fill_in_decisions(self, answers: dict[Row, Decision]) -> None:
        for row in answers:
            principal, host, operation, resource_type, name = row
            scope = self._scope(principal, host, resource_type)
            answers[row] = scope.decide(_OPERATIONS[operation], name)

    def _scope(self, principal: str, host: str, resource_type: str) -> Scope:
        if not (isinstance(principal, str) and isinstance(host, str)):
            raise TypeError
        return self._decider.scope(_RESOURCE_TYPES[resource_type], (host, principal))


def _invalid(columns: Sequence[Sequence[object]]) -> InvalidRequest | None:
    """What is wrong with the first row that is no request; None where none is."""
    lengths = [len(column) for column in columns]
    if len(set(lengths)) > 1:
        listed = ", ".join(
            f"{name} has {length}" for name, length in zip(Columns._fields, lengths, strict=True)
        )
        return InvalidRequest(f"the columns are not of one length: {listed}")
    known: dict[str, Iterable[str]] = {
        "operations": _OPERATIONS,
        "resource_types": _RESOURCE_TYPES,
    }
    for number, row in enumerate(zip(*columns, strict=True)):
        for name, value in zip(Columns._fields, row, strict=True):
            if not isinstance(value, str):
                return InvalidRequest(f"row {number} of {name}: {value!r} is no text")
            if value not in known.get(name, (value,)):
                return InvalidRequest(f"row {number} of {name}: {value!r} is not known")
    return None
