"""Finds the requests that proposed ACLs would decide differently from today's ACLs.

Today's ACLs are the ACLs in force at the end of the history, also for older requests.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from authorizer.analysis.lint.finding import Severity
from authorizer.analysis.remedies.commands import CommandKind
from authorizer.analysis.remedies.powers import power
from authorizer.engine.bulk import RequestColumns
from authorizer.engine.decide import SUPER_USER
from metalog.acl import words_of
from metalog_spark.findings.remedy import commands
from metalog_spark.findings.usage.acl_lifetimes import ACL_COLUMNS, ACL_SQL, ACL_STRUCT
from metalog_spark.findings.windows.questions import (
    QUESTION_COLUMNS,
    Rules,
    question_columns,
    questions_in,
    rules,
)
from metalog_spark.findings.windows.state import acls_now, config_now
from metalog_spark.store.arrow import Mapped, batch_of, names_in

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from authorizer.config import AuthorizerConfig
    from authorizer.engine.decide import Decision
    from metalog.acl import Acl
    from metalog_spark.findings.windows.window import Window
    from metalog_spark.store.table_store import Tables

SCHEMA: Final = (
    "principal STRING, operation STRING, resource_type STRING, resource_name STRING,"
    " before STRING, after STRING, after_rule STRING, requests BIGINT, hosts BIGINT,"
    f" last_time TIMESTAMP, acl {ACL_STRUCT}, severity STRING, remedy STRING"
)
"""The requests whose answer changes, in a row for each principal, operation, resource and cause.
``acl`` is the ACL of today, or the proposed ACL, that causes the change; null if no ACL causes it.
``remedy`` says how to keep today's answer. A new denial is an ERROR, a new permission a WARNING."""

_CHANGED: Final = (
    "principal STRING, operation STRING, resource_type STRING, resource_name STRING,"
    " before STRING, after STRING, after_rule STRING, acl STRING, remedy STRING, host STRING,"
    " requests BIGINT, last_us BIGINT"
)
_CLOSED: Final = "allow.everyone.if.no.acl.found would not allow it: add ALLOWs for all who need it"
_NO_SUPER_USER: Final = "the principal would no longer be a super user: give it ACLs first"
_OPENS: Final = "allow.everyone.if.no.acl.found would allow it: keep or add an ACL on the resource"
_SUPER_USER: Final = "the principal would be a super user, whom no ACL can limit"
_ORDER: Final = ("principal", "resource_type", "resource_name", "operation")


def what_if(
    tables: Tables,
    window: Window,
    proposed: Collection[Acl],
    config: AuthorizerConfig | None = None,
) -> DataFrame:
    """Rows of ``SCHEMA``, first the new denials, then the new permissions. ``config`` is the
    proposed configuration; None stands for today's configuration."""
    now = config_now(tables)
    before, after = rules(acls_now(tables), now), rules(proposed, config or now)
    return changed_decisions(questions_in(tables, window), before, after)


def changed_decisions(questions: DataFrame, before: Rules, after: Rules) -> DataFrame:
    """Rows of ``SCHEMA`` for the change from ``before`` to ``after``."""
    from pyspark.sql import functions as f

    requests = questions.groupBy(*QUESTION_COLUMNS).agg(
        f.sum("requests").alias("requests"), f.max("last_us").alias("last_us")
    )
    grouped = (
        requests.mapInArrow(_changes_between(before, after), _CHANGED)
        .groupBy(
            *[name for name in names_in(_CHANGED) if name not in ("host", "requests", "last_us")]
        )
        .agg(
            f.sum("requests").alias("requests"),
            f.count_distinct("host").alias("hosts"),
            f.timestamp_micros(f.max("last_us")).alias("last_time"),
        )
        .withColumn("acl", f.from_json("acl", ACL_SQL))
        .withColumn(
            "severity",
            f.when(f.col("after") == "DENIED", Severity.ERROR.name).otherwise(
                Severity.WARNING.name
            ),
        )
    )
    order = (f.col("after").desc(), f.col("requests").desc(), *_ORDER)
    return grouped.select(*names_in(SCHEMA)).orderBy(*order)


def _changes_between(before: Rules, after: Rules) -> Mapped:
    def changes(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        one, two = before.opened.decider, after.opened.decider
        for batch in batches:
            questions = question_columns(batch)
            counts = [batch.column(len(QUESTION_COLUMNS) + place).to_pylist() for place in range(2)]
            was, will = one.allowed(questions), two.allowed(questions)
            changed = [place for place in range(len(was)) if was[place] is not will[place]]
            some = RequestColumns(*([column[place] for place in changed] for column in questions))
            answers = zip(one.decisions(some), two.decisions(some), strict=True)
            rows = [
                _row(question, pair, [count[place] for count in counts])
                for place, question, pair in zip(
                    changed, zip(*some, strict=True), answers, strict=True
                )
            ]
            yield batch_of(rows, _CHANGED)

    return changes


def _row(
    question: tuple[str, ...], decisions: tuple[Decision, Decision], counts: Iterable[int]
) -> tuple[Any, ...]:
    principal, host, *what = question
    before, after = decisions
    acl, remedy = _cause(before, after)
    acl_json = (
        None if acl is None else json.dumps(dict(zip(ACL_COLUMNS, words_of(acl), strict=True)))
    )
    answers = before.result.value, after.result.value, after.rule
    return principal, *what, *answers, acl_json, remedy, host, *counts


def _cause(before: Decision, after: Decision) -> tuple[Acl | None, str]:
    if SUPER_USER in (before.rule, after.rule):
        return None, _NO_SUPER_USER if before.rule == SUPER_USER else _SUPER_USER
    undoing = [(CommandKind.REMOVE, after.acl), (CommandKind.ADD, before.acl)]
    danger = None if before.acl is None else power(before.acl)
    if danger is not None:
        return before.acl, f"with this ACL, {danger}: keep the ACL only if that is intended"
    if not before.result:
        undoing.reverse()
    for change, acl in undoing:
        if acl is not None:
            return acl, commands([(change, acl)])
    return None, _CLOSED if before.result else _OPENS
