"""Finds a change of ACLs after which a witness (a request) no longer breaks a claim.

Each change is tested: the authorizer decides the witness again, and the decisions outside the claim
are compared before and after. This module must not know how a change is applied or shown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

from authorizer.analysis.cells.claims import Witness
from authorizer.analysis.cells.difference import SetComparison
from authorizer.analysis.cells.sessions import Requests
from authorizer.config import AuthorizerConfig
from authorizer.engine.decide import ALLOWS
from authorizer.trace import Question, Trace, is_allow, trace
from metalog.acl import WILDCARD, WILDCARD_PRINCIPAL, Acl, Operation, PatternType, PermissionType
from metalog.errors import InvalidRequest

_MOST_CELLS: Final = 1_000_000
"""A change with more cells gets ``exceeds_claim``, because a comparison would take too long."""


class ClaimRemedy(NamedTuple):
    """A change. If ``exceeds_claim``, it can also reverse decisions outside the claim.

    Operations that the claim's operations imply count as inside the claim.
    """

    remove: tuple[Acl, ...] = ()
    add: tuple[Acl, ...] = ()
    exceeds_claim: bool = False


def claim_remedy(
    acls: Collection[Acl], config: AuthorizerConfig, witness: Witness
) -> ClaimRemedy | None:
    """The first change that reverses the decision on ``witness``, but none outside the claim.

    If every reversing change exceeds the claim: the change that removes the fewest ACLs. None if no
    change reverses the decision, for example for a super user.
    """
    question = witness.question
    traced = trace(acls, config, question)
    changes = _denying if witness.is_allowed else _allowing
    reversing: list[ClaimRemedy] = []
    for change in changes(traced, witness.requests, question):
        after = {*acls}.difference(change.remove).union(change.add)
        if trace(after, config, question).allowed is not witness.is_allowed:
            if not _exceeds_claim(acls, after, config, witness.requests):
                return change
            reversing.append(change._replace(exceeds_claim=True))
    return min(reversing, key=lambda each: len(each.remove), default=None)


def _exceeds_claim(
    before: Collection[Acl], after: Collection[Acl], config: AuthorizerConfig, requests: Requests
) -> bool:
    inside = 0
    for operation in Operation:
        if requests.operations >> operation & 1:
            inside |= ALLOWS[operation]
    try:
        compared = SetComparison(before, after, config, _MOST_CELLS, separate=[requests])
    except InvalidRequest:
        return True
    return any(
        (cell.before ^ cell.after) & ~(inside if cell.is_in(requests) else 0)
        for cell in compared.differences()
    )


def _denying(traced: Trace, requests: Requests, question: Question) -> Iterator[ClaimRemedy]:
    allows = tuple(each.acl for each in traced.candidates if not each.mismatches)
    named = requests.principals.names
    if allows:
        yield ClaimRemedy(remove=allows)
    are_for_everybody = all(acl.principal == WILDCARD_PRINCIPAL for acl in allows)
    if not (requests.principals.is_excluded and are_for_everybody):
        yield ClaimRemedy(add=(_acl(requests, question, question.principal, PermissionType.DENY),))
    elif not named:
        yield ClaimRemedy(add=(_acl(requests, question, WILDCARD_PRINCIPAL, PermissionType.DENY),))
    if named:  # any ACL on a resource ends allow.everyone.if.no.acl.found there
        add = _acl(requests, question, min(named), PermissionType.ALLOW)
        yield ClaimRemedy(remove=allows, add=(add,))


def _allowing(traced: Trace, requests: Requests, question: Question) -> Iterator[ClaimRemedy]:
    denies = tuple(
        each.acl for each in traced.candidates if not each.mismatches and not is_allow(each.acl)
    )
    yield ClaimRemedy(remove=denies)
    who = WILDCARD_PRINCIPAL if requests.principals.is_excluded else question.principal
    add = (_acl(requests, question, who, PermissionType.ALLOW),)
    yield ClaimRemedy(remove=denies, add=add)


def _acl(requests: Requests, question: Question, who: str, permission: PermissionType) -> Acl:
    name, is_literal = requests.names
    if not name:  # in Kafka, LITERAL * does not match longer names that begin with *
        name, is_literal = WILDCARD, not question.resource_name.startswith(WILDCARD)
    pattern = PatternType.LITERAL if is_literal else PatternType.PREFIXED
    operation = question.operation
    return Acl(requests.kind, name, pattern, who, WILDCARD, operation, permission)
