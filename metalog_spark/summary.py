"""How much is in a pipeline's tables, read off the small ones among them.

This module must not know how anything is shown.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from metalog_spark.auditlog import OTHERS
from metalog_spark.coverage import BOTH, DENIALS_ONLY, NOTHING
from metalog_spark.later import Later, later_in
from metalog_spark.tables import ACL_CHANGELOG, COVERAGE, HISTORY, REJECTED, USAGE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from metalog_spark.folder import Tables


class Summary(NamedTuple):
    """``first`` and ``last`` are hours with requests; ``controller`` counts those in which one logs
    what it allows, ``disagree`` what the broker answered otherwise than its ACLs say,
    ``not_known`` what was asked in a gap, ``later`` what was after the log's end."""

    allowed: int
    denied: int
    brokers: tuple[str, ...]
    first: datetime | None
    last: datetime | None
    both: int
    denials_only: int
    nothing: int
    controller: int
    not_audit: int
    broken: int
    questions: int
    disagree: int
    not_known: int
    lives: int
    in_force: int
    gaps: int
    damages: tuple[str, ...]
    later: Later | None


def summary(tables: Tables) -> Summary:
    from pyspark.sql import functions as f

    state, known = f.col("state"), f.col("known")
    is_other = f.col("reason").isin(*OTHERS)
    is_otherwise = known & (f.col("decided") != f.col("result"))
    covered = _said(
        tables.read(COVERAGE),
        allowed=f.sum("allowed"),
        denied=f.sum("denied"),
        brokers=f.sort_array(f.collect_set("broker")),
        first=f.unix_seconds(f.min("hour")),
        last=f.unix_seconds(f.max("hour")),
        both=f.count_if(state == BOTH),
        denials_only=f.count_if(state == DENIALS_ONLY),
        nothing=f.count_if(state == NOTHING),
        controller=f.count_if("controller"),
    )
    rejected = _said(
        tables.read(REJECTED), not_audit=f.count_if(is_other), broken=f.count_if(~is_other)
    )
    used = _said(
        tables.read(USAGE),
        questions=f.count("*"),
        disagree=f.sum(f.when(is_otherwise, f.col("requests"))),
        not_known=f.sum(f.when(~known, f.col("requests"))),
    )
    lives = _said(
        tables.read(ACL_CHANGELOG),
        lives=f.count("*"),
        in_force=f.count_if(f.col("to_offset").isNull()),
    )
    is_damage = f.col("kind") == "DAMAGED"
    seen = _said(
        tables.read(HISTORY),
        gaps=f.count_if(f.col("kind") == "GAP"),
        damages=f.sort_array(f.collect_list(f.when(is_damage, f.col("why")))),
    )
    said = covered.unionAll(rejected).unionAll(used).unionAll(lives).unionAll(seen)
    found = {name: value for row in said.collect() for name, value in json.loads(row[0]).items()}
    for name in ("allowed", "denied", "disagree", "not_known"):
        found[name] = found[name] or 0
    for name in ("first", "last"):
        found[name] = _time(found[name])
    for name in ("brokers", "damages"):
        found[name] = tuple(found[name])
    return Summary(**found, later=later_in(tables))


def _said(table: DataFrame, **columns: Column) -> DataFrame:
    """One row, as JSON, so that what is read off all tables comes in one go."""
    from pyspark.sql import functions as f

    named = f.struct(*(column.alias(name) for name, column in columns.items()))
    return table.agg(f.to_json(named, {"ignoreNullFields": "false"}))


def _time(seconds: int | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
