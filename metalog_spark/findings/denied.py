"""Lists the most frequent denials, each with its first near miss.

``explain`` searches the ACLs in force at the last denial. If these ACLs are unknown, it searches
today's ACLs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from authorizer.analysis.explain.explain import Explanation, explain
from authorizer.analysis.explain.kinds import NearMissKind
from authorizer.analysis.lint.finding import Severity
from authorizer.engine.index import AclIndex
from authorizer.trace import Question
from metalog.acl import Operation, ResourceType, words_of
from metalog_spark.findings.remedy import danger_of_question, too_open
from metalog_spark.findings.unused import time_of
from metalog_spark.findings.usage.acl_lifetimes import ACL_STRUCT
from metalog_spark.findings.windows.answers import askable
from metalog_spark.findings.windows.state import config_now, lifetimes_in
from metalog_spark.findings.windows.window import usage_in
from metalog_spark.store.arrow import frame_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from authorizer.config import AuthorizerConfig
    from metalog_spark.findings.usage.acl_lifetimes import AclLifetimes
    from metalog_spark.findings.windows.window import Window
    from metalog_spark.store.table_store import Tables

SHOWN: Final = 20
STORM_FROM: Final = 1_000
"""A storm is at least this many denials of one principal, operation and resource on one day."""
_QUESTION: Final = ("principal", "resource_type", "resource_name", "operation")
SCHEMA: Final = (
    "principal STRING, resource_type STRING, resource_name STRING, operation STRING,"
    " host STRING, requests BIGINT, hosts BIGINT, days BIGINT, peak BIGINT,"
    " first_time TIMESTAMP, last_time TIMESTAMP, still BOOLEAN, storm BOOLEAN,"
    f" near_kind STRING, near {ACL_STRUCT}, severity STRING, remedy STRING"
)
"""A row for each principal, operation and resource with denials, the most denials first. ``host``:
the host of the last denial. ``hosts``: the number of denied hosts. ``peak``: the denials on the
worst day. ``still``: the last denied request would be denied today, too. ``near``: the first near
miss, or null. ``near_kind``: the NearMissKind of ``near``."""


def denied(
    tables: Tables, window: Window, *, shown: int = SHOWN, counts: DataFrame | None = None
) -> DataFrame:
    """At most ``shown`` rows of ``SCHEMA``. ``counts`` is the result of ``denial_counts`` for
    ``tables`` and ``window``; None computes it."""
    counted = denial_counts(tables, window) if counts is None else counts
    return explained(tables, counted.orderBy(*in_order()).limit(shown).collect())


def in_order() -> tuple[Column, ...]:
    """The sort columns for rows of ``denial_counts``."""
    from pyspark.sql import functions as f

    return f.col("requests").desc(), *map(f.col, _QUESTION)


def explained(tables: Tables, counts: Iterable[Any]) -> DataFrame:
    """Rows of ``SCHEMA`` for ``counts``, which are rows of ``denial_counts``."""
    lifetimes, config = lifetimes_in(tables), config_now(tables)
    now = AclIndex.of(lifetimes.at(None))
    rows = [_row(row, lifetimes, now, config) for row in counts]
    return frame_of(tables.session, rows, SCHEMA)


def denial_counts(tables: Tables, window: Window) -> DataFrame:
    """A row for each principal, operation and resource with denials."""
    from pyspark.sql import functions as f

    last = f.struct("host", "known")
    is_day = f.col("is_day") == 1
    # one grouping set for days and one for hosts, so that Spark keeps no list of days or hosts
    parts = (
        askable(usage_in(tables, window))
        .where("result = 'DENIED'")
        .groupingSets([[*_QUESTION, "day"], [*_QUESTION, "host"]], *_QUESTION, "day", "host")
        .agg(
            f.grouping("host").alias("is_day"),
            f.sum("requests").alias("requests"),
            f.unix_micros(f.min("first_time")).alias("first_us"),
            f.unix_micros(f.max("last_time")).alias("last_us"),
            f.max_by(last, f.struct("last_time", "host")).alias("last"),
        )
    )
    days = {name: f.when(is_day, f.col(name)) for name in ("requests", "last_us")}
    return parts.groupBy(*_QUESTION).agg(
        f.sum(days["requests"]).alias("requests"),
        f.count_if(~is_day).alias("hosts"),
        f.count_if(is_day).alias("days"),
        f.max(days["requests"]).alias("peak"),
        f.min("first_us").alias("first_us"),
        f.max("last_us").alias("last_us"),
        f.max_by("last", days["last_us"]).alias("last"),
    )


def _row(
    row: Any, lifetimes: AclLifetimes, now: AclIndex, config: AuthorizerConfig
) -> tuple[Any, ...]:
    last = row["last"]
    question = Question(
        row["principal"],
        Operation[row["operation"]],
        ResourceType[row["resource_type"]],
        row["resource_name"],
        last["host"],
    )
    then = lifetimes.at(lifetimes.offset_at(row["last_us"]) if last["known"] else None)
    explained = explain(then, config, question)
    still = _denies(now, config, question)
    near = next(iter(explained.near_misses), None)
    is_storm = row["peak"] >= STORM_FROM
    return (
        question.principal,
        question.resource_type.name,
        question.resource_name,
        question.operation.name,
        question.host,
        *(row[name] for name in ("requests", "hosts", "days", "peak")),
        time_of(row["first_us"]),
        time_of(row["last_us"]),
        still,
        is_storm,
        None if near is None else near.kind.name,
        None if near is None else words_of(near.acl),
        _severity(explained, still, is_storm).name,
        _remedy(question, explained, config) if still else "it is allowed today",
    )


def _denies(now: AclIndex, config: AuthorizerConfig, question: Question) -> bool:
    _, operation, kind, name, _, _ = question
    default = config.allow_everyone
    decision = now.decide(
        question.subject(config.kafka), operation, kind, name, allow_everyone=default
    )
    return question.principal not in config.super_users and not decision.result


def _severity(explained: Explanation, still: bool, is_storm: bool) -> Severity:
    if not still:
        return Severity.INFO
    first_unlikely = NearMissKind.OPERATION_NOT_IMPLIED.rank
    is_likely_mistake = any(miss.kind.rank < first_unlikely for miss in explained.near_misses)
    return Severity.WARNING if is_likely_mistake or is_storm else Severity.INFO


def _remedy(question: Question, explained: Explanation, config: AuthorizerConfig) -> str:
    if (danger := danger_of_question(question)) is not None:
        return (
            "find out why the client sends such requests, and stop them: with"
            f" {question.operation.name} on this resource {danger}; leave such work to a super user"
        )
    remedies = sorted(explained.remedies, key=lambda remedy: remedy.mends is None)
    safe = (remedy for remedy in remedies if not (remedy.powers or too_open(remedy.add, config)))
    commands = next((remedy.commands for remedy in safe if remedy.commands), ())
    return "\n".join(commands or ()) or "stop the client, or allow its requests with metalog apply"
