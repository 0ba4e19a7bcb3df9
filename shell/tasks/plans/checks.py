"""Checks a plan: limits that refuse it, and findings for a reviewer.

This module must not know how a plan is shown, nor change a target.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from metalog.acl import SUPPORTED_OPERATIONS, Acl, Operation, ResourceType
from metalog.text.plurals import counted
from metalog_sources.targets.ownership import acls_outside, outside_text, overlap_text, owned_twice
from metalog_sources.targets.plan import ChangeKind, PlanStep, after
from metalog_sources.targets.target import refused_steps
from shell.tasks.acl_words import resource_kind, sentence
from shell.tasks.plans.planned import PlanFinding

if TYPE_CHECKING:
    from authorizer.analysis.cells.gains import GainProof
    from authorizer.config import AuthorizerConfig
    from metalog_sources.formats.document import Document
    from shell.tasks.plans.gains import GainLimit
    from shell.tasks.plans.planned import Planned


class Refusal(NamedTuple):
    message: str
    steps: tuple[PlanStep, ...]


class PlanLimits(NamedTuple):
    """The limits on a plan. ``caller`` makes the change; None if unknown. If ``gains`` is empty,
    the plan can add any access."""

    max_removals: int | None
    allow_lockout: bool
    caller: str | None
    gains: tuple[GainLimit, ...] = ()


class PlanCheck(NamedTuple):
    """``proof`` is the proof of the last checked gain limit."""

    refusal: Refusal | None
    proof: GainProof | None = None


def checked(made: Planned, limits: PlanLimits, target: object) -> PlanCheck:
    """Check, in this order: what ``target`` can store, the number of removals, a lock-out, and the
    added access."""
    refusal = _unwritable(made, target) or _too_many(made, limits) or _locked_out(made, limits)
    return _gains_checked(made, limits) if refusal is None else PlanCheck(refusal)


def _unwritable(made: Planned, target: object) -> Refusal | None:
    refused = refused_steps(target, made.plan.steps, made.current, made.features)
    if not refused:
        return None
    step, why = refused[0]
    more = f" (and {len(refused) - 1:,} more)" if len(refused) > 1 else ""
    message = f"the target cannot {step.change.value} {sentence(step.acl)}: {why}{more}"
    return Refusal(message, tuple(step for step, _ in refused))


def _too_many(made: Planned, limits: PlanLimits) -> Refusal | None:
    limit = limits.max_removals
    if limit is None or made.plan.removals <= limit:
        return None
    removals = [step for step in made.plan.steps if step.change is ChangeKind.REMOVE]
    message = f"{counted(len(removals), 'ACL')} would be removed, more than --max-removals {limit}"
    return Refusal(message, tuple(removals[limit:]))


def _locked_out(made: Planned, limits: PlanLimits) -> Refusal | None:
    from shell.tasks.plans.lockout import lockout_text

    if limits.allow_lockout:
        return None
    caller = limits.caller
    message = lockout_text(made.current, made.after, made.config, caller)
    if message is None:
        return None
    acls = set(made.current)
    for step in made.plan.steps:
        acls = after(acls, [step]) if step.acl.resource_type is ResourceType.CLUSTER else acls
        if lockout_text(made.current, acls, made.config, caller) is not None:
            return Refusal(message, (step,))
    return Refusal(message, ())


def _gains_checked(made: Planned, limits: PlanLimits) -> PlanCheck:
    from shell.tasks.plans.gains import gain_proof, gains_refused

    proof = None
    for limit in limits.gains:
        proof = gain_proof(made, limit)
        message = gains_refused(proof, limit)
        if message is not None:
            return PlanCheck(Refusal(message, ()), proof)
    return PlanCheck(None, proof)


def findings_of(
    steps: tuple[PlanStep, ...], wanted: Document, current: frozenset[Acl], config: AuthorizerConfig
) -> Iterator[PlanFinding]:
    """What a reviewer of the plan should know."""
    added = {step.acl for step in steps if step.change is ChangeKind.ADD}
    for entry, owner in acls_outside(wanted):
        if entry.acl in added:
            yield PlanFinding(outside_text(owner), entry.acl, entry.position)
    for overlap in owned_twice(wanted):
        yield PlanFinding(overlap_text(overlap), None, overlap.second.position)
    for step in steps:
        if why := _never_checked(step):
            yield PlanFinding(why, step.acl)
    yield from default_findings(steps, current, config)


def default_findings(
    steps: Sequence[PlanStep], current: Collection[Acl], config: AuthorizerConfig
) -> Iterator[PlanFinding]:
    """Effects of ``allow.everyone.if.no.acl.found`` on other principals."""
    from authorizer.analysis.changes.default_rule import without_cover

    if not config.allow_everyone:
        return

    def acls(change: ChangeKind) -> list[Acl]:
        return [step.acl for step in steps if step.change is change]

    for acl in without_cover(acls(ChangeKind.ADD), current):
        yield PlanFinding(
            "the first ACL on the name shuts out all others whom"
            " allow.everyone.if.no.acl.found allows",
            acl,
        )
    for acl in without_cover(acls(ChangeKind.REMOVE), after(current, steps)):
        yield PlanFinding(
            "without the last ACL on the name, allow.everyone.if.no.acl.found lets everyone in", acl
        )


def _never_checked(step: PlanStep) -> str:
    operation, resource_type = step.acl.operation, step.acl.resource_type
    supported = SUPPORTED_OPERATIONS.get(resource_type)
    if step.change is not ChangeKind.ADD or operation is Operation.ALL or supported is None:
        return ""
    if operation in supported:
        return ""
    kind = resource_kind(resource_type)
    return f"Kafka never checks {operation.name} on a {kind}, and kafka-acls refuses such an ACL"
