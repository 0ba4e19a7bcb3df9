"""The least-privilege ACLs of each principal, with the proof that they suffice.

The input is every request that brokers allowed in the window (or that waits to be decided) and
that today's ACLs still allow: a revoked grant stays revoked. DENYs are kept. Super users need no
ACL and get none. docs/reference/least-privilege.md has the rules and their limits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from authorizer.analysis.lint.finding import Severity
from authorizer.analysis.remedies.commands import CommandKind
from authorizer.config import AuthorizerConfig
from authorizer.trace import is_allow
from metalog.acl import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    Acl,
    Operation,
    PatternType,
    ResourceType,
    words_of,
)
from metalog.errors import InvalidRequest
from metalog_sources.formats.document import AclEntry, Document, Own, acl_order
from metalog_sources.targets.plan import ChangeKind, Plan, make_plan
from metalog_spark.findings.producers import narrowest
from metalog_spark.findings.remedy import commands
from metalog_spark.findings.unused import ClassifiedAcls, judged
from metalog_spark.findings.usage.acl_lifetimes import ACL_COLUMNS, ACL_SQL, acl_of, matching
from metalog_spark.findings.usage.minimal_cover import USUAL, CoverLimits, Did, Names, least
from metalog_spark.findings.usage.name_intervals import allowed_pairs
from metalog_spark.findings.usage.usage_classes import Reason, UsageState, Verdict
from metalog_spark.findings.windows.questions import (
    QUESTION_COLUMNS,
    Rules,
    asked_columns,
    questions_in,
    rules,
)
from metalog_spark.findings.windows.replay import Proof, replayed
from metalog_spark.findings.windows.tolerance import tolerance
from metalog_spark.store.arrow import Mapped, batch_of, frame_of, table_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from metalog_spark.findings.windows.window import Window, WindowCoverage
    from metalog_spark.store.table_store import Tables

SCHEMA: Final = (
    "principal STRING, acls_today BIGINT, acls_least BIGINT, granted BIGINT, used BIGINT,"
    " left BIGINT, excess BIGINT, requests BIGINT, adds BIGINT, removes BIGINT,"
    " severity STRING, remedy STRING"
)
"""A row for each principal that has ALLOWs or was allowed something. ``granted`` are the pairs
of a known name and an operation that its own ALLOWs allow, ``used`` those that it did, ``left``
those that the least set allows; ``excess`` is granted less left. ``remedy`` adds before it
removes."""

_COMMANDS: Final = {ChangeKind.ADD: CommandKind.ADD, ChangeKind.REMOVE: CommandKind.REMOVE}
_DID: Final = (
    "principal STRING, operation STRING, resource_type STRING, resource_name STRING,"
    " host STRING, by BIGINT, requests BIGINT"
)
_DONE: Final = ("operation", "resource_type", "resource_name", "host", "by", "requests")
_LEAST: Final = f"{ACL_SQL}, whose STRING, used BIGINT, requests BIGINT"
_BY_DEFAULT: Final = -1
_LAST: Final = "# last of all: others live by it until they have ACLs of their own"


class Share(NamedTuple):
    """The proposal for one principal: ``plan`` replaces its ALLOWs ``today`` by ``least``."""

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
    """``acls`` is the complete proposed set, DENYs too. ``closes``: the proposal sets
    allow.everyone.if.no.acl.found to false, which is true today."""

    shares: tuple[Share, ...]
    acls: tuple[Acl, ...]
    proof: Proof
    closes: bool
    seen: WindowCoverage
    dangers: Mapping[Acl, Severity]


class _Part(NamedTuple):
    """The result for the rows of one principal."""

    acls: list[Acl]
    used: int
    requests: int


def least_privilege(
    tables: Tables,
    window: Window,
    limits: CoverLimits = USUAL,
    *,
    tolerated: float = 0.0,
    used: ClassifiedAcls | None = None,
) -> DataFrame:
    """Rows of ``SCHEMA``, those with the most excess first; see ``least_set``."""
    found = least_set(tables, window, limits, tolerated=tolerated, used=used)
    rows = [_row(each, found.dangers) for each in found.shares]
    return frame_of(tables.session, rows, SCHEMA)


def least_set(
    tables: Tables,
    window: Window,
    limits: CoverLimits = USUAL,
    *,
    tolerated: float = 0.0,
    used: ClassifiedAcls | None = None,
) -> LeastSet:
    """The least-privilege ACLs for the requests in the window. ``used`` is the result of
    ``judged`` for the same input, if the caller has it already.

    Raises:
        InvalidRequest: more than ``tolerated`` of the window's broker-hours have no allowed line,
            so the requests in them are unknown.
    """
    used = judged(tables, window, tolerated=tolerated) if used is None else used
    seen = used.seen
    if seen.missing > tolerated:
        raise InvalidRequest(
            f"{seen.text()}, so what was done then is not known; narrow --from and --to, or "
            f"accept it with --tolerate {tolerance(seen.missing)}"
        )
    config, today = used.config, used.today
    unknown = _unknown(used)
    questions = questions_in(tables, window, waiting=True).persist()
    try:
        names = names_known(questions, today)
        now = rules(today, config)
        parts = _parts(questions, now, unknown, names, limits)
        _let_start(parts, used, unknown)
        shares = _shares(today, parts, unknown, names)
        acls = [acl for acl in today if not is_allow(acl)]
        acls += [acl for share in shares for acl in share.least]
        ordered = tuple(sorted(dict.fromkeys(acls), key=acl_order))
        proof = replayed(questions, now, rules(ordered, config._replace(allow_everyone=False)))
    finally:
        questions.unpersist()
    if proof.lost or proof.gained:
        raise AssertionError(f"what was to be the least set changes answers: {proof}")
    return LeastSet(shares, ordered, proof, config.allow_everyone, seen, used.dangers)


def _unknown(used: ClassifiedAcls) -> list[Acl]:
    """The ALLOWs in force whose use is unknown. ALLOWs that were added after the window are not
    among them."""
    stay = [verdict.acl for verdict in used.verdicts if _stays(verdict)]
    looked_at = {verdict.acl for verdict in used.verdicts if verdict.is_alive}
    return stay + [acl for acl in used.today if is_allow(acl) and acl not in looked_at]


def _stays(verdict: Verdict) -> bool:
    """Whether an ALLOW is kept because its use, or a part of its use, is unknown. Two reasons do
    not keep it: that the default rule would apply without it, since that rule goes; and that
    producers may start by it, since a narrower ACL suffices."""
    known = (Reason.OPENS, Reason.UNLOGGED)
    is_unknown = verdict.state is UsageState.UNKNOWN and verdict.reason not in known
    return (is_unknown or verdict.is_hidden) and verdict.is_alive and is_allow(verdict.acl)


def names_known(questions: DataFrame, acls: Iterable[Acl]) -> Names:
    """The names on which something was allowed or that an ACL names, by type, sorted."""
    allowed = questions.where("result = 'ALLOWED'").select("resource_type", "resource_name")
    found: dict[ResourceType, set[str]] = {}
    for kind, name in allowed.distinct().collect():
        found.setdefault(ResourceType[kind], set()).add(name)
    for acl in acls:
        if acl.pattern_type is PatternType.LITERAL and acl.resource_name != WILDCARD:
            found.setdefault(acl.resource_type, set()).add(acl.resource_name)
    return {kind: sorted(names) for kind, names in found.items()}


def _parts(
    questions: DataFrame, now: Rules, unknown: Sequence[Acl], names: Names, limits: CoverLimits
) -> dict[str, _Part]:
    """The proposal for each principal; all rows of one principal are processed together."""
    from pyspark.sql import functions as f

    allowed = questions.where("result = 'ALLOWED'").select(*QUESTION_COLUMNS, "requests")
    done = (
        allowed.mapInArrow(_needing(now), _DID)
        .groupBy("principal", *_DONE[:-2])
        .agg(f.max("by").alias("by"), f.sum("requests").alias("requests"))
    )
    rows = done.groupBy("principal").applyInArrow(
        _by_principal(now, rules(unknown, AuthorizerConfig()), names, limits), _LEAST
    )
    found: dict[str, _Part] = {}
    for *words, whose, used, requests in rows.collect():
        if words[0] is None:
            found.setdefault(whose, _Part([], 0, 0))
            found[whose] = found[whose]._replace(used=used, requests=requests)
        else:
            found.setdefault(whose, _Part([], 0, 0)).acls.append(acl_of(words))
    return found


def _let_start(parts: dict[str, _Part], used: ClassifiedAcls, unknown: Iterable[Acl]) -> None:
    """Add ACLs that let principals start producers, if no audit line can show whether they do."""
    denies = (acl for acl in used.today if not is_allow(acl))
    least = [*denies, *unknown, *(acl for part in parts.values() for acl in part.acls)]
    for acl in narrowest(used.unseen, used.today, least, used.config.kafka):
        own = parts.setdefault(acl.principal, _Part([], 0, 0)).acls
        implied = acl._replace(operation=Operation.DESCRIBE)
        own[:] = [acl, *(each for each in own if each != implied)]


def _needing(now: Rules) -> Mapped:
    """Keep the requests that today's ACLs allow, except those of super users, with the deciding
    ACL."""

    def needing(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        acls, index, config, decider, _ = now.opened
        numbers = {acl: number for number, acl in enumerate(acls)}
        for batch in batches:
            asked = asked_columns(batch)
            rows = []
            requests = batch.column(len(QUESTION_COLUMNS)).to_pylist()
            answers = decider.allowed(asked)
            for question, times, allowed in zip(
                zip(*asked, strict=True), requests, answers, strict=True
            ):
                principal, host, operation, kind, name = question
                if not allowed or principal in config.super_users:
                    continue
                allows = [acl for acl in matching(index, question, config.kafka) if is_allow(acl)]
                wide = [acl for acl in allows if acl.host == WILDCARD]
                by = numbers[min(wide or allows)] if allows else _BY_DEFAULT
                whence = WILDCARD if wide or not allows else host
                rows.append((principal, operation, kind, name, whence, by, times))
            yield batch_of(rows, _DID)

    return needing


def _by_principal(
    now: Rules, unknown: Rules, names: Names, limits: CoverLimits
) -> Callable[[pa.Table], pa.Table]:
    def least_of(table: pa.Table) -> pa.Table:
        acls, whose, stays = now.opened.acls, now.opened.allows, unknown.opened.allows
        [principal] = set(table.column("principal").to_pylist())
        columns = [table.column(name).to_pylist() for name in _DONE]
        did = [
            Did(
                Operation[operation],
                ResourceType[kind],
                name,
                host,
                None if by == _BY_DEFAULT else acls[by],
            )
            for operation, kind, name, host, by, _ in zip(*columns, strict=True)
        ]
        today, kept = (
            [*held.get(principal, ()), *held.get(WILDCARD_PRINCIPAL, ())] for held in (whose, stays)
        )
        found = least(principal, did, today, kept, names, limits)
        used = len({(each.operation, each.resource_type, each.name) for each in did})
        rows: list[tuple[Any, ...]] = [(*words_of(acl), principal, 0, 0) for acl in found]
        rows.append((*[None] * len(ACL_COLUMNS), principal, used, sum(columns[-1])))
        return table_of(rows, _LEAST)

    return least_of


def _shares(
    today: Sequence[Acl], parts: Mapping[str, _Part], unknown: Iterable[Acl], names: Names
) -> tuple[Share, ...]:
    own: dict[str, list[Acl]] = {}
    for acl in today:
        own.setdefault(acl.principal, []).append(acl)
    kept: dict[str, list[Acl]] = {}
    for acl in (*unknown, *(acl for part in parts.values() for acl in part.acls)):
        kept.setdefault(acl.principal, []).append(acl)
    everyones = [acl for acl in own.get(WILDCARD_PRINCIPAL, ()) if not is_allow(acl)]
    shares = [
        _share(
            principal,
            own.get(principal, []),
            sorted(set(kept.get(principal, ())), key=acl_order),
            parts.get(principal, _Part([], 0, 0)),
            everyones,
            names,
        )
        for principal in {**own, **kept, **parts}
    ]
    shares = [share for share in shares if share.today or share.least or share.requests]
    return tuple(sorted(shares, key=lambda share: (-share.excess, share.principal)))


def _share(
    principal: str,
    own: Sequence[Acl],
    least: Sequence[Acl],
    part: _Part,
    everyones: Sequence[Acl],
    names: Names,
) -> Share:
    allows = tuple(acl for acl in own if is_allow(acl))
    denies = [acl for acl in own if not is_allow(acl)]
    against = [*denies, *everyones]
    wanted = Document(
        tuple(AclEntry(acl) for acl in (*denies, *least)), (Own(principal=principal),)
    )
    return Share(
        principal,
        allows,
        tuple(least),
        allowed_pairs([*allows, *against], names),
        part.used,
        allowed_pairs([*least, *against], names),
        part.requests,
        make_plan(own, wanted, prune=True),
    )


def _row(share: Share, dangers: Mapping[Acl, Severity]) -> tuple[Any, ...]:
    gone = [step.acl for step in share.plan.steps if step.change is ChangeKind.REMOVE]
    severity = max((dangers.get(acl, Severity.INFO) for acl in gone), default=Severity.INFO)
    if severity is Severity.INFO and share.excess:
        severity = Severity.WARNING
    return (
        share.principal,
        len(share.today),
        len(share.least),
        share.granted,
        share.used,
        share.left,
        share.excess,
        share.requests,
        len(share.plan.steps) - len(gone),
        len(gone),
        severity.name,
        _remedy(share),
    )


def _remedy(share: Share) -> str | None:
    told = commands((_COMMANDS[step.change], step.acl) for step in share.plan.steps)
    if told and share.principal == WILDCARD_PRINCIPAL:
        return f"{_LAST}\n{told}"
    return told or None
