"""Finds the requests that two sets of ACLs decide differently, cell by cell.

Only the cells that a difference of the sets or of their configurations can affect are decided. This
module must not know where the sets come from, nor how a difference is shown.
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
    checked_operations,
)
from authorizer.config import AuthorizerConfig
from authorizer.engine.cache.decision_cache import DecisionContext
from authorizer.engine.decide import concerns
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
from metalog.hosts.host_block import host_block

BY_TYPE: Final = Operation.WRITE, ResourceType.TOPIC
"""The question by resource type: may a producer write to at least one topic? (KIP-679)"""
_HARDCODE: Final = "hardcode"
"""The name that Kafka tries first for ``BY_TYPE``."""
_PERMISSIONS: Final = (PermissionType.ALLOW, PermissionType.DENY)


BeforeAfter = tuple[int, int]
"""The operations, as bits, that are allowed before and after."""


class ComparedCell(NamedTuple):
    """The operations, as bits, that ``session`` is allowed on ``names``, such as on ``name``."""

    session: Session
    names: NameClass
    name: str
    before: int
    after: int

    def is_in(self, requests: Requests) -> bool:
        """Whether the cell is in ``requests``, whose operations are ignored.

        ``requests`` must be in ``separate`` of the comparison.
        """
        return (
            requests.kind is self.session.kind
            and requests.holds_session(self.session)
            and requests.names.holds_all(self.names)
            and not any(each.holds_all(self.names) for each in requests.excluded)
        )


class TypeChange(NamedTuple):
    """The changed answer to ``BY_TYPE``; ``allowed`` is the answer after the change."""

    session: Session
    allowed: bool


class SetComparison:
    """Compares two sets of ACLs; raises ``InvalidRequest`` for more than ``most_cells`` cells.

    ``after_config`` is for the second set, by default ``config``. No cell is partly inside one of
    ``separate``. ``other_acls`` has further ACLs for ``answers_by``.
    """

    def __init__(
        self,
        before: Collection[Acl],
        after: Collection[Acl],
        config: AuthorizerConfig,
        most_cells: int = MOST_CELLS,
        *,
        after_config: AuthorizerConfig | None = None,
        separate: Sequence[Requests] = (),
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
        self._separate = separate
        both = list(dict.fromkeys((*near, *after_near, *others)))
        every = [_everything(kind) for kind in self._kinds()]
        listed = [
            Sessions(
                both,
                _dividing(self._configs),
                each,
                self._differing,
                (*separate, *_super_users_apart(each, self._configs)),
                any_subset=other_acls is not None,
            )
            for each in every
        ]
        self._planned = planned(zip(every, listed, strict=True), most_cells)

    @cached_property
    def _contexts(self) -> list[DecisionContext]:
        return list(map(_context, self._near, self._configs))

    @property
    def cells(self) -> int:
        """An upper bound of the number of decided cells."""
        return self._planned.cells

    def compared(self) -> Iterator[tuple[Session, list[ComparedCell]]]:
        """The decided cells by session, including cells with equal decisions."""
        for requests, sessions in self._planned.sessions:
            for session in sessions:
                cells = zip(*(cells_of([session], each) for each in self._contexts), strict=True)
                yield (
                    session,
                    [
                        ComparedCell(
                            session,
                            before.names,
                            before.name,
                            before.allowed & requests.operations,
                            after.allowed & requests.operations,
                        )
                        for before, after in cells
                    ],
                )

    def answers_by(self, acls: Collection[Acl]) -> Callable[[ComparedCell], int]:
        """A function that returns the operations, as bits, that ``acls`` allow on a cell.

        Each of ``acls`` must be in ``other_acls`` or in one of the compared sets.
        """
        context = _context(acls, self._configs[0])

        def allowed(cell: ComparedCell) -> int:
            session = cell.session
            cache = context.session_cache(session.kind, (session.clients.client, session.principal))
            return cache.allowed_on(cell.name) & checked_operations(session.kind)

        return allowed

    def answers_around(self, cell: ComparedCell) -> list[tuple[BeforeAfter, BeforeAfter | None]]:
        """For each ``SessionAround``: the operations of ``identity`` and ``unless`` on the name."""
        return [
            (
                self._answers(cell, around.identity),
                None if around.unless is None else self._answers(cell, around.unless),
            )
            for around in cell.session.around
        ]

    def _answers(self, cell: ComparedCell, identity: tuple[str, str]) -> BeforeAfter:
        kind, operations = cell.session.kind, checked_operations(cell.session.kind)
        before, after = (
            context.session_cache(kind, identity).allowed_on(cell.name) & operations
            for context in self._contexts
        )
        return before, after

    def differences(self) -> Iterator[ComparedCell]:
        """The cells that are decided differently."""
        return (
            change
            for _, cells in self.compared()
            for change in cells
            if change.before != change.after
        )

    def by_type(self) -> Iterator[TypeChange]:
        """The changed answers to ``BY_TYPE``, at least for sessions without a changed cell.

        The answer also depends on patterns that match no possible topic, and so have no cell.
        """
        operation, kind = BY_TYPE
        acls = self._sets[0] | self._sets[1]
        unusual = {acl.principal for acl in without_cells(acls)}
        if not unusual or kind not in self._kinds():
            return
        requests = _everything(kind)._replace(operations=1 << operation)
        if WILDCARD_PRINCIPAL not in unusual:
            requests = requests._replace(principals=PrincipalSet(frozenset(unusual), False))
        contexts = list(map(_context, self._sets, self._configs))
        config, separate = _dividing(self._configs), self._separate
        for session in Sessions(acls, config, requests, separate=separate).without_names():
            identity = session.clients.client, session.principal
            before, after = (_may_on_some(context, identity) for context in contexts)
            if before is not after:
                yield TypeChange(session, after)

    def _kinds(self) -> list[ResourceType]:
        kinds = set(SUPPORTED_OPERATIONS)
        if self._differing is not None:
            kinds &= {acl.resource_type for acl in self._differing}
        return sorted(kinds)


def _context(acls: Collection[Acl], config: AuthorizerConfig) -> DecisionContext:
    return DecisionContext(AclIndex.of(acls), config, shut_by="")


def _differing(
    sets: tuple[frozenset[Acl], frozenset[Acl]], configs: tuple[AuthorizerConfig, AuthorizerConfig]
) -> frozenset[Acl] | None:
    """The ACLs that can cause a difference; None if the configurations can change any decision."""
    before, after = configs
    if before.super_users != after.super_users or before.allow_everyone != after.allow_everyone:
        return None
    differing = sets[0] ^ sets[1]
    if before.kafka is not after.kafka:
        blocks = {acl for acls in sets for acl in acls if host_block(acl.host) is not None}
        return differing | blocks
    return differing


def _dividing(configs: tuple[AuthorizerConfig, AuthorizerConfig]) -> AuthorizerConfig:
    """A configuration whose cells fit both configurations."""
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
    return Requests(ANYBODY, ANY_HOST, checked_operations(kind), kind, all_names(kind))


def _may_on_some(context: DecisionContext, identity: tuple[str, str]) -> bool:
    operation, kind = BY_TYPE
    cache = context.session_cache(kind, identity)
    if cache.allowed_on(_HARDCODE) >> operation & 1:
        return True
    return cache.is_allowed_on_some(operation)


def without_cells(acls: Collection[Acl]) -> list[Acl]:
    """The ACLs that can change the answer to ``BY_TYPE`` without a changed cell.

    Such an ACL has an unknown pattern type or permission, or its ``NameClass`` has no topic name.
    """
    operation, kind = BY_TYPE
    relevant = [acl for acl in acls if acl.resource_type is kind and concerns(acl, operation)]
    dividing = [Patterns.of(relevant)]
    return [acl for acl in relevant if not has_known_codes(acl) or not _has_cell(acl, dividing)]


def has_known_codes(acl: Acl) -> bool:
    """Whether ``acl`` counts for ``BY_TYPE``: its pattern type and permission are known."""
    return acl.pattern_type in PATTERN_TYPES and acl.permission_type in _PERMISSIONS


def _has_cell(acl: Acl, dividing: Sequence[Patterns]) -> bool:
    name, is_literal = acl.resource_name, acl.pattern_type is PatternType.LITERAL
    if is_literal and name == WILDCARD:
        name, is_literal = "", False
    return plain_name(NameClass(name, is_literal), BY_TYPE[1], dividing) is not None
