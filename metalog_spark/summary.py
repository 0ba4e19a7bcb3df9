"""Summarizes a pipeline's tables.

This module must not know how anything is shown.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import reduce
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from authorizer.audit.layouts import TIMES_END_US
from metalog_spark.coverage.coverage import HOUR_US, seen_hours
from metalog_spark.decide.past_log_end import PastLogEnd, history_rows, later_in
from metalog_spark.findings.windows.repeated import (
    RepeatedHours,
    clock_texts,
    repeated_in,
    with_repeated,
)
from metalog_spark.findings.windows.window import (
    Window,
    WindowCoverage,
    coverage_of,
    expected_clock_hours,
)
from metalog_spark.ingest.lines.audit_log import NOT_AUDIT_REASONS
from metalog_spark.ingest.lines.line_forms import FORMS, HALF
from metalog_spark.store.tables import (
    ACL_CHANGELOG,
    ALERTS,
    COVERAGE,
    DECISIONS,
    REJECTED,
    REQUESTS,
    USAGE,
    WAITING,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from metalog_spark.store.table_store import Tables


_EVER: Final = Window(0, TIMES_END_US)


class Summary(NamedTuple):
    """The summary of a build.

    - ``first`` and ``last`` are the first and last hour with requests; ``seen`` is the coverage
      from ``first`` to ``last``.
    - ``not_audit``, ``broken`` and ``halves`` count lines. A half lacks a part that an earlier line
      of its broker has, and is also ``broken``.
    - ``lifetimes`` and ``in_force`` count lifetimes of ACLs.
    - ``disagree`` counts requests that the broker and the pipeline decide differently.
    - ``not_known`` counts requests before the log or in a gap of the log.
    - ``clocks`` has sentences about clocks that were set back.
    - ``upgraded`` names the brokers whose earlier lines had no rule.
    """

    allowed: int
    denied: int
    brokers: tuple[str, ...]
    first: datetime | None
    last: datetime | None
    seen: WindowCoverage
    not_audit: int
    broken: int
    usage_rows: int
    disagree: int
    not_known: int
    lifetimes: int
    in_force: int
    gaps: int
    damages: tuple[str, ...]
    later: PastLogEnd | None
    clocks: tuple[str, ...] = ()
    halves: int = 0
    upgraded: tuple[str, ...] = ()


class TableTotals(NamedTuple):
    """Numbers of rows in tables."""

    decided: int
    waiting: int
    rejected: int
    alerts: int


def summary(tables: Tables) -> Summary:
    from pyspark.sql import functions as f

    known = f.col("known")
    is_not_audit = f.col("reason").isin(*NOT_AUDIT_REASONS)
    disagrees = known & (f.col("decided") != f.col("result"))
    repeated = repeated_in(tables, *_EVER)
    covered = _covered(tables, repeated)
    rejected = _row(
        tables.read(REJECTED),
        not_audit=f.count_if(is_not_audit),
        broken=f.count_if(~is_not_audit),
        halves=f.count_if(f.col("reason") == HALF),
    )
    has_rules = [name for name, (_, rule) in tables.facts.get(FORMS, {}).items() if rule]
    is_older = f.col("rule").isNull() & f.col("line").isNotNull()
    older = _row(
        tables.read(REQUESTS).where(is_older & f.col("broker").isin(has_rules)),
        upgraded=f.sort_array(f.collect_set("broker")),
    )
    used = _row(
        tables.read(USAGE),
        usage_rows=f.count("*"),
        disagree=f.sum(f.when(disagrees, f.col("requests"))),
        not_known=f.sum(f.when(~known, f.col("requests"))),
    )
    lifetimes = _row(
        tables.read(ACL_CHANGELOG),
        lifetimes=f.count("*"),
        in_force=f.count_if(f.col("to_offset").isNull()),
    )
    values = _values(covered, rejected, older, used, lifetimes)
    for name in ("allowed", "denied", "disagree", "not_known"):
        values[name] = values[name] or 0
    window = _window(values)
    values["seen"] = _seen(values, window)
    values["clocks"] = clock_texts(tables.facts, repeated, *_EVER)
    for name in ("first", "last"):
        values[name] = _time(values[name])
    for name in ("brokers", "upgraded"):
        values[name] = tuple(values[name])
    history = history_rows(tables)
    damages = sorted(row.why for row in history if row.kind == "DAMAGED" and row.why is not None)
    gaps = sum(row.kind == "GAP" for row in history)
    later = None if window is None else later_in(tables, *window)
    return Summary(**values, gaps=gaps, damages=tuple(damages), later=later)


def tally(tables: Tables, alerted: int | None) -> TableTotals:
    """Count rows. Of the alerts, count only those of batches up to the number ``alerted``; none
    if ``alerted`` is None."""
    from pyspark.sql import functions as f

    counted = {
        "decided": tables.read(DECISIONS),
        "waiting": tables.read(WAITING),
        "rejected": tables.read(REJECTED),
        "alerts": tables.read(ALERTS).where(f"batch <= {-1 if alerted is None else alerted}"),
    }
    return TableTotals(
        **_values(*(_row(rows, **{name: f.count("*")}) for name, rows in counted.items()))
    )


def _covered(tables: Tables, repeated: Sequence[RepeatedHours]) -> DataFrame:
    """The coverage of each broker, and of all brokers together."""
    from pyspark.sql import functions as f

    lines = {name: f.sum(name).alias(f"{name}_lines") for name in ("allowed", "denied")}
    edges = f.min("hour").alias("first"), f.max("hour").alias("last")
    is_of_all = f.grouping("broker").alias("is_of_all")
    coverage, is_repeated = with_repeated(tables.read(COVERAGE), repeated)
    hours = seen_hours(f.lit(True), is_repeated)
    by_broker = coverage.rollup("broker").agg(is_of_all, *lines.values(), *edges, *hours)
    is_one, is_all = f.col("is_of_all") == 0, f.col("is_of_all") == 1
    one = f.when(is_one, f.struct("broker", "allowed", "any", "repeated"))
    of_all = {
        "allowed": f.col("allowed_lines"),
        "denied": f.col("denied_lines"),
        "first": f.unix_seconds("first"),
        "last": f.unix_seconds("last"),
        "with_controller": f.col("controller"),
        "controller_or_repeated": f.col("controller_or_repeated"),
    }
    return _row(
        by_broker,
        of_brokers=f.sort_array(f.collect_list(one)),
        brokers=f.sort_array(f.collect_list(f.when(is_one, f.col("broker")))),
        **{name: f.max(f.when(is_all, column)) for name, column in of_all.items()},
    )


def _window(values: Mapping[str, Any]) -> Window | None:
    if values["first"] is None:
        return None
    return Window(values["first"] * 1_000_000, values["last"] * 1_000_000 + HOUR_US)


def _seen(values: dict[str, Any], window: Window | None) -> WindowCoverage:
    names = "with_controller", "controller_or_repeated"
    with_controller, controller_or_repeated = (values.pop(name) or 0 for name in names)
    brokers = values.pop("of_brokers")
    if window is None:
        return WindowCoverage(0, 0, 0)
    seen = coverage_of([tuple(broker.values()) for broker in brokers], window.hours)
    expected = expected_clock_hours(window.hours, with_controller, controller_or_repeated)
    return seen._replace(clock_hours=expected, without_controller=expected - with_controller)


def _values(*one_row: DataFrame) -> dict[str, Any]:
    rows = reduce(lambda one, more: one.unionAll(more), one_row).collect()
    return {name: value for row in rows for name, value in json.loads(row[0]).items()}


def _row(table: DataFrame, **columns: Column) -> DataFrame:
    """One row of JSON, so that one query can collect the rows of all tables."""
    from pyspark.sql import functions as f

    named = f.struct(*(column.alias(name) for name, column in columns.items()))
    return table.agg(f.to_json(named, {"ignoreNullFields": "false"}))


def _time(seconds: int | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
