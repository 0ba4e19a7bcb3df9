"""Lists today's permissions, their dangers, and their uses.

This module adds three dangers to those of lint: toxic pairs of powers, ALLOWs that a DENY limits,
and super users.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import chain, filterfalse
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from authorizer.analysis.access.coverage import meet
from authorizer.analysis.access.host_regions import hosts_meet
from authorizer.analysis.lint.checks import lint
from authorizer.analysis.lint.finding import Finding, LintSubject, Severity
from authorizer.analysis.lint.too_open import (
    all_topics,
    deny_misses_star,
    everyone,
    internal_topic,
    open_by_default,
    super_user_acl,
    super_user_like,
)
from authorizer.analysis.lint.without_effect import overridden_allow
from authorizer.engine.decide import ALLOWS, DENIES, SUPER_USER
from authorizer.kafka_version import KafkaVersion
from authorizer.trace import is_allow, reaches
from metalog.acl import (
    CLUSTER_NAME,
    SUPPORTED_OPERATIONS,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    Acl,
    Operation,
    PatternType,
    ResourceType,
    words_of,
)
from metalog.grouping import grouped
from metalog_spark.findings.remedy import too_open
from metalog_spark.findings.unused import time_of
from metalog_spark.findings.usage.acl_lifetimes import ACL_STRUCT
from metalog_spark.findings.usage.usage_counts import counted
from metalog_spark.findings.windows.state import config_now
from metalog_spark.findings.windows.window import usage_in
from metalog_spark.store.arrow import frame_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from authorizer.config import AuthorizerConfig
    from metalog_spark.findings.windows.window import Window
    from metalog_spark.store.table_store import Tables

EXPOSURE: Final = (
    f"kind STRING, principal STRING, message STRING, acl {ACL_STRUCT}, other {ACL_STRUCT},"
    " requests BIGINT, last_use TIMESTAMP, severity STRING, remedy STRING"
)
"""``kind`` is the id of a lint check, or ``toxic-pair``, ``denied-overlap`` or ``super-user``.
If ``acl`` is null and ``principal`` is empty, ``message`` is about the configuration.
``other`` is the second ACL of a finding about two ACLs, for example the DENY that limits ``acl``.
``requests`` counts the requests that ``acl`` decided, or that a super user was allowed
without ACLs."""

ACCESS: Final = (
    "principal STRING, resource_type STRING, pattern_type STRING, resource_name STRING,"
    " reads BOOLEAN, writes BOOLEAN, administers BOOLEAN, operations ARRAY<STRING>,"
    " hosts ARRAY<STRING>, denied ARRAY<STRING>, requests BIGINT, last_use TIMESTAMP,"
    " severity STRING, remedy STRING"
)
"""A row for each principal, pattern and set of operations that ALLOWs allow. ``operations`` include
implied operations. Hosts with the same operations share a row. A DENY refuses each
operation in ``denied`` for at least one host and one name of the row."""

_CHECKS: Final = (
    everyone, super_user_like, all_topics, internal_topic, open_by_default, overridden_allow,
    super_user_acl, deny_misses_star,
)  # fmt: skip
_WRITES: Final = frozenset({Operation.WRITE, Operation.IDEMPOTENT_WRITE})
_ADMINISTERS: Final = frozenset(
    {
        Operation.CREATE,
        Operation.DELETE,
        Operation.ALTER,
        Operation.ALTER_CONFIGS,
        Operation.CLUSTER_ACTION,
        Operation.CREATE_TOKENS,
    }
)
_USUAL_ADVICE: Final = (
    "check whether this is intended; metalog pipeline least-privilege shows the needed ACLs"
)
_Grant = tuple[str, ResourceType, PatternType, str, frozenset[Operation]]


class Power(NamedTuple):
    """An operation on the cluster, or on all topics."""

    resource_type: ResourceType
    operation: Operation

    def is_granted_by(self, acl: Acl) -> bool:
        kind = self.resource_type
        if acl.resource_type is not kind or not ALLOWS[acl.operation] >> self.operation & 1:
            return False
        if kind is ResourceType.CLUSTER:
            return reaches(acl, kind, CLUSTER_NAME)
        is_literal = acl.pattern_type is PatternType.LITERAL
        return acl.resource_name == (WILDCARD if is_literal else "")


_CLUSTER, _TOPIC = ResourceType.CLUSTER, ResourceType.TOPIC
TOXIC_PAIRS: Final = (
    (
        Power(_CLUSTER, Operation.ALTER),
        Power(_CLUSTER, Operation.ALTER_CONFIGS),
        "it can give itself any right, and switch off the audit log",
    ),
    (
        Power(_CLUSTER, Operation.ALTER),
        Power(_CLUSTER, Operation.CLUSTER_ACTION),
        "it can give itself any right, and act as a broker",
    ),
    (
        Power(_TOPIC, Operation.WRITE),
        Power(_TOPIC, Operation.ALTER_CONFIGS),
        "it can write to every topic, and delete records by a short retention time",
    ),
)
"""Two powers that no principal should have together, and the message of the finding."""


class Use(NamedTuple):
    requests: int = 0
    last_us: int | None = None


Row = tuple[Any, ...]


def exposure(tables: Tables, window: Window) -> DataFrame:
    """Rows of ``EXPOSURE`` for the ACLs in force at the end of the history, the most severe
    first."""
    acls, uses = _used(tables, window)
    config = config_now(tables)
    rows = [
        *_linted(acls, config, uses),
        *_toxic(acls, config, uses),
        *_overlaps(acls, config, uses),
        *_super_users(tables, window, config),
    ]
    rows.sort(key=lambda row: (-Severity[row[-2]], row[0], row[1]))
    return frame_of(tables.session, rows, EXPOSURE)


def _grants(acls: Iterable[Acl]) -> dict[_Grant, list[Acl]]:
    """The ALLOWs among ``acls``. Hosts with the same allowed operations share a key."""
    of_hosts: dict[tuple[str, ResourceType, PatternType, str, str], list[Acl]] = {}
    for acl in filter(is_allow, acls):
        key = acl.principal, acl.resource_type, acl.pattern_type, acl.resource_name
        of_hosts.setdefault((*key, acl.host), []).append(acl)
    grants: dict[_Grant, list[Acl]] = {}
    for (principal, kind, pattern_type, name, _), allows in of_hosts.items():
        allowed = frozenset(
            operation
            for operation in SUPPORTED_OPERATIONS.get(kind, ())
            if any(ALLOWS[acl.operation] >> operation & 1 for acl in allows)
        )
        grants.setdefault((principal, kind, pattern_type, name, allowed), []).extend(allows)
    return grants


def access(tables: Tables, window: Window) -> DataFrame:
    """Rows of ``ACCESS`` for the ACLs in force at the end of the history, sorted as in exports."""
    acls, uses = _used(tables, window)
    config = config_now(tables)
    dangers = too_open(acls, config)
    against = _denies_by_principal(acls)
    rows = []
    for (principal, kind, pattern_type, name, operations), allows in _grants(acls).items():
        denies = [*against.get(principal, ()), *against.get(WILDCARD_PRINCIPAL, ())]
        denied = {
            operation
            for deny in denies
            if meet(deny, allows[0])
            and any(hosts_meet(deny.host, allow.host, config.kafka) for allow in allows)
            for operation in operations
            if deny.operation in (Operation.ALL, operation)
        }
        use = _sum(uses.get(acl, Use()) for acl in allows)
        danger = max(dangers.get(acl, Severity.INFO) for acl in allows)
        rows.append(
            (
                principal,
                kind.name,
                pattern_type.name,
                name,
                Operation.READ in operations,
                bool(operations & _WRITES),
                bool(operations & _ADMINISTERS),
                sorted(operation.name for operation in operations),
                sorted({acl.host for acl in allows}),
                sorted(operation.name for operation in denied),
                use.requests,
                _when(use),
                danger.name,
                None if danger is Severity.INFO else _USUAL_ADVICE,
            )
        )
    return frame_of(tables.session, rows, ACCESS)


def _used(tables: Tables, window: Window) -> tuple[list[Acl], dict[Acl, Use]]:
    known = counted(tables, window)
    uses = {acl: Use(count.requests, count.last_us) for acl, count in known.uses.items()}
    return known.lifetimes.at(None), uses


def _sum(uses: Iterable[Use]) -> Use:
    listed = [use for use in uses if use.requests]
    last = max((use.last_us for use in listed if use.last_us is not None), default=None)
    return Use(sum(use.requests for use in listed), last)


def _when(use: Use) -> datetime | None:
    return None if use.last_us is None else time_of(use.last_us)


def _linted(acls: Sequence[Acl], config: AuthorizerConfig, uses: dict[Acl, Use]) -> Iterator[Row]:
    subject = LintSubject(tuple(acls), config, datetime.now(UTC).date(), is_log=True)
    for check, findings in lint(subject, _CHECKS):
        for finding in findings or ():
            principal = "" if finding.acl is None else finding.acl.principal
            yield _row(check.id, principal, finding, uses)


def _toxic(acls: Iterable[Acl], config: AuthorizerConfig, uses: dict[Acl, Use]) -> Iterator[Row]:
    """Yield a row for each toxic pair of a principal. One of the powers can come from
    an ACL for User:*. If both powers come from such ACLs, only User:* gets a row."""
    own: dict[str, list[Acl]] = {}
    for acl in acls:
        if is_allow(acl) and acl.principal not in config.super_users:
            own.setdefault(acl.principal, []).append(acl)
    powers = {power for pair in TOXIC_PAIRS for power in pair[:2]}
    everyones = [
        acl
        for acl in own.get(WILDCARD_PRINCIPAL, ())
        if any(power.is_granted_by(acl) for power in powers)
    ]
    for principal, allows in own.items():
        for one, two, consequence in TOXIC_PAIRS:
            first = next(filter(one.is_granted_by, chain(allows, everyones)), None)
            second = next(filter(two.is_granted_by, chain(reversed(allows), everyones)), None)
            if first is None or second is None:
                continue
            if principal in (first.principal, second.principal):
                advice = (
                    "allow less than ALL, and give one of these rights to another principal"
                    if first == second
                    else "let two different principals have these two rights"
                )
                finding = Finding(Severity.ERROR, consequence, first, by=second, advice=advice)
                yield _row("toxic-pair", principal, finding, uses)


def _overlaps(acls: Sequence[Acl], config: AuthorizerConfig, uses: dict[Acl, Use]) -> Iterator[Row]:
    denies = _denies_by_principal(acls)
    everyones = denies.get(WILDCARD_PRINCIPAL, ())
    for acl in acls:
        if not is_allow(acl) or acl.principal in config.super_users:
            continue
        against = chain(denies.get(acl.principal, ()), everyones)
        deny = next((deny for deny in against if _takes_from(deny, acl, config.kafka)), None)
        if deny is not None:
            finding = Finding(
                Severity.INFO,
                "a DENY takes away a part of this ALLOW",
                acl,
                by=deny,
                advice="allow less instead; metalog access shows what is left",
            )
            yield _row("denied-overlap", acl.principal, finding, uses)


def _takes_from(deny: Acl, allow: Acl, kafka: KafkaVersion) -> bool:
    return (
        bool(DENIES[deny.operation] & ALLOWS[allow.operation])
        and hosts_meet(deny.host, allow.host, kafka)
        and meet(deny, allow)
    )


def _super_users(tables: Tables, window: Window, config: AuthorizerConfig) -> Iterator[Row]:
    from pyspark.sql import functions as f

    on_data = f.col("operation").isin("READ", "WRITE") & (f.col("resource_type") == "TOPIC")
    rows = (
        usage_in(tables, window)
        .where(f.col("decided_rule") == SUPER_USER)
        .groupBy("principal")
        .agg(
            f.sum("requests"),
            f.unix_micros(f.max("last_time")),
            f.coalesce(f.sum(f.when(on_data, f.col("requests"))), f.lit(0)),
        )
        .collect()
    )
    seen = {principal: (Use(requests, last), data) for principal, requests, last, data in rows}
    for principal in sorted({*config.super_users, *seen}):
        use, data = seen.get(principal, (Use(), 0))
        if data:
            message = "a super user reads or writes topics; no ACL can limit it"
            severity = Severity.WARNING
            advice = "give it ACLs of its own, and take it out of super.users"
        elif use.requests:
            message, severity = "an active super user", Severity.INFO
            advice = "keep only brokers and administrators in super.users"
        else:
            message = "a super user of whom no request was logged"
            severity, advice = Severity.INFO, "take it out of super.users"
        yield (
            "super-user",
            principal,
            message,
            None,
            None,
            use.requests,
            _when(use),
            severity.name,
            advice,
        )


def _row(kind: str, principal: str, finding: Finding, uses: dict[Acl, Use]) -> Row:
    use = Use() if finding.acl is None else uses.get(finding.acl, Use())
    return (
        kind,
        principal,
        finding.message,
        None if finding.acl is None else words_of(finding.acl),
        None if finding.by is None else words_of(finding.by),
        use.requests,
        _when(use),
        finding.severity.name,
        "\n".join(finding.commands) or finding.advice or _USUAL_ADVICE,
    )


def _denies_by_principal(acls: Iterable[Acl]) -> dict[str, list[Acl]]:
    return grouped(filterfalse(is_allow, acls), lambda acl: acl.principal)
