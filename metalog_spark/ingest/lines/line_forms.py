"""Finds half lines by the form of other lines in the same broker's log.

Lines of Kafka 2.4 or later name the request after the resource, and lines of StandardAuthorizer
also name a rule. So half a line can look like a whole line of an older Kafka. A shorter line is
half a line if its time is not before the broker's first line with the longer form. This module must
not know findings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from metalog_spark.ingest.requests import IS_REQUEST, READ
from metalog_spark.store.arrow import frame_of
from metalog_spark.store.tables import REQUESTS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

FORMS: Final = "forms"
"""The folder's JSON value with the line forms. For each broker: the first time of a line with a
request name, and of a line with a rule, in microseconds since 1970, or null."""
HALF: Final = "half a line: it lacks a part that an earlier line of its broker has"
Forms = Mapping[str, Sequence[int | None]]
_LINE: Final = f"{IS_REQUEST} AND line IS NOT NULL"
_LACKS_REQUEST: Final = "request_name IS NULL"


def forms_in(read: DataFrame) -> tuple[Forms, bool]:
    """The line forms in ``read`` (rows of ``requests.READ``), and whether any line has no rule.
    Ambiguous rows are ignored, because a hostile name can have forged them."""
    from pyspark.sql import functions as f

    time, has_rule = f.unix_micros("time"), f.col("rule").isNotNull()
    is_sure = ~f.col("ambiguous") & f.col("request_name").isNotNull()
    found = (
        read.where(_LINE)
        .groupBy("broker")
        .agg(
            f.min(f.when(is_sure, time)).alias("request"),
            f.min(f.when(is_sure & has_rule, time)).alias("rule"),
            f.count_if(~has_rule).alias("without"),
        )
        .collect()
    )
    forms = {row["broker"]: (row["request"], row["rule"]) for row in found if row["request"]}
    return forms, any(row["without"] for row in found)


def earliest(*forms: Forms) -> Forms:
    """The union of ``forms``, with the earliest time of each form."""
    found: dict[str, list[int | None]] = {}
    for broker in sorted({name for each in forms for name in each}):
        pairs = [each[broker] for each in forms if broker in each]
        found[broker] = [_first(pair[place] for pair in pairs) for place in range(2)]
    return found


def _first(times: Iterable[int | None]) -> int | None:
    return min((time for time in times if time is not None), default=None)


def is_half(forms: Forms) -> Column:
    """Whether a row of REQUESTS is from half a line. False for rows without a line number."""
    from pyspark.sql import functions as f

    limits = [_by_broker(forms, place) for place in range(2)]
    limit = f.when(f.expr(_LACKS_REQUEST), limits[0]).otherwise(limits[1])
    is_log = f.col("line").isNotNull() & f.col("rule").isNull()
    return f.coalesce(is_log & (f.unix_micros("time") >= limit), f.lit(False))


def _by_broker(forms: Forms, place: int) -> Column:
    from pyspark.sql import functions as f

    known = [(name, pair[place]) for name, pair in forms.items() if pair[place] is not None]
    if not known:
        return f.lit(None).cast("bigint")
    pairs = (f.lit(each) for pair in known for each in pair)
    return f.try_element_at(f.create_map(*pairs), f.col("broker"))


def divided(read: DataFrame, forms: Forms, broken: DataFrame | None = None) -> DataFrame:
    """``read`` (rows of ``requests.READ``), in which each half line becomes a rejected line and a
    possible request. ``broken`` is the result of ``broken_lines``. Its lines without a reason
    (``why``) become ambiguous. Its lines with a reason, and without a rule, are half lines."""
    from pyspark.sql import functions as f

    half = is_half(forms) & f.expr(_LINE)
    reason: Column = f.lit(HALF)
    rows = read
    if broken is not None:
        rows = read.join(broken.withColumn("is_marked", f.lit(True)), ["file", "line"], "left")
        half |= f.expr(f"why IS NOT NULL AND rule IS NULL AND {_LINE}")
        reason = f.coalesce("why", reason)
        may_be_part = f.expr(f"coalesce(is_marked AND why IS NULL AND {_LINE}, false)")
        rows = rows.withColumn("ambiguous", f.col("ambiguous") | may_be_part)
    parts = f.when(half, f.array(f.lit("rejected"), f.lit("possible"))).otherwise(
        f.array(f.lit("whole"))
    )
    rows = rows.withColumn("part", f.explode(parts))
    part, columns = f.col("part"), dict[str, Any]()
    kept = ("file", "line")
    is_rejected, is_possible = part == "rejected", part == "possible"
    for name in (each for each in REQUESTS.columns if each not in kept):
        columns[name] = f.when(~is_rejected, f.col(name))
    lacks_request = f.expr(_LACKS_REQUEST)
    ends_in_pattern_type = f.lit("LITERAL:").startswith(f.col("resource_name"))
    columns["resource_name"] = f.when(is_possible & lacks_request & ends_in_pattern_type, "").when(
        ~is_rejected, f.col("resource_name")
    )
    columns["pattern_type"] = f.when(is_possible & lacks_request, "PREFIXED").when(
        ~is_rejected, f.col("pattern_type")
    )
    columns["text"] = f.when(is_rejected, f.coalesce("text", _written())).when(
        part == "whole", f.col("text")
    )
    columns["reason"] = f.when(is_rejected, reason).when(part == "whole", f.col("reason"))
    columns["possible"] = f.when(is_possible, f.lit(True)).otherwise(f.col("possible"))
    return rows.withColumns(columns).select(*read.columns)


def _written() -> Column:
    """The text of a line, rebuilt from a row of REQUESTS."""
    from pyspark.sql import functions as f

    return f.expr(
        "concat('Principal = ', principal, ' is ', initcap(result), ' operation = ', operation,"
        " ' from host = ', host, ' on resource = ', resource_type, ':', pattern_type, ':',"
        " resource_name, coalesce(concat(' for request = ', request_name), ''),"
        " coalesce(concat(' with resourceRefCount = ', resource_reference_count), ''))"
    )


def as_read(requests: DataFrame) -> DataFrame:
    nothing = frame_of(requests.sparkSession, [], READ)
    return nothing.unionByName(requests, allowMissingColumns=True)
