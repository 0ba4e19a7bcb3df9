"""Decides millions of requests in columns, one request per row, all by one image of the ACLs.

Decisions are cached by session and name, because requests repeat. This module writes no audit
lines, because no client receives these decisions.

This module must not know where columns come from, nor Arrow.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from operator import getitem
from sys import getsizeof
from typing import Any, Final, NamedTuple

from authorizer.config import AuthorizerConfig
from authorizer.engine.cache import remembered
from authorizer.engine.cache.decision_cache import DecisionContext
from authorizer.engine.cache.remembered import ENTRY_BYTES
from authorizer.engine.cache.session_cache import TYPE_BYTES, SessionCache, bytes_of
from authorizer.engine.decide import Decision
from authorizer.engine.index import AclIndex
from metalog.acl import Operation, ResourceType
from metalog.errors import InvalidRequest
from metalog.hosts.client_host import client_host

_OPERATIONS: Final = {operation.name: operation for operation in Operation}
_RESOURCE_TYPES: Final = {resource_type.name: resource_type for resource_type in ResourceType}

ROWS: Final = 1 << 13
"""``allowed`` handles at most this many rows at a time, so that their results fit a CPU cache."""


class RequestColumns(NamedTuple):
    """Columns with one request per row.

    A principal is ``Type:name``. Operations and resource types have Kafka's names (``READ``,
    ``TOPIC``).
    """

    principals: Sequence[str]
    hosts: Sequence[str]
    operations: Sequence[str]
    resource_types: Sequence[str]
    resource_names: Sequence[str]


class BulkDecider:
    """Decides by one image of the ACLs and one configuration."""

    def __init__(self, index: AclIndex, config: AuthorizerConfig) -> None:
        self._context = DecisionContext(index, config, shut_by="")
        self._sessions = _Sessions(self._context)

    def allowed(self, columns: RequestColumns) -> list[bool]:
        """Whether each request is allowed. Raises ``InvalidRequest`` if ``columns`` are invalid."""
        try:
            return list(chain.from_iterable(map(self._allowed, _parts(columns))))
        except (KeyError, TypeError, ValueError):
            _refuse_invalid_row(columns)
            raise

    def decisions(self, columns: RequestColumns) -> list[Decision]:
        """The decision on each request: the result, the rule, and the ACL if an ACL decided.

        This method takes several times as long as ``allowed``.
        """
        try:
            sessions = [session.session_cache for session in self._sessions_of(columns)]
            key = list(zip(sessions, columns.operations, columns.resource_names, strict=True))
            decided = {row: _decision(*row) for row in dict.fromkeys(key)}
        except (KeyError, TypeError, ValueError):
            _refuse_invalid_row(columns)
            raise
        return [decided[row] for row in key]

    def _allowed(self, columns: RequestColumns) -> Iterator[bool]:
        sessions = list(self._sessions_of(columns))
        results = _results(sessions, columns.resource_names)
        return map(getitem, results, map(_OPERATIONS.__getitem__, columns.operations))

    def _sessions_of(self, columns: RequestColumns) -> Iterator[_Decisions]:
        if len(set(map(len, columns))) > 1:
            raise ValueError
        count = self._sessions.cached
        if count.answers > remembered.MOST_ENTRIES or count.size > remembered.MOST_BYTES:
            self._sessions = _Sessions(self._context)
        sessions = zip(columns.principals, columns.hosts, columns.resource_types, strict=True)
        return map(self._sessions.__getitem__, sessions)


def _parts(columns: RequestColumns) -> Iterator[RequestColumns]:
    for start in range(0, max(map(len, columns)), ROWS):
        yield RequestColumns(*(column[start : start + ROWS] for column in columns))


class _CacheSize:
    def __init__(self) -> None:
        self.answers = 0
        self.size = 0

    def count(self, answers: int, size: int) -> None:
        self.answers += answers
        self.size += size


class _Sessions(dict[tuple[str, str, str], "_Decisions"]):
    """The sessions' caches by principal, host and resource type."""

    def __init__(self, context: DecisionContext) -> None:
        super().__init__()
        self.cached = _CacheSize()
        self._context = context

    def __missing__(self, key: tuple[str, str, str]) -> _Decisions:
        principal, host, resource_type = key
        identity = (client_host(_text(host)), _text(principal))
        session_cache = self._context.session_cache(_RESOURCE_TYPES[resource_type], identity)
        session = self[key] = _Decisions(session_cache, self.cached)
        self.cached.count(1, bytes_of(key) + TYPE_BYTES)
        return session


class _Decisions(dict[str, tuple[bool, ...]]):
    """A session's decisions by resource name: whether each operation is allowed."""

    def __init__(self, session: SessionCache, cached: _CacheSize) -> None:
        super().__init__()
        self.session_cache = session
        self._cached = cached

    __hash__ = object.__hash__  # type: ignore[assignment]  # one object per session

    def decide(self, names: Iterable[str]) -> None:
        """Decide and cache ``names``, which must be new."""
        listed = list(map(_text, names))
        self._cached.count(len(listed), ENTRY_BYTES * len(listed) + getsizeof("".join(listed)))
        allowed = self.session_cache.allowed_on_all(listed)
        self.update(zip(listed, map(_results_of, allowed), strict=True))


def _results(sessions: list[_Decisions], resource_names: Sequence[str]) -> list[tuple[bool, ...]]:
    """The results of each row. Decides all new names of a session in one call."""
    results: list[Any] = list(map(dict.get, sessions, resource_names))
    if not all(results):
        new: dict[_Decisions, dict[str, None]] = defaultdict(dict)
        for session, name, known in zip(sessions, resource_names, results, strict=True):
            if not known:
                new[session][name] = None
        for session, names in new.items():
            session.decide(names)
        results = list(map(getitem, sessions, resource_names))
    return results


def _decision(session: SessionCache, operation: str, name: str) -> Decision:
    return session.decide(_OPERATIONS[operation], _text(name))


@cache
def _results_of(allowed: int) -> tuple[bool, ...]:
    return tuple([allowed >> operation & 1 == 1 for operation in Operation])


def _text(value: str) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _refuse_invalid_row(columns: RequestColumns) -> None:
    by_name: dict[str, Sequence[object]] = columns._asdict()
    if len(set(map(len, columns))) > 1:
        listed = ", ".join(f"{name} has {len(column)}" for name, column in by_name.items())
        raise InvalidRequest(f"the columns differ in length: {listed}") from None
    known: dict[str, Iterable[str]] = {"operations": _OPERATIONS, "resource_types": _RESOURCE_TYPES}
    for number in range(len(columns.principals)):
        for name, column in by_name.items():
            value = column[number]
            if not isinstance(value, str):
                raise InvalidRequest(f"{name}[{number}]: {value!r} is not text") from None
            if value not in known.get(name, (value,)):
                raise InvalidRequest(f"{name}[{number}]: {value!r} is unknown") from None
