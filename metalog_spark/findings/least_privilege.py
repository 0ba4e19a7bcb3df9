"""Proposes the least-privilege ACLs of each principal, and proves that they suffice.

The proposal allows each request that brokers allowed and that today's ACLs allow. So a revoked
grant stays revoked. Requests that ``follow`` has not decided or counted yet are included. DENYs
stay. Super users get no new ACL. docs/reference/least-privilege.md has the rules and their limits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from authorizer.analysis.lint.finding import Severity
from authorizer.analysis.remedies.commands import CommandKind
from authorizer.trace import is_allow
from metalog.acl import WILDCARD_PRINCIPAL, Acl, Operation, ResourceType
from metalog.errors import InvalidRequest
from metalog.grouping import grouped
from metalog_sources.formats.document import AclEntry, Document, Own, acl_order
from metalog_sources.targets.plan import ChangeKind, Plan, make_plan
from metalog_spark.findings.producers import narrowest
from metalog_spark.findings.remedy import commands
from metalog_spark.findings.unused import ClassifiedAcls, classified_acls
from metalog_spark.findings.usage.cover_job import Total, cover, done_in, totals
from metalog_spark.findings.usage.minimal_cover import USUAL, CoverLimits
from metalog_spark.findings.usage.name_intervals import Ranks, allowed_pairs
from metalog_spark.findings.usage.resource_names import ranks_in, resource_names
from metalog_spark.findings.usage.usage_classes import Reason, UsageState, Verdict
from metalog_spark.findings.windows.questions import questions_in, rules
from metalog_spark.findings.windows.replay import Proof, replayed
from metalog_spark.findings.windows.tolerance import tolerance
from metalog_spark.store.arrow import frame_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from metalog_spark.findings.windows.window import Window, WindowCoverage
    from metalog_spark.store.table_store import Tables

SCHEMA: Final = (
    "principal STRING, acls_today BIGINT, acls_least BIGINT, granted BIGINT, used BIGINT,"
    " left BIGINT, excess BIGINT, requests BIGINT, adds BIGINT, removes BIGINT,"
    " severity STRING, remedy STRING"
)
"""A row for each principal that has ALLOWs, gets ALLOWs, or has DENYs and allowed requests.
``granted``, ``left`` and ``used`` count pairs of a known name (see ``resource_names``) and an
operation. Today's ALLOWs allow the pairs in ``granted``. The proposed ALLOWs allow the pairs in
``left``. Requests that brokers and today's ACLs allow have the pairs in ``used``. ``excess`` is
``granted`` minus ``left``, at least 0. In ``remedy``, the commands that add ACLs come first."""

_COMMANDS: Final = {ChangeKind.ADD: CommandKind.ADD, ChangeKind.REMOVE: CommandKind.REMOVE}
_QUESTIONS_OF_A_TASK: Final = 50_000
"""A task decides this many questions in one or two seconds. Spark's default is 200 tasks, each with
a Python process."""
USES_OF_EVERYONE: Final = (
    "its uses are counted for the principals that connected: nobody connects as User:*"
)
_LAST: Final = "# run these last: other principals need these ACLs until they have their own"


class PrincipalProposal(NamedTuple):
    """The proposal for one principal. ``plan`` replaces the ALLOWs in ``today`` by the ALLOWs in
    ``least``. ``SCHEMA`` explains the counts."""

    principal: str
    today: tuple[Acl, ...]
    least: tuple[Acl, ...]
    granted: int
    used: int
    left: int
    requests: int
    plan: Plan

    @property
    def excess(self) -> int:
        return max(0, self.granted - self.left)


class LeastSet(NamedTuple):
    """``acls`` are all proposed ALLOWs and today's DENYs. ``ends_allow_everyone``: the proposal
    changes allow.everyone.if.no.acl.found from true to false."""

    proposals: tuple[PrincipalProposal, ...]
    acls: tuple[Acl, ...]
    proof: Proof
    ends_allow_everyone: bool
    seen: WindowCoverage
    dangers: Mapping[Acl, Severity]


def least_privilege(
    tables: Tables, window: Window, limits: CoverLimits = USUAL, *, tolerated: float = 0.0
) -> DataFrame:
    """Rows of ``SCHEMA`` for the result of ``least_set``, the greatest ``excess`` first."""
    found = least_set(tables, window, limits, tolerated=tolerated)
    rows = [_row(proposal, found.dangers) for proposal in found.proposals]
    return frame_of(tables.session, rows, SCHEMA)


def least_set(
    tables: Tables, window: Window, limits: CoverLimits = USUAL, *, tolerated: float = 0.0
) -> LeastSet:
    """The least-privilege ACLs for the requests in the window.

    Raises:
        InvalidRequest: the share of broker-hours without an allowed line is greater than
            ``tolerated``, or the window has no allowed line.
    """
    used = classified_acls(tables, window, tolerated=tolerated)
    seen = used.seen
    if seen.share_without_allowed > tolerated:
        raise InvalidRequest(
            f"{seen.text()}, so the requests of that time are unknown; narrow --from and --to, or "
            f"accept this with --tolerate {tolerance(seen.share_without_allowed)}"
        )
    config, today = used.config, used.today
    now = rules(today, config)
    stored = questions_in(tables, window, waiting=True).persist()
    tasks = 1 + stored.count() // _QUESTIONS_OF_A_TASK
    questions = stored.coalesce(tasks)
    done = done_in(questions, now, tasks).persist()
    try:
        known = resource_names(questions, today)
        unknown = _unknown(used)
        proposed = cover(done, known, now, unknown, limits)
        least = [*unknown, *_with_producers(proposed, unknown, used)]
        proposals = _proposals(today, least, done, known)
        denies = [acl for acl in today if not is_allow(acl)]
        ordered = tuple(sorted({*denies, *least}, key=acl_order))
        proof = replayed(questions, now, rules(ordered, config._replace(allow_everyone=False)))
    finally:
        done.unpersist()
        stored.unpersist()
    if proof.lost or proof.gained:
        raise AssertionError(f"the least set would change answers: {proof}")
    return LeastSet(proposals, ordered, proof, config.allow_everyone, seen, used.dangers)


def _unknown(used: ClassifiedAcls) -> list[Acl]:
    """Today's ALLOWs whose use is unknown, and the ALLOWs that were added after the window."""
    stay = [verdict.acl for verdict in used.verdicts if _stays(verdict)]
    looked_at = {verdict.acl for verdict in used.verdicts if verdict.is_alive}
    return stay + [acl for acl in used.today if is_allow(acl) and acl not in looked_at]


