"""Proves claims about ACLs: decides one request of each cell of the claim's requests.

The authorizer's engine decides; this module does not interpret ACLs. It must not know how a claim
is written or shown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from enum import Enum
from typing import NamedTuple

from authorizer.analysis.cells.enumeration import MOST_CELLS, CellAnswer, cells_of, planned
from authorizer.analysis.cells.sessions import PrincipalSet, Requests, Session, Sessions
from authorizer.config import AuthorizerConfig
from authorizer.engine.cache.decision_cache import DecisionContext
from authorizer.engine.index import AclIndex
from authorizer.trace import Question
from metalog.acl import Acl
from metalog.errors import InvalidRequest


class ClaimKind(Enum):
    """What a claim says about its requests.

    ONLY: other principals may make none of the requests. Each named principal may make at least one
    request for each operation on each resource.
    """

    DENY = "deny"
    ALLOW = "allow"
    ONLY = "only"


class AccessClaim(NamedTuple):
    """``requests`` has an entry for each resource; all entries have equal principals."""

    kind: ClaimKind
    requests: tuple[Requests, ...]


class Witness(NamedTuple):
    """A request that breaks a claim; ``is_allowed`` is its decision.

    The claim says that all of ``requests``, or at least one, have the other decision.
    """

    question: Question
    is_allowed: bool
    requests: Requests


class ProofResult(NamedTuple):
    """The number of decided cells, and the witness; without a witness the claim is proven."""

    cells: int
    witness: Witness | None

    @property
    def is_proven(self) -> bool:
        return self.witness is None


def prove(
    acls: Collection[Acl],
    config: AuthorizerConfig,
    claim: AccessClaim,
    most_cells: int = MOST_CELLS,
) -> ProofResult:
    """Prove ``claim``.

    Raises:
        InvalidRequest: the claim needs more than ``most_cells`` cells; or its kind is ONLY, and no
            client can make any of a named principal's requests.
    """
    tasks = list(_tasks(acls, config, claim))
    plan = planned(((task.requests, task.sessions) for task in tasks), most_cells)
    cells = 0
    for task, (_, sessions) in zip(tasks, plan.sessions, strict=True):
        verdict = _prove_one(task, sessions) if task.needs_one else _prove_every(task, sessions)
        cells += verdict.cells
        if verdict.witness is not None:
            return ProofResult(cells, verdict.witness)
    return ProofResult(cells, None)


class _Task(NamedTuple):
    """All ``requests`` must have the decision ``allowed``; if ``needs_one``, one per operation."""

    requests: Requests
    sessions: Sessions
    context: DecisionContext
    allowed: bool
    needs_one: bool = False


def _tasks(acls: Collection[Acl], config: AuthorizerConfig, claim: AccessClaim) -> Iterator[_Task]:
    for requests in claim.requests:
        near = requests.near(acls)
        context = DecisionContext(AclIndex.of(near), config, shut_by="")
        if claim.kind is not ClaimKind.ONLY:
            sessions = Sessions(near, config, requests)
            yield _Task(requests, sessions, context, claim.kind is ClaimKind.ALLOW)
            continue
        holders = requests.principals.names
        others = requests._replace(principals=PrincipalSet(holders))
        yield _Task(others, Sessions(near, config, others), context, allowed=False)
        for principal in sorted(holders):
            own = requests._replace(principals=PrincipalSet(frozenset({principal}), False))
            yield _Task(own, Sessions(near, config, own), context, allowed=True, needs_one=True)


def _prove_every(task: _Task, sessions: Iterable[Session]) -> ProofResult:
    cells, operations = 0, task.requests.operations
    for cell in cells_of(sessions, task.context):
        cells += operations.bit_count()
        against = operations & (~cell.allowed if task.allowed else cell.allowed)
        if against:
            question = cell.session.question(against, cell.name)
            return ProofResult(cells, Witness(question, not task.allowed, task.requests))
    return ProofResult(cells, None)


def _prove_one(task: _Task, sessions: Iterable[Session]) -> ProofResult:
    cells, left = 0, task.requests.operations
    first: CellAnswer | None = None
    for cell in cells_of(sessions, task.context):
        first = first or cell
        cells += task.requests.operations.bit_count()
        left &= ~cell.allowed
        if not left:
            break
    if first is None:
        raise InvalidRequest(
            "no such request is possible: no client has such a host, or no resource has such a name"
        )
    if not left:
        return ProofResult(cells, None)
    question = first.session.question(left, first.name)
    return ProofResult(cells, Witness(question, False, task.requests))
