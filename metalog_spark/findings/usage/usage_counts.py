"""Counts the uses of each ACL in a window, on the workers.

A use of an ACL is a request that the ACL decided, if the broker gave the same answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Final, NamedTuple

from authorizer.engine.decide import SUPER_USER
from authorizer.kafka_version import KafkaVersion
from metalog.acl import Acl, PatternType
from metalog_spark.findings.usage.acl_lifetimes import AclLifetimes
from metalog_spark.findings.usage.usage_classes import Count, Request, Tally, UsageKind, tally
from metalog_spark.findings.windows.answers import askable
from metalog_spark.findings.windows.pending import uncounted_in, waiting_in, with_pending
from metalog_spark.findings.windows.questions import QUESTION_COLUMNS
from metalog_spark.findings.windows.repeated import repeated_in, with_a_change
from metalog_spark.findings.windows.state import config_now, packed_in
from metalog_spark.findings.windows.window import usage_in
from metalog_spark.store.arrow import Mapped, batch_of, rows_of
from metalog_spark.store.derived_values import kept_until_commit
from metalog_spark.store.tables import POSSIBLE, USAGE

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from metalog_spark.findings.windows.window import Window
    from metalog_spark.store.table_store import Tables

_COLUMNS: Final = (
    *QUESTION_COLUMNS,
    "result",
    "log_offset",
    "decided",
    "acl_id",
    "known",
    "requests",
    "unix_micros(first_time) AS first_us",
    "unix_micros(last_time) AS last_us",
    f"decided_rule <=> '{SUPER_USER}' AS was_super",
    "waits",
    "possible",
    "begins",
)
_TALLY: Final = (
    "acl BIGINT, kind BIGINT, by BIGINT, requests BIGINT, first_us BIGINT, last_us BIGINT"
)


class Counted(NamedTuple):
    """Every ACL that ever existed, with its counts. The size depends only on the number of ACLs."""

    lifetimes: AclLifetimes
    tally: Tally

    @property
    def uses(self) -> Mapping[Acl, Count]:
        """Counts of the requests that each ACL decided, without ACLs that decided none."""
        return {
            self.lifetimes.acls[number]: count
            for (number, kind, _), count in self.tally.items()
            if kind is UsageKind.DECIDED
        }


@kept_until_commit
def counted(tables: Tables, window: Window) -> Counted:
    from pyspark.sql import functions as f

    data = packed_in(tables)
    config = config_now(tables)
    kafka, super_users = config.kafka, sorted(config.super_users)
    was_super = f.col("decided_rule").eqNullSafe(SUPER_USER) & ~f.col("principal").isin(super_users)
    is_relevant = f.expr("acl_id IS NOT NULL OR NOT known OR decided <> result OR waits")
    requests = askable(with_pending(usage_in(tables, window), tables))
    requests = with_possible(requests, tables, window).na.fill(False, ["possible", "begins"])
    is_relevant |= f.col("possible") | was_super
    relevant = requests.where(is_relevant)
    parts = relevant.selectExpr(*_COLUMNS).mapInArrow(_counter(data, kafka), _TALLY)
    total = parts.groupBy("acl", "kind", "by").agg(
        f.sum("requests"), f.min("first_us"), f.max("last_us")
    )
    tally = {(acl, UsageKind(kind), by): Count(*count) for acl, kind, by, *count in total.collect()}
    return Counted(AclLifetimes.of(data, kafka), tally)


def _counter(data: bytes, kafka: KafkaVersion) -> Mapped:
    def counted(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        counts = tally(
            AclLifetimes.of(data, kafka),
            (request for batch in batches for request in _requests(batch)),
        )
        yield batch_of(
            [(acl, kind.value, by, *count) for (acl, kind, by), count in counts.items()], _TALLY
        )

    return counted


def _requests(batch: pa.RecordBatch) -> Iterator[Request]:
    for principal, host, operation, kind, name, *rest in rows_of(batch):
        yield Request((principal, host, operation, kind, name), *rest)


def with_possible(usage: DataFrame, tables: Tables, window: Window) -> DataFrame:
    """Rows of ``usage``, and rows of possible questions with ``possible`` true and no decision.

    A possible question is another reading of an ambiguous audit line, or a reading of a half line.
    Questions outside of ``window`` are left out if no request waits or is uncounted. Questions with
    the second time of a repeated hour are left out if the ACLs and the configuration did not change
    in that hour. ``begins`` is as in ``AclLifetimes.could_match``.
    """
    from pyspark.sql import functions as f

    if not tables.has(POSSIBLE):
        return usage.withColumns({"possible": f.lit(False), "begins": f.lit(False)})
    spans = with_a_change(tables, repeated_in(tables, *window))
    shared = [name for name in USAGE.columns if name in POSSIBLE.columns]
    time, found = f.unix_micros("time"), tables.read(POSSIBLE)
    if waiting_in(tables) is None and uncounted_in(tables) is None:
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
