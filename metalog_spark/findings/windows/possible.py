"""Possible requests: other readings of ambiguous audit lines, and readings of half lines.

They have no decision. An ACL that could have decided a possible request, at whatever time, is not
called unused.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from metalog.acl import PatternType
from metalog_spark.findings.windows.pending import pending_in, uncounted_in
from metalog_spark.findings.windows.repeated import repeated_in, with_a_change
from metalog_spark.store.tables import POSSIBLE, USAGE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from metalog_spark.findings.windows.window import Window
    from metalog_spark.store.table_store import Tables


def with_possible(usage: DataFrame, tables: Tables, window: Window) -> DataFrame:
    """Rows of ``usage``; and the possible questions of the window or of an unknown time, with
    ``possible`` true. While requests wait or are not counted, possible questions of any time are
    included. ``begins`` is as in ``AclLifetimes.could_match``. If a line's clock time came twice,
    the second time counts only if the ACLs or the configuration may have changed in between."""
    from pyspark.sql import functions as f

    if not tables.has(POSSIBLE):
        return usage.withColumns({"possible": f.lit(False), "begins": f.lit(False)})
    spans = with_a_change(tables, repeated_in(tables, *window))
    shared = [name for name in USAGE.columns if name in POSSIBLE.columns]
    time, found = f.unix_micros("time"), tables.read(POSSIBLE)
    if pending_in(tables) is None and uncounted_in(tables) is None:
        is_inside = (time >= f.lit(window.start_us)) & (time < f.lit(window.end_us))
        found = found.where(f.col("time").isNull() | is_inside)
    changed = ((time >= f.lit(span.set_back_us)) & (time < f.lit(span.end_us)) for span in spans)
    found = found.where(reduce(or_, changed, f.col("zone").isNull()))
    questions = found.groupBy(*shared).agg(
        f.count("*").alias("requests"),
        f.coalesce(f.min("time"), f.timestamp_micros(f.lit(window.start_us))).alias("first_time"),
        f.coalesce(f.max("time"), f.timestamp_micros(f.lit(window.start_us))).alias("last_time"),
        f.lit(True).alias("possible"),
    )
    begins = f.col("pattern_type") == PatternType.PREFIXED.name
    questions = questions.withColumns({"begins": begins, "waits": f.lit(False)})
    return usage.unionByName(questions, allowMissingColumns=True)