def _stays(verdict: Verdict) -> bool:
    """Whether an ALLOW is kept because a part of its use is unknown. OPENS keeps no ALLOW: the
    proposal sets allow.everyone.if.no.acl.found to false. UNLOGGED keeps no ALLOW:
    ``_with_producers`` adds a narrower ACL."""
    keeping_none = (Reason.OPENS, Reason.UNLOGGED)
    is_unknown = verdict.state is UsageState.UNKNOWN and verdict.reason not in keeping_none
    return (is_unknown or verdict.is_hidden) and verdict.is_alive and is_allow(verdict.acl)


def _with_producers(found: Sequence[Acl], kept: Sequence[Acl], used: ClassifiedAcls) -> list[Acl]:
    """The ALLOWs in ``found``, and the ALLOWs that ``used.unlogged`` need to start producers."""
    denies = (acl for acl in used.today if not is_allow(acl))
    more = narrowest(used.unlogged, used.today, [*denies, *kept, *found], used.config.kafka)
    implied = {acl._replace(operation=Operation.DESCRIBE) for acl in more}
    return [*more, *(acl for acl in found if acl not in implied)]


def _proposals(
    today: Sequence[Acl], least: Iterable[Acl], done: DataFrame, known: DataFrame
) -> tuple[PrincipalProposal, ...]:
    own, proposed = (grouped(acls, lambda acl: acl.principal) for acls in (today, least))
    everyones = [acl for acl in own.get(WILDCARD_PRINCIPAL, ()) if not is_allow(acl)]
    principals = {**own, **proposed}
    ranks = ranks_in(known, (acl for acls in (today, *proposed.values()) for acl in acls))
    did = totals(done, principals)
    proposals = [
        _proposal(
            principal,
            own.get(principal, []),
            sorted(set(proposed.get(principal, ())), key=acl_order),
            did.get(principal, Total()),
            everyones,
            ranks,
        )
        for principal in principals
    ]
    proposals = [each for each in proposals if each.today or each.least or each.requests]
    return tuple(sorted(proposals, key=lambda proposal: (-proposal.excess, proposal.principal)))


def _proposal(
    principal: str,
    own: Sequence[Acl],
    least: Sequence[Acl],
    did: Total,
    everyones: Sequence[Acl],
    ranks: Mapping[ResourceType, Ranks],
) -> PrincipalProposal:
    allows = tuple(acl for acl in own if is_allow(acl))
    denies = [acl for acl in own if not is_allow(acl)]
    against = [*denies, *everyones]
    wanted = Document(
        tuple(AclEntry(acl) for acl in (*denies, *least)), (Own(principal=principal),)
    )
    return PrincipalProposal(
        principal,
        allows,
        tuple(least),
        allowed_pairs([*allows, *against], ranks),
        did.used,
        allowed_pairs([*least, *against], ranks),
        did.requests,
        make_plan(own, wanted, prune=True),
    )


def _row(proposal: PrincipalProposal, dangers: Mapping[Acl, Severity]) -> tuple[Any, ...]:
    removed = [step.acl for step in proposal.plan.steps if step.change is ChangeKind.REMOVE]
    severity = max((dangers.get(acl, Severity.INFO) for acl in removed), default=Severity.INFO)
    if severity is Severity.INFO and proposal.excess:
        severity = Severity.WARNING
    return (
        proposal.principal,
        len(proposal.today),
        len(proposal.least),
        proposal.granted,
        proposal.used,
        proposal.left,
        proposal.excess,
        proposal.requests,
        len(proposal.plan.steps) - len(removed),
        len(removed),
        severity.name,
        _remedy(proposal),
    )


def _remedy(proposal: PrincipalProposal) -> str | None:
    lines = commands((_COMMANDS[step.change], step.acl) for step in proposal.plan.steps)
    if lines and proposal.principal == WILDCARD_PRINCIPAL:
        return f"{_LAST}\n{lines}"
    return lines or None
