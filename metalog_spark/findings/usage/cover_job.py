"""Finds the minimal cover, a small set of ALLOWs for a window's allowed requests, with Spark.

The workers count names by principal and prefix. The driver holds ACLs and sums.
``minimal_cover`` has the rules.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from authorizer.config import AuthorizerConfig
from authorizer.trace import is_allow
from metalog.acl import WILDCARD, Acl, Operation, ResourceType, matches_several_names
from metalog_spark.findings.usage.acl_lifetimes import matching
from metalog_spark.findings.usage.minimal_cover import (
    IMPLIED_BY_NONE,
    PREFIXED_TYPES,
    Cover,
    CoverLimits,
    Needs,
    is_expressible,
    prefixes,
    staying,
)
from metalog_spark.findings.usage.resource_names import names_under
from metalog_spark.findings.windows.questions import (
    QUESTION_COLUMNS,
    Rules,
    question_columns,
    rules,
)
from metalog_spark.store.arrow import Mapped, batch_of, frame_of, rows_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_NAMED: Final = ("principal", "host", "resource_type", "resource_name")
_DONE: Final = (
    f"{', '.join(f'{name} STRING' for name in _NAMED)}, by STRING, done BIGINT, requests BIGINT"
)
_OF: Final = ("principal", "host", "resource_type", "operation")
_PREFIX: Final = ", ".join(f"{name} STRING" for name in (*_OF, "prefix"))
_COUNTED: Final = f"{_PREFIX}, wanted BIGINT, used BIGINT"
_NESTED: Final = f"{_PREFIX}, around STRING"
_LITERAL: Final = ", ".join(f"{name} STRING" for name in (*_OF, "resource_name"))
_PRINCIPAL: Final = "principal STRING"


class Total(NamedTuple):
    """``used`` counts the pairs of a name and an operation that a principal used."""

    used: int = 0
    requests: int = 0


def done_in(questions: DataFrame, now: Rules, tasks: int) -> DataFrame:
    """Rows of ``_DONE`` in ``tasks`` partitions, about requests that brokers allowed and that
    ``now`` allows, without super users.

    ``done`` has a bit for each operation. ``host`` is the client's host if only ALLOWs that name a
    host allow the request, else ``*``. ``by`` is null if a LITERAL ALLOW can express the request,
    else the indexes in ``now`` of the ALLOWs that allow it.
    """
    from pyspark.sql import functions as f

    allowed = questions.where("result = 'ALLOWED'").select(*QUESTION_COLUMNS, "requests")
    rows = allowed.mapInArrow(_deciding(now), _DONE)
    by_name = rows.repartition(tasks, "principal", "resource_type", "resource_name")
    return by_name.groupBy(*_NAMED, "by").agg(
        f.bit_or("done").alias("done"), f.sum("requests").alias("requests")
    )


def _deciding(now: Rules) -> Mapped:
    def deciding(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        acls, index, config, decider = now.opened
        numbers = {acl: number for number, acl in enumerate(acls)}
        for batch in batches:
            questions = question_columns(batch)
            requests = batch.column(len(QUESTION_COLUMNS)).to_pylist()
            answers = decider.allowed(questions)
            rows = []
            for question, count, allowed in zip(
                zip(*questions, strict=True), requests, answers, strict=True
            ):
                principal, host, word, kind, name = question
                if not allowed or principal in config.super_users:
                    continue
                allows = [acl for acl in matching(index, question, config.kafka) if is_allow(acl)]
                wide = [acl for acl in allows if acl.host == WILDCARD]
                from_host = WILDCARD if wide or not allows else host
                operation = Operation[word]
                need = _needs(principal, from_host, kind, name, 1 << operation)
                by = None
                if not is_expressible(need.literal(operation)):
                    by = " ".join(str(numbers[acl]) for acl in wide or allows)
                rows.append((principal, from_host, kind, name, by, 1 << operation, count))
            yield batch_of(rows, _DONE)

    return deciding


def totals(done: DataFrame, principals: Iterable[str]) -> dict[str, Total]:
    """The totals of those ``principals`` that have rows in ``done``."""
    from pyspark.sql import functions as f

    by_name = done.groupBy("principal", "resource_type", "resource_name").agg(
        f.bit_count(f.bit_or("done")).alias("used"), f.sum("requests").alias("requests")
    )
    sums = by_name.groupBy("principal").agg(f.sum("used"), f.sum("requests"))
    named = frame_of(done.sparkSession, [(principal,) for principal in principals], _PRINCIPAL)
    joined = sums.join(named, "principal", "left_semi")
    return {principal: Total(*counts) for principal, *counts in _rows(joined)}


def cover(
    done: DataFrame, known: DataFrame, now: Rules, kept: Sequence[Acl], limits: CoverLimits
) -> list[Acl]:
    """The ALLOWs to propose in addition to ``kept``. ``done`` is the result of ``done_in``, and
    ``known`` the result of ``resource_names``. Persist ``done``, because Spark reads it several
    times."""
    stays = staying(_inexpressible(done, now), kept)
    proposed = list(stays)
    for operations in _operation_groups(now, limits):
        kept_rules = rules([*kept, *proposed], AuthorizerConfig())
        proposed += _prefixed(done, known, now, kept_rules, operations, limits)
    return [*proposed, *_literals(done, now, rules([*kept, *proposed], AuthorizerConfig()))]


def _operation_groups(now: Rules, limits: CoverLimits) -> list[Collection[Operation]]:
    """The operations whose prefixes are computed together. With slack, a PREFIXED ALLOW for READ
    also allows DESCRIBE on names that the principal never read. So implied operations come last."""
    are_prefixes_possible = any(
        acl.resource_type in PREFIXED_TYPES and matches_several_names(acl)
        for acl in now.opened.acls
        if is_allow(acl)
    )
    if not are_prefixes_possible or not limits.prefix_from:
        return []
    return [IMPLIED_BY_NONE, set(Operation) - IMPLIED_BY_NONE] if limits.slack else [set(Operation)]


def _inexpressible(done: DataFrame, now: Rules) -> set[frozenset[Acl]]:
    """The sets of ALLOWs in the column ``by`` of ``done``."""
    rows = done.where("by IS NOT NULL").select("by").distinct().collect()
    acls = now.opened.acls
    return {frozenset(acls[int(number)] for number in row.by.split()) for row in rows}


def _prefixed(
    done: DataFrame,
    known: DataFrame,
    now: Rules,
    kept: Rules,
    operations: Collection[Operation],
    limits: CoverLimits,
) -> list[Acl]:
    """PREFIXED ALLOWs for the shortest sufficient prefixes. The workers drop each longer prefix,
    because there can be too many prefixes for the driver."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    everybodys = Window.partitionBy("resource_type", "prefix")
    counted = (
        done.select(*_NAMED, "by", "done")
        .mapInArrow(_counting(now, kept, operations), _COUNTED)
        .unionByName(names_under(known), allowMissingColumns=True)
        .repartition("resource_type", "prefix")
        .groupBy("resource_type", "prefix", "principal", "host", "operation")
        .agg(*(f.sum(name).alias(name) for name in ("wanted", "used", "known")))
        .withColumn("known", f.sum("known").over(everybodys))
        .where(f.col("wanted") >= limits.prefix_from)
    )
    around = Window.partitionBy(*_OF, "around")
    shortest = (
        counted.select(*_OF, "prefix", "wanted", "used", "known")
        .mapInArrow(_sufficing(limits), _NESTED)
        .withColumn("suffices", f.bool_or(f.col("around") == f.col("prefix")).over(around))
        .where("suffices")
        .groupBy(*_OF, "prefix")
        .agg(f.min("around").alias("around"))
        .where("around = prefix")
    )
    return [
        _needs(principal, host, kind, prefix, 0).prefixed(Operation[operation], prefix)
        for principal, host, kind, operation, prefix in _rows(shortest.select(*_OF, "prefix"))
    ]


