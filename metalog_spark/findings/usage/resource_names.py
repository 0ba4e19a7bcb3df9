"""Counts the known names of resources. The names stay on the workers, which return only counts.

A name is known if an allowed request or a LITERAL ACL has it. Denied requests do not count, because
clients can invent names. This module must not know how ACLs are proposed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from metalog.acl import WILDCARD, Acl, PatternType, ResourceType
from metalog_spark.findings.usage.minimal_cover import PREFIXED_TYPES, prefixes
from metalog_spark.findings.usage.name_intervals import Ranks, edges_of, places, ranked
from metalog_spark.store.arrow import Mapped, batch_of, frame_of, rows_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_NAMES: Final = "resource_type STRING, resource_name STRING"
_UNDER: Final = "resource_type STRING, prefix STRING, known BIGINT"
_PLACED: Final = "resource_type STRING, place BIGINT, names BIGINT"


def resource_names(questions: DataFrame, acls: Iterable[Acl]) -> DataFrame:
    """Rows of ``_NAMES``: the distinct names of allowed requests and of LITERAL ACLs."""
    allowed = questions.where("result = 'ALLOWED'").select("resource_type", "resource_name")
    named = {
        (acl.resource_type.name, acl.resource_name)
        for acl in acls
        if acl.pattern_type is PatternType.LITERAL and acl.resource_name != WILDCARD
    }
    return allowed.unionAll(frame_of(questions.sparkSession, sorted(named), _NAMES)).distinct()


def names_under(known: DataFrame) -> DataFrame:
    """Rows of ``_UNDER``. A prefix's sum of ``known`` is the number of known names under it."""
    from pyspark.sql import functions as f

    kinds = [kind.name for kind in PREFIXED_TYPES]
    return known.where(f.col("resource_type").isin(kinds)).mapInArrow(_counting, _UNDER)


def _counting(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        counts = Counter(
            (kind, prefix) for kind, name in rows_of(batch) for prefix in prefixes(name)
        )
        yield batch_of([(*under, count) for under, count in counts.items()], _UNDER)


def ranks_in(known: DataFrame, acls: Iterable[Acl]) -> dict[ResourceType, Ranks]:
    """The ``Ranks`` that ``name_intervals.allowed_pairs`` needs for ``acls``. Their size depends
    only on ``acls``."""
    from pyspark.sql import functions as f

    edges = edges_of(acls)
    counted = known.mapInArrow(_placing(edges), _PLACED).groupBy("resource_type", "place")
    counts: dict[str, dict[int, int]] = {}
    for kind, place, count in counted.agg(f.sum("names")).collect():
        counts.setdefault(kind, {})[place] = count
    return {kind: ranked(texts, counts.get(kind.name, {})) for kind, texts in edges.items()}


def _placing(edges: Mapping[ResourceType, Sequence[str]]) -> Mapped:
    by_word = {kind.name: texts for kind, texts in edges.items()}

    def placing(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            names: dict[str, list[str]] = {}
            for kind, name in rows_of(batch):
                names.setdefault(kind, []).append(name)
            rows = [
                (kind, *counted)
                for kind, own in names.items()
                if kind in by_word
                for counted in places(own, by_word[kind]).items()
            ]
            yield batch_of(rows, _PLACED)

    return placing
