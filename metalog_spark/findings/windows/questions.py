"""The distinct questions of a window, and the ACLs by which workers decide the questions.

Requests repeat, so the workers decide each distinct question only once.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from authorizer.analysis.explain.names import nearest_name
from authorizer.config import AuthorizerConfig, read_kafka_version
from authorizer.engine.bulk import BulkDecider, RequestColumns
from authorizer.engine.index import AclIndex
from metalog.acl import Acl, words_of
from metalog_spark.findings.usage.acl_lifetimes import acl_of
from metalog_spark.findings.windows.answers import askable
from metalog_spark.findings.windows.pending import with_pending
from metalog_spark.findings.windows.window import usage_in
from metalog_spark.store.arrow import Mapped, batch_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from metalog_spark.findings.windows.window import Window
    from metalog_spark.store.table_store import Tables

_PRINCIPAL: Final = "principal STRING"
QUESTION_COLUMNS: Final = ("principal", "host", "operation", "resource_type", "resource_name")


def questions_in(tables: Tables, window: Window, *, waiting: bool = False) -> DataFrame:
    """A row for each distinct question and broker's ``result``, with the number and the times of
    the requests. With ``waiting``, the rows also count requests that USAGE does not have yet."""
    from pyspark.sql import functions as f

    usage = usage_in(tables, window)
    return (
        askable(with_pending(usage, tables) if waiting else usage)
        .groupBy(*QUESTION_COLUMNS, "result")
        .agg(
            f.sum("requests").alias("requests"),
            f.unix_micros(f.min("first_time")).alias("first_us"),
            f.unix_micros(f.max("last_time")).alias("last_us"),
        )
    )


def nearest_allowed(tables: Tables, window: Window, wanted: Collection[str]) -> set[str]:
    """A few principals with allowed requests: those in ``wanted``, and those with a name similar to
    a name in ``wanted``."""
    allowed = questions_in(tables, window, waiting=True).where("result = 'ALLOWED'")
    principals = allowed.select("principal").distinct().mapInArrow(_nearing(wanted), _PRINCIPAL)
    return {row.principal for row in principals.distinct().collect()}


def _nearing(wanted: Collection[str]) -> Mapped:
    def nearing(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        nearest: set[str] = set()
        for batch in batches:
            there = nearest.union(batch.column(0).to_pylist())
            near = (name if name in there else nearest_name(name, there) for name in wanted)
            nearest = {name for name in near if name is not None}
        yield batch_of([(name,) for name in sorted(nearest)], _PRINCIPAL)

    return nearing


class Rules(NamedTuple):
    """ACLs and a configuration, in the form that Spark sends to workers."""

    acls: bytes
    super_users: tuple[str, ...]
    allow_everyone: bool
    kafka_version: str

    @property
    def opened(self) -> Opened:
        """The rules with an index."""
        return _opened(self)


class Opened(NamedTuple):
    acls: tuple[Acl, ...]
    acl_index: AclIndex
    config: AuthorizerConfig
    decider: BulkDecider


def rules(acls: Iterable[Acl], config: AuthorizerConfig) -> Rules:
    text = json.dumps([words_of(acl) for acl in acls], ensure_ascii=False, separators=(",", ":"))
    return Rules(
        zlib.compress(text.encode(), 1),
        tuple(sorted(config.super_users)),
        config.allow_everyone,
        config.kafka.value,
    )


@lru_cache(maxsize=4)
def _opened(of: Rules) -> Opened:
    acls = tuple(map(acl_of, json.loads(zlib.decompress(of.acls))))
    kafka = read_kafka_version(of.kafka_version)
    config = AuthorizerConfig(frozenset(of.super_users), of.allow_everyone, kafka_version=kafka)
    index = AclIndex.of(acls)
    return Opened(acls, index, config, BulkDecider(index, config))


def question_columns(batch: pa.RecordBatch) -> RequestColumns:
    """The first columns of ``batch``, which are ``QUESTION_COLUMNS``."""
    return RequestColumns(
        *(batch.column(place).to_pylist() for place in range(len(QUESTION_COLUMNS)))
    )
