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
from authorizer.analysis.cells.names import NameClass, all_names, can_be_named
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
    """Compares two sets of ACLs under one configuration; ``cells`` are asked.

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
        told_apart: Sequence[Requests] = (),
        other_acls: Iterable[Acl] | None = None,
    ) -> None:
        self._config = config
        self._sets = frozenset(before), frozenset(after)
        self._differing = self._sets[0] ^ self._sets[1]
        reached = MatchedNames(self._differing)
        self._near = [[acl for acl in acls if reached.meets(acl)] for acls in self._sets]
        others = list(filter(reached.meets, other_acls or ()))
        both = list(dict.fromkeys((*self._near[0], *self._near[1], *others)))
        is_any_set = other_acls is not None
        every = [_everything(kind) for kind in self._kinds()]
        listed = [
            Sessions(both, config, each, self._differing, told_apart, is_any_set=is_any_set)
            for each in every
        ]
        self._planned = planned(zip(every, listed, strict=True), most_cells)

    @cached_property
    def _contexts(self) -> list[DecisionContext]:
        return [self._context(acls) for acls in self._near]

    @property
    def cells(self) -> int:
        """How many are asked, at most."""
        return sum(
            len(session.names) * requests.operations.bit_count()
            for requests, sessions in self._planned
            for session in sessions
        )

    def compared(self) -> Iterator[tuple[Session, list[CellChange]]]:
        """Every cell that is asked, those that do not differ too, by session."""
        for requests, sessions in self._planned:
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
        context = self._context(acls)

        def allowed(cell: CellChange) -> int:
            session = cell.session
            scope = context.scope(session.kind, (session.clients.client, session.principal))
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
            context.scope(kind, identity).allowed_on(cell.name) & operations
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
        authorizer looks at patterns then, those with no name that a topic can have, too."""
        operation, kind = BY_TYPE
        acls = self._sets[0] | self._sets[1]
        unusual = {acl.principal for acl in acls if _has_no_cell(acl)}
        if not unusual or kind not in self._kinds():
            return
        requests = _everything(kind)._replace(operations=1 << operation)
        if WILDCARD_PRINCIPAL not in unusual:
            requests = requests._replace(principals=PrincipalSet(frozenset(unusual), False))
        contexts = [self._context(each) for each in self._sets]
        for session in Sessions(acls, self._config, requests).without_names():
            identity = session.clients.client, session.principal
            before, after = (_may_on_some(context, identity) for context in contexts)
            if before is not after:
                yield TypeChange(session, after)

    def _kinds(self) -> list[ResourceType]:
        return sorted({acl.resource_type for acl in self._differing} & set(SUPPORTED_OPERATIONS))

    def _context(self, acls: Collection[Acl]) -> DecisionContext:
        return DecisionContext(AclIndex.of(acls), self._config, shut_by="")


def _everything(kind: ResourceType) -> Requests:
    return Requests(ANYBODY, ANY_HOST, asked_operations(kind), kind, all_names(kind))


def _may_on_some(context: DecisionContext, identity: tuple[str, str]) -> bool:
    """As the authorizer answers by resource type: a name first that stands for any."""
    operation, kind = BY_TYPE
    scope = context.scope(kind, identity)
    if scope.allowed_on(_HARDCODE) >> operation & 1:
        return True
    return scope.is_allowed_on_some(operation)


def _has_no_cell(acl: Acl) -> bool:
    """Whether an ACL may turn the answer to ``BY_TYPE`` without turning that of a cell."""
    operation, kind = BY_TYPE
    if acl.resource_type is not kind or not concerns(acl, operation):
        return False
    if acl.pattern_type not in PATTERN_TYPES or acl.permission_type not in _PERMISSIONS:
        return True
    name = acl.resource_name
    if acl.pattern_type is PatternType.LITERAL:
        return name != WILDCARD and not can_be_named(kind, name)
    return not can_be_named(kind, f"{name}x")
