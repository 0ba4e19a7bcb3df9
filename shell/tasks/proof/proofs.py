"""Proves claims about the ACLs of a SOURCE.

This module must not know how a claim was read or how a proof is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from authorizer.analysis.cells.claim_remedy import ClaimRemedy, claim_remedy
from authorizer.analysis.cells.claims import AccessClaim, ClaimKind, ProofResult, prove
from authorizer.analysis.cells.clients import HostSet
from authorizer.analysis.cells.names import NamePattern
from authorizer.analysis.cells.sessions import (
    PrincipalSet,
    Requests,
    checked_operations,
    operations_mask,
)
from authorizer.trace import Question, Trace
from metalog.acl import WILDCARD_PRINCIPAL, Operation, ResourceType
from metalog.errors import InvalidRequest

if TYPE_CHECKING:
    from authorizer.config import AuthorizerConfig
    from metalog.acl import Acl
    from metalog_sources.formats.document import FilePosition
    from shell.tasks.queries import Queries

SUPER_USERS: Final = "super.users"
"""A claim's name for the configured super users."""
CLAIM_WORDS: Final = {
    "allow": ClaimKind.ALLOW,
    "deny": ClaimKind.DENY,
    "only": ClaimKind.ONLY,
    "never": ClaimKind.DENY,
}


class StatedClaim(NamedTuple):
    """A claim as it is written. ``principals`` may contain ``SUPER_USERS``."""

    word: str
    principals: PrincipalSet
    operations: tuple[Operation, ...]
    resources: tuple[tuple[ResourceType, NamePattern], ...]
    excluded: tuple[tuple[ResourceType, NamePattern], ...]
    hosts: HostSet
    position: FilePosition
    comment: str | None

    @property
    def kind(self) -> ClaimKind:
        return CLAIM_WORDS[self.word]

    def claim(self, config: AuthorizerConfig) -> AccessClaim:
        """The claim to prove under ``config``."""
        names, is_excluded = self.principals
        if SUPER_USERS in names:
            names = names - {SUPER_USERS} | config.super_users
        principals = PrincipalSet(names, is_excluded)
        return AccessClaim(
            self.kind,
            tuple(
                Requests(
                    principals,
                    self.hosts,
                    _mask(self.operations, resource_type),
                    resource_type,
                    pattern,
                    tuple(each for type_, each in self.excluded if type_ is resource_type),
                )
                for resource_type, pattern in self.resources
            ),
        )


def _mask(operations: Sequence[Operation], kind: ResourceType) -> int:
    if Operation.ALL in operations:
        return checked_operations(kind)
    return operations_mask(operations) & checked_operations(kind)


class ClaimOutcome(NamedTuple):
    """The result for a claim. For a broken claim, ``traced`` is the decision on the witness, and
    ``remedy`` reverses this decision, if possible."""

    stated: StatedClaim
    result: ProofResult
    traced: Trace | None = None
    remedy: ClaimRemedy | None = None


def proofs(claims: Iterable[StatedClaim], queries: Queries) -> list[ClaimOutcome]:
    """The outcome of each claim.

    Raises:
        InvalidRequest: a claim needs too many cells.
    """
    acls = list(dict.fromkeys(queries.acls))
    return [_proof(stated, acls, queries) for stated in claims]


def _proof(stated: StatedClaim, acls: list[Acl], queries: Queries) -> ClaimOutcome:
    kind, pattern = stated.resources[0]
    queries.check_ready(Question(WILDCARD_PRINCIPAL, Operation.READ, kind, pattern.name))
    config = queries.context.config
    try:
        result = prove(acls, config, stated.claim(config))
    except InvalidRequest as error:
        raise InvalidRequest(f"{stated.position}: {error}") from None
    if result.witness is None:
        return ClaimOutcome(stated, result)
    traced = queries.trace(result.witness.question)
    return ClaimOutcome(stated, result, traced, claim_remedy(acls, config, result.witness))