def _counting(now: Rules, kept: Rules, operations: Collection[Operation]) -> Mapped:
    def counting(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        cover = _cover(now, kept)
        for batch in batches:
            counts: dict[Acl, list[int]] = {}
            within_today: dict[Acl, bool] = {}
            for needs, is_literal in _needs_in(batch):
                if needs.resource_type not in PREFIXED_TYPES:
                    continue
                wanted = set(cover.needed(needs)) if is_literal else set()
                used = [operation for operation in operations if needs.has_done(operation)]
                for prefix in prefixes(needs.name):
                    for operation in used:
                        acl = needs.prefixed(operation, prefix)
                        if acl not in within_today:
                            within_today[acl] = cover.is_within_today(acl)
                        if within_today[acl]:
                            count = counts.setdefault(acl, [0, 0])
                            count[0] += operation in wanted
                            count[1] += 1
            rows = [(*_words(acl), *count) for acl, count in counts.items()]
            yield batch_of(rows, _COUNTED)

    return counting


def _sufficing(limits: CoverLimits) -> Mapped:
    """For each sufficient prefix, yield rows whose ``around`` is this prefix or a shorter one."""

    def sufficing(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = [
                (*of, prefix, around)
                for *of, prefix, wanted, used, known in rows_of(batch)
                if limits.suffice(wanted, used, known)
                for around in prefixes(prefix)
            ]
            yield batch_of(rows, _NESTED)

    return sufficing


def _literals(done: DataFrame, now: Rules, kept: Rules) -> Iterator[Acl]:
    expressible = done.where("by IS NULL").select(*_NAMED, "by", "done")
    needed = expressible.mapInArrow(_needing(now, kept), _LITERAL)
    for principal, host, kind, operation, name in _rows(needed):
        yield _needs(principal, host, kind, name, 0).literal(Operation[operation])


def _needing(now: Rules, kept: Rules) -> Mapped:
    def needing(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        cover = _cover(now, kept)
        for batch in batches:
            rows = [
                _words(needs.literal(operation))
                for needs, _ in _needs_in(batch)
                for operation in cover.needed(needs)
            ]
            yield batch_of(rows, _LITERAL)

    return needing


@lru_cache(maxsize=2)
def _cover(now: Rules, kept: Rules) -> Cover:
    allows = [acl for acl in now.opened.acls if is_allow(acl)]
    return Cover(allows, kept.opened.acls, now.opened.config.kafka)


def _needs_in(batch: pa.RecordBatch) -> Iterator[tuple[Needs, bool]]:
    """For each row of ``_NAMED``, ``by`` and ``done``: its needs, and whether LITERAL ALLOWs can
    express them."""
    for principal, host, kind, name, by, done in rows_of(batch):
        yield _needs(principal, host, kind, name, done), by is None


def _needs(principal: str, host: str, kind: str, name: str, done: int) -> Needs:
    return Needs(principal, host, ResourceType[kind], name, _operations(done))


@lru_cache(maxsize=1024)
def _operations(done: int) -> frozenset[Operation]:
    return frozenset(operation for operation in Operation if done >> operation & 1)


def _words(acl: Acl) -> tuple[str, ...]:
    kind, operation = acl.resource_type.name, acl.operation.name
    return acl.principal, acl.host, kind, operation, acl.resource_name


def _rows(found: DataFrame) -> Iterator[tuple[Any, ...]]:
    for batch in found.toArrow().to_batches():
        yield from rows_of(batch)
