"""Adds facts that one line alone does not show: the line's number in its file, a record with
several lines, and an incomplete last line.

A query over all rows finds these facts, so the splits do not matter. This module must not know
files, nor what is done with half lines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from authorizer.audit.line import HEAD
from metalog_spark.ingest.lines.audit_lines import CUT, LINE_FEED
from metalog_spark.ingest.lines.audit_log import MARK_SURPLUS
from metalog_spark.ingest.lines.line_forms import Forms, divided, earliest, forms_in
from metalog_spark.ingest.requests import IS_REQUEST

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_MOST_LINES: Final = 1_024
"""The last line of a record can be at most this many lines after the first line."""
_MOST_SENT: Final = 200_000
"""At most this many rows are broadcast to every task."""
_END: Final = " with resourceRefCount = "
_LAST_LINE: Final = (
    f"reason IS NOT NULL AND contains(text, '{_END}') AND NOT contains(text, '{HEAD}')"
)
IS_CUT: Final = f"(sum(bytes) > max(size) OR sum(bytes) = max(size) - {MARK_SURPLUS})"
"""Aggregated over the splits of a file: whether the file ends within a line."""
_FIRST_LINE: Final = f"{IS_REQUEST} AND line IS NOT NULL AND rule IS NULL"


def ends_record(rejected: str) -> bool:
    return _END in rejected and HEAD not in rejected


def resolved(read: DataFrame, known: Forms) -> tuple[DataFrame, Forms]:
    """``read`` (rows of ``READ``) with half lines rejected, and lines numbered in their file; and
    the line forms (``line_forms.FORMS``) of ``known`` and ``read``."""
    forms, lacks_rules = forms_in(read)
    forms = earliest(known, forms)
    flags = _flags(read)
    if flags.has_splits:
        read = _numbered(read)
    if lacks_rules:
        broken = broken_lines(read) if flags.has_ends or flags.may_be_cut else None
        read = divided(read, forms, broken)
    return read, forms


def _flags(read: DataFrame) -> Any:
    """One row, in which null means false. ``has_ends``: a line ends a record that begins in another
    line. ``may_be_cut``: a file can end within a line."""
    return read.selectExpr(
        "bool_or(start > 0) AS has_splits",
        f"bool_or({_LAST_LINE}) AS has_ends",
        "bool_or(lines IS NOT NULL AND bytes <> size) AS may_be_cut",
    ).first()


def _numbered(read: DataFrame) -> DataFrame:
    from pyspark.sql import functions as f

    before = "sum(lines) OVER (PARTITION BY file ORDER BY start ROWS BETWEEN UNBOUNDED PRECEDING"
    splits = read.where("lines IS NOT NULL")
    firsts = splits.selectExpr("file", "start", f"{before} AND 1 PRECEDING) AS before")
    firsts = firsts.where("before IS NOT NULL")
    rows = read.join(f.broadcast(firsts), ["file", "start"], "left")
    numbers = f.col("line") + f.coalesce("before", f.lit(0))
    return rows.withColumn("line", numbers).select(*read.columns)


def broken_lines(read: DataFrame) -> DataFrame:
    """The ``file`` and ``line`` of each broken line, with the reason (``why``). The reason is null
    for a line that can be a part of a name."""
    from pyspark.sql import functions as f

    edges = read.where(f"({_LAST_LINE}) OR ({_FIRST_LINE})").selectExpr(
        "file", "line", f"({_LAST_LINE}) AS is_end", f"CASE WHEN {_FIRST_LINE} THEN line END AS own"
    )
    last = "last_value(own) IGNORE NULLS OVER (PARTITION BY file ORDER BY line) AS begin"
    pairs = edges.selectExpr("file", "line AS end", "is_end", last).where(
        f"is_end AND end - begin BETWEEN 1 AND {_MOST_LINES}"
    )
    begins = pairs.selectExpr("file", "begin AS line", f"'{LINE_FEED}' AS why")
    within = pairs.where("end - begin > 1").selectExpr(
        "file", "explode(sequence(begin + 1, end - 1)) AS line", "CAST(NULL AS STRING) AS why"
    )
    sums = f.expr("sum(lines) AS line"), f.expr(f"{IS_CUT} AS is_cut")
    cut = read.where("lines IS NOT NULL").groupBy("file").agg(*sums).where("is_cut")
    marks = begins.unionAll(within).unionAll(cut.selectExpr("file", "line", f"'{CUT}' AS why"))
    marks = marks.groupBy("file", "line").agg(f.min("why").alias("why"))
    is_small = marks.limit(_MOST_SENT + 1).count() <= _MOST_SENT
    return f.broadcast(marks) if is_small else marks
