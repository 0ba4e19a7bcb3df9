"""Finds the requests that two sets of ACLs decide differently, cell by cell.

Two sets differ only in cells that an ACL of their symmetric difference reaches, so no others are
asked. Both authorizers are asked the same request. This module must not know where the sets come
from, nor how a difference is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Final, NamedTuple

from authorizer.analysis.access.coverage import MatchedNames
from authorizer.analysis.cells.clients import ANY_HOST
from authorizer.analysis.cells.enumeration import MOST_CELLS, cells_of, planned
from authorizer.analysis.cells.names import NameClass, Patterns, all_names, plain_name
from authorizer.analysis.cells.sessions import (
    ANYBODY,
    PrincipalSet,
    Requests,
    Session,
    Sessions,
    asked_operations,
)
from authorizer.config import AuthorizerConfig
from authorizer.engine.decide import concerns
from authorizer.engine.decision_cache import DecisionContext
from authorizer.engine.index import PATTERN_TYPES, AclIndex
from metalog.acl import (
    SUPPORTED_OPERATIONS,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    Acl,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from metalog.host_block import host_block

BY_TYPE: Final = Operation.WRITE, ResourceType.TOPIC
"""What Kafka asks of any one resource of a type: whether a producer may write to some topic
(KIP-679)."""
_HARDCODE: Final = "hardcode"
"""The name that it asks for first."""
_PERMISSIONS: Final = (PermissionType.ALLOW, PermissionType.DENY)


AllowedTurn = tuple[int, int]
"""The operations that are allowed before and after, a bit each."""


class CellChange(NamedTuple):
    """The operations that are allowed before and after, a bit each, on ``names`` of a session;
    ``name`` is one of these."""

    session: Session
    names: NameClass
    name: str
    before: int
    after: int


class TypeChange(NamedTuple):
    """Whether the session may write to some topic (``BY_TYPE``), after the change; before it is
    otherwise."""

    session: Session
    allowed: bool


class SetComparison:
    """Compares two sets of ACLs, under one configuration or under ``after_config`` too; ``cells``
    are asked.

    The requests ``told_apart`` have cells of their own. With ``other_acls`` two more sets can be
    asked that differ alike and have no ACLs beside these: ``compared`` lists their cells, too.
    """

    def __init__(
        self,
        before: Collection[Acl],
        after: Collection[Acl],
        config: AuthorizerConfig,
        most_cells: int = MOST_CELLS,
        *,
        after_config: AuthorizerConfig | None = None,
        told_apart: Sequence[Requests] = (),
        other_acls: Iterable[Acl] | None = None,
    ) -> None:
        self._configs = config, after_config or config
        self._sets = frozenset(before), frozenset(after)
        self._differing = _differing(self._sets, self._configs)
        reached = None if self._differing is None else MatchedNames(self._differing)
        near, after_near, others = (
            list(acls) if reached is None else list(filter(reached.meets, acls))
            for acls in (*self._sets, other_acls or ())
        )
        self._near = near, after_near
        self._told_apart = told_apart
        both = list(dict.fromkeys((*near, *after_near, *others)))
        every = [_everything(kind) for kind in self._kinds()]
        listed = [
            Sessions(
                both,
                _dividing(self._configs),
                each,
                self._differing,
                (*told_apart, *_super_users_apart(each, self._configs)),
                is_any_set=other_acls is not None,
            )
            for each in every
        ]
        self._planned = planned(zip(every, listed, strict=True), most_cells)

    @cached_property
    def _contexts(self) -> list[DecisionContext]:
        return list(map(_context, self._near, self._configs))

    @property
    def cells(self) -> int:
        """How many are asked, at most."""
        return self._planned.cells

    def compared(self) -> Iterator[tuple[Session, list[CellChange]]]:
        """Every cell that is asked, those that do not differ too, by session."""
        for requests, sessions in self._planned.sessions:
            for session in sessions:
                cells = zip(*(cells_of([session], each) for each in self._contexts), strict=True)
                yield (
                    session,
                    [
                        CellChange(
                            session,
                            before.names,
                            before.name,
                            before.allowed & requests.operations,
                            after.allowed & requests.operations,
                        )
                        for before, after in cells
                    ],
                )

    def answers_by(self, acls: Collection[Acl]) -> Callable[[CellChange], int]:
        """What another set, of ``other_acls`` and those that differ, allows on a cell."""
        context = _context(acls, self._configs[0])

        def allowed(cell: CellChange) -> int:
            session = cell.session
            scope = context.session_cache(session.kind, (session.clients.client, session.principal))
            return scope.allowed_on(cell.name) & asked_operations(session.kind)

        return allowed

    def answers_around(self, cell: CellChange) -> list[tuple[AllowedTurn, AllowedTurn | None]]:
        """What is allowed before and after on the cell's name to the sessions around its own, and
        to those that speak for them where they are decided alike."""
        return [
            (
                self._answers(cell, around.identity),
                None if around.unless is None else self._answers(cell, around.unless),
            )
            for around in cell.session.around
        ]

    def _answers(self, cell: CellChange, identity: tuple[str, str]) -> AllowedTurn:
        kind, operations = cell.session.kind, asked_operations(cell.session.kind)
        before, after = (
            context.session_cache(kind, identity).allowed_on(cell.name) & operations
            for context in self._contexts
        )
        return before, after

    def differences(self) -> Iterator[CellChange]:
        """The cells that are decided differently."""
        return (
            change
            for _, cells in self.compared()
            for change in cells
            if change.before != change.after
        )

    def by_type(self) -> Iterator[TypeChange]:
        """Sessions for which the answer to ``BY_TYPE`` is another one, though no cell may be: the
        authorizer looks at patterns then, those with no name that a topic can have, too. The
        requests ``told_apart`` have sessions of their own."""
        operation, kind = BY_TYPE
        acls = self._sets[0] | self._sets[1]
        unusual = {acl.principal for acl in without_cells(acls)}
        if not unusual or kind not in self._kinds():
            return
        requests = _everything(kind)._replace(operations=1 << operation)
        if WILDCARD_PRINCIPAL not in unusual:
            requests = requests._replace(principals=PrincipalSet(frozenset(unusual), False))
        contexts = list(map(_context, self._sets, self._configs))
        config, apart = _dividing(self._configs), self._told_apart
        for session in Sessions(acls, config, requests, told_apart=apart).without_names():
            identity = session.clients.client, session.principal
            before, after = (_may_on_some(context, identity) for context in contexts)
            if before is not after:
                yield TypeChange(session, after)

    def _kinds(self) -> list[ResourceType]:
        asked = set(SUPPORTED_OPERATIONS)
        if self._differing is not None:
            asked &= {acl.resource_type for acl in self._differing}
        return sorted(asked)


def _context(acls: Collection[Acl], config: AuthorizerConfig) -> DecisionContext:
    return DecisionContext(AclIndex.of(acls), config, shut_by="")


def _differing(
    sets: tuple[frozenset[Acl], frozenset[Acl]], configs: tuple[AuthorizerConfig, AuthorizerConfig]
) -> frozenset[Acl] | None:
    """The ACLs that can turn an answer; None where the configurations can turn any."""
    before, after = configs
    if before.super_users != after.super_users or before.allow_everyone != after.allow_everyone:
        return None
    differing = sets[0] ^ sets[1]
    if before.kafka is not after.kafka:
        blocks = {acl for acls in sets for acl in acls if host_block(acl.host) is not None}
        return differing | blocks
    return differing


def _dividing(configs: tuple[AuthorizerConfig, AuthorizerConfig]) -> AuthorizerConfig:
    """That which tells apart all that one of them does: a super user of one alone is decided by
    ACLs, and blocks divide clients where one of them matches blocks."""
    before, after = configs
    return before._replace(
        super_users=before.super_users & after.super_users,
        allow_everyone=before.allow_everyone or after.allow_everyone,
        kafka_version=before.kafka if before.kafka.matches_blocks else after.kafka,
    )


def _super_users_apart(
    requests: Requests, configs: tuple[AuthorizerConfig, AuthorizerConfig]
) -> list[Requests]:
    names = configs[0].super_users ^ configs[1].super_users
    return [requests._replace(principals=PrincipalSet(names, is_excluded=False))] if names else []


def _everything(kind: ResourceType) -> Requests:
    return Requests(ANYBODY, ANY_HOST, asked_operations(kind), kind, all_names(kind))


def _may_on_some(context: DecisionContext, identity: tuple[str, str]) -> bool:
    """As the authorizer answers by resource type: a name first that stands for any."""
    operation, kind = BY_TYPE
    scope = context.session_cache(kind, identity)
    if scope.allowed_on(_HARDCODE) >> operation & 1:
        return True
    return scope.is_allowed_on_some(operation)


def without_cells(acls: Collection[Acl]) -> list[Acl]:
    """The ACLs that may turn the answer to ``BY_TYPE`` without turning that of a cell.

    Other ACLs divide off all names of topics that such an ACL matches, or there are none.
    """
    operation, kind = BY_TYPE
    asked = [acl for acl in acls if acl.resource_type is kind and concerns(acl, operation)]
    dividing = [Patterns.of(asked)]
    return [acl for acl in asked if not _is_known(acl) or not _has_cell(acl, dividing)]


def _is_known(acl: Acl) -> bool:
    return acl.pattern_type in PATTERN_TYPES and acl.permission_type in _PERMISSIONS


def _has_cell(acl: Acl, dividing: Sequence[Patterns]) -> bool:
    name, is_literal = acl.resource_name, acl.pattern_type is PatternType.LITERAL
    if is_literal and name == WILDCARD:
        name, is_literal = "", False
    return plain_name(NameClass(name, is_literal), BY_TYPE[1], dividing) is not None
