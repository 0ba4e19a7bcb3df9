"""Proves that a plan adds no access, or only access that claims allow.

``apply`` proves a saved plan again, for the target's current ACLs. This module must not know how a
claim is read, nor change a target.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from authorizer.analysis.cells.claims import ClaimKind
from authorizer.analysis.cells.gains import GainProof, prove_gains, unplanned_losses
from metalog.errors import InvalidRequest
from metalog.text.plurals import counted
from metalog.text.visible_text import shown
from metalog_sources.targets.plan import PlanProof
from shell.tasks.acl_words import resource_kind

if TYPE_CHECKING:
    from authorizer.config import AuthorizerConfig
    from authorizer.trace import Question
    from metalog.acl import Acl
    from shell.tasks.plans.planned import Planned
    from shell.tasks.proof.proofs import StatedClaim

_MOST_NAMED = 4


class GainLimit(NamedTuple):
    """The only access that a plan may add; no access if ``claims`` is empty."""

    claims: tuple[StatedClaim, ...] = ()
    texts: tuple[str, ...] = ()


GAIN_FORM: Final = "write allow: {principal: User:x, operation: Read, resource: topic:pay-*}"


def gain_limit(claims: Sequence[StatedClaim], texts: Sequence[str]) -> GainLimit:
    """The limit of ``claims``.

    Raises:
        InvalidRequest: a claim is not of the kind ALLOW.
    """
    for claim in claims:
        if claim.kind is not ClaimKind.ALLOW:
            raise InvalidRequest(
                f"{claim.position}: --only-gain states what may be gained; {GAIN_FORM}"
            )
    return GainLimit(tuple(claims), tuple(texts))


def gain_proof(made: Planned, limit: GainLimit) -> GainProof:
    config = made.config
    stated = [each for claim in limit.claims for each in claim.claim(config).requests]
    return prove_gains(made.current, made.after, config, stated)


def gains_refused(proof: GainProof, limit: GainLimit) -> str | None:
    """Why the plan is refused: the added access beyond ``limit``; or None."""
    if not proof.witnesses:
        return None
    limited = "only the access of --only-gain" if limit.claims else "no new access"
    limit_text = f"the plan may add {limited}"
    return f"{limit_text}, but {questions_text(proof.witnesses, 'would gain')}"


def saved_proof(limit: GainLimit, proof: GainProof) -> PlanProof:
    return PlanProof(limit.texts, proof.cells)


def losses_refused(
    made: Planned, planned_sets: tuple[Collection[Acl], Collection[Acl]], config: AuthorizerConfig
) -> str | None:
    """Why a saved plan is refused, or None. A plan is refused if it takes access now that it did
    not take when it was made."""
    losses = list(unplanned_losses(made.current, made.after, planned_sets, config))
    return f"{questions_text(losses, 'would lose')}, which was not planned" if losses else None


def questions_text(questions: Sequence[Question], does: str) -> str:
    """Some questions in words, and the number of further questions."""
    texts = [_text(question, does) for question in questions[:_MOST_NAMED]]
    if more := len(questions) - len(texts):
        texts.append(counted(more, "more kind of request", "more kinds of request"))
    return "; ".join(texts)


def _text(question: Question, does: str) -> str:
    kind = resource_kind(question.resource_type)
    what = f"{kind} {shown(question.resource_name)}" if question.resource_name else f"some {kind}"
    return (
        f"{shown(question.principal)} {does} {question.operation.name} on {what}"
        f" from {question.host}"
    )
