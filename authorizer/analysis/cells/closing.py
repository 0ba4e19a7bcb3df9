"""Finds a change of ACLs after which a witness no longer breaks its claim.

Each change is tested: the authorizer decides the witness again. This module must not know how a
change is made or shown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from authorizer.analysis.cells.claims import Witness
from authorizer.analysis.cells.sessions import Requests
from authorizer.config import AuthorizerConfig
from authorizer.engine.decide import ALLOWS, DENIES
from authorizer.trace import Question, Trace, is_allow, trace
from metalog.acl import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    Acl,
    Operation,
    PatternType,
    PermissionType,
)


class Closing(NamedTuple):
    """A change; if ``takes_more``, it also reverses decisions on requests outside the claim."""

    remove: tuple[Acl, ...] = ()
    add: tuple[Acl, ...] = ()
    takes_more: bool = False


def closing(acls: Collection[Acl], config: AuthorizerConfig, witness: Witness) -> Closing | None:
    """The change with the least effect outside the claim; None if no ACL can reverse the decision,
    as for a super user."""
    traced = trace(acls, config, witness.question)
    question = witness.question
    changes = _denying if witness.is_allowed else _allowing
    for change in changes(traced, witness.requests, question):
        left = [acl for acl in acls if acl not in change.remove]
        turned = trace([*left, *change.add], config, question)
        if turned.allowed is not witness.is_allowed:
            return change
    return None


def _denying(traced: Trace, requests: Requests, question: Question) -> Iterator[Closing]:
    allows = tuple(each.acl for each in traced.candidates if not each.mismatches)
    if allows and all(_is_within(acl, requests) for acl in allows):
        yield Closing(remove=allows)
    takes_more = bool(requests.excluded or requests.hosts.hosts)
    named = requests.principals.names
    if not requests.principals.is_excluded or not _is_everybodys(allows):
        add = _acl(requests, question, question.principal, PermissionType.DENY)
        yield Closing(add=(add,), takes_more=takes_more)
    elif not named:
        add = _acl(requests, question, WILDCARD_PRINCIPAL, PermissionType.DENY)
        yield Closing(add=(add,), takes_more=takes_more)
    elif not allows:  # the first ACL ends allow.everyone.if.no.acl.found on these names
        add = _acl(requests, question, min(named), PermissionType.ALLOW)
        yield Closing(add=(add,), takes_more=takes_more)
    if allows:
        yield Closing(remove=allows, takes_more=True)
    if allows and named:  # the last ACL on a name leaves it to allow.everyone.if.no.acl.found
        add = _acl(requests, question, min(named), PermissionType.ALLOW)
        yield Closing(remove=allows, add=(add,), takes_more=True)


def _is_everybodys(allows: tuple[Acl, ...]) -> bool:
    return all(acl.principal == WILDCARD_PRINCIPAL for acl in allows)


def _allowing(traced: Trace, requests: Requests, question: Question) -> Iterator[Closing]:
    denies = tuple(
        each.acl for each in traced.candidates if not each.mismatches and not is_allow(each.acl)
    )
    takes_more = not all(_is_within(acl, requests) for acl in denies)
    yield Closing(remove=denies, takes_more=takes_more)
    is_named = requests.principals.holds(question.principal) and not requests.principals.is_excluded
    who = question.principal if is_named else WILDCARD_PRINCIPAL
    add = (_acl(requests, question, who, PermissionType.ALLOW),)
    yield Closing(remove=denies, add=add, takes_more=takes_more)


def _is_within(acl: Acl, requests: Requests) -> bool:
    """Whether ``acl`` matches only requests of the claim."""
    name, names = acl.resource_name, requests.names
    is_literal = acl.pattern_type is PatternType.LITERAL
    if is_literal and name == WILDCARD:
        is_named_so = names == ("", False)
    else:
        is_named_so = names.holds(name) and (is_literal or not names.is_literal)
    decided = ALLOWS[acl.operation] if is_allow(acl) else DENIES[acl.operation]
    is_implied = not decided & ~(requests.operations | 1 << Operation.DESCRIBE)
    principals = requests.principals
    is_everybody = principals.is_excluded and not principals.names
    is_asked = is_everybody or (
        acl.principal != WILDCARD_PRINCIPAL and principals.holds(acl.principal)
    )
    return (
        is_named_so
        and is_implied
        and is_asked
        and not requests.hosts.hosts
        and not requests.excluded
    )


def _acl(requests: Requests, question: Question, who: str, permission: PermissionType) -> Acl:
    name, is_literal = requests.names
    if not name:  # a literal * reaches no longer name that begins with it
        name, is_literal = WILDCARD, not question.resource_name.startswith(WILDCARD)
    pattern = PatternType.LITERAL if is_literal else PatternType.PREFIXED
    operation = question.operation
    return Acl(requests.kind, name, pattern, who, WILDCARD, operation, permission)
