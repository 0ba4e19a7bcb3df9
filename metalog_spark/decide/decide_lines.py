"""Decides requests in the worker that has read them from audit lines.

One write stores the rows of DECISIONS and the side rows. A side row has no day, and its kind is
in ``request_name``. This module must not know how a line is read, nor Spark.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metalog.acl import PatternType
from metalog_spark.decide.decide_worker import ANSWERS, BETWEEN_WORDS, DecideWorker
from metalog_spark.decide.line_sums import SplitSums
from metalog_spark.ingest.lines.audit_log import SCHEMA, ReadSplit

ALIKE: Final = (
    "principal", "host", "operation", "resource_type", "resource_name", "pattern_type",
    "result", "log_offset", "decided", "decided_rule", "acl_id", "known", "day",
)  # fmt: skip
"""Requests with equal values in these columns share a row of USAGE."""
AGGREGATED: Final = ("requests", "first_time", "last_time")
_AGGREGATIONS: Final = list(zip(AGGREGATED, ("sum", "min", "max"), strict=True))
_REQUESTS_PER_SUM, _FEW_SUMS = 3, 1 << 16
"""Up to ``_FEW_SUMS`` sums are always yielded. More sums are yielded only if each stands for at
least ``_REQUESTS_PER_SUM`` requests on average, because a sum costs more than a row. Other sums are
dropped, and their days are ``uncounted``."""
_MOST_SUMS: Final = 1 << 18
"""If a task holds more sums, the sums of equal requests are added up. If more than half of
``_MOST_SUMS`` are left, all sums are yielded or dropped."""
_REQUEST: Final = SCHEMA.names[: SCHEMA.names.index("day")]
ROWS: Final = pa.schema(
    [
        *(SCHEMA.field(name) for name in _REQUEST),
        ("log_offset", pa.int64()),
        ("decided", pa.string()),
        ("decided_rule", pa.string()),
        ("acl_id", pa.string()),
        ("known", pa.bool_()),
        ("disagrees", pa.bool_()),
        SCHEMA.field("day"),
    ]
)
"""The columns of DECISIONS."""
TEXT, REASON, KIND = "resource_name", "rule", "request_name"
"""The columns in which a side row has its text (a rejected line, or a split's sums in JSON), the
reason of a rejected line, and its kind."""
ZONE: Final = "rule"
"""The column of a possible request's time zone."""
COUNT, LAST_US = "line", "rule"
"""The columns of a sum: the number of requests, and the time of the last request."""
DAY: Final = "line"
"""The column of an uncounted day, as days since 1970."""
_RESULTS, _RULES = (pa.array([*words, None]) for words in zip(*ANSWERS, strict=True))
_NAMES: Final = ("principal", "host", "resource_name")
_WORDS: Final = ("operation", "resource_type", "pattern_type")


class UsageSums:
    """Counts equal requests of a task, so that no later job counts all rows. ``uncounted`` has the
    days (as days since 1970) whose requests a later job must count."""

    def __init__(self) -> None:
        self.uncounted: set[int] = set()
        self._kept: list[pa.Table] = []
        self._sums = self._requests = 0

    def add(self, rows: pa.RecordBatch) -> Iterator[pa.Table]:
        """Add rows of DECISIONS. Too many sums are yielded, as columns ``ALIKE`` and
        ``AGGREGATED``, or dropped."""
        if self._days(rows) <= self.uncounted:
            return
        self._keep(_summed(rows), len(rows))
        if self._sums > _MOST_SUMS:
            requests, sums = self._requests, self._take_all()
            if len(sums) > _MOST_SUMS // 2:
                yield from self._yield_or_drop(sums, requests)
            else:
                self._keep(sums, requests)

    def finish(self) -> Iterator[pa.Table]:
        requests = self._requests
        if requests:
            yield from self._yield_or_drop(self._take_all(), requests)

    def _keep(self, sums: pa.Table, requests: int) -> None:
        self._kept.append(sums)
        self._sums += len(sums)
        self._requests += requests

    def _take_all(self) -> pa.Table:
        whole = pa.concat_tables(self._kept)
        if len(self._kept) > 1:
            whole = whole.group_by(list(ALIKE), use_threads=False).aggregate(_AGGREGATIONS)
            whole = whole.select([*ALIKE, *("_".join(each) for each in _AGGREGATIONS)])
            whole = whole.rename_columns([*ALIKE, *AGGREGATED])
        self._kept, self._sums, self._requests = [], 0, 0
        return whole

    def _yield_or_drop(self, sums: pa.Table, requests: int) -> Iterator[pa.Table]:
        if len(sums) > max(_FEW_SUMS, requests // _REQUESTS_PER_SUM):
            self.uncounted |= self._days(sums)
        else:
            yield sums

    @staticmethod
    def _days(rows: pa.RecordBatch | pa.Table) -> set[int]:
        return set(rows["day"].cast(pa.int32()).unique().to_pylist())


def _summed(rows: pa.RecordBatch) -> pa.Table:
    keys = {name: _key(rows[name]) for name in ALIKE}
    places = pa.array(np.arange(len(rows)))
    table = pa.table({**keys, "place": places, "time": rows["time"]})
    wanted = [("place", "min"), ("place", "count"), ("time", "min"), ("time", "max")]
    found = table.group_by(list(ALIKE), use_threads=False).aggregate(wanted).combine_chunks()
    firsts = rows.take(found["place_min"].combine_chunks())
    columns = {name: firsts[name] for name in ALIKE}
    sums = (found["_".join(each)] for each in wanted[1:])
    return pa.table({**columns, **dict(zip(AGGREGATED, sums, strict=True))})


def _key(column: pa.Array) -> pa.Array:
    return column.dictionary_encode().indices if pa.types.is_string(column.type) else column


class SideKind(StrEnum):
    """SPLIT rows have the sums of a split, USAGE rows a sum of equal requests, UNCOUNTED rows a day
    of ``UsageSums.uncounted``."""

    REJECTED = "rejected"
    POSSIBLE = "possible"
    SPLIT = "split"
    USAGE = "usage"
    UNCOUNTED = "uncounted"


def decided_lines(
    batches: Iterable[pa.RecordBatch], worker: DecideWorker
) -> Iterator[pa.RecordBatch]:
    """Turns ``batches`` of ``audit_log.SCHEMA`` into rows of DECISIONS and side rows. All rows of a
    batch have one kind."""
    sums, usage = SplitSums(), UsageSums()
    for batch in batches:
        if _has(batch, "lines"):
            yield _split_rows(batch, sums)
        elif _has(batch, "reason"):
            sums.add_rejected(batch)
            texts = {TEXT: batch["text"], REASON: batch["reason"]}
            where = {name: batch[name] for name in ("file", "line")}
            yield _side_rows(len(batch), SideKind.REJECTED, where | texts)
        elif _has(batch, "possible"):
            request_columns = {name: batch[name] for name in _REQUEST}
            yield _side_rows(len(batch), SideKind.POSSIBLE, request_columns | {ZONE: batch["zone"]})
        else:
            sums.add_requests(batch)
            request = (batch[name] for name in _REQUEST)
            columns = [*request, *_decisions(batch, worker), batch["day"]]
            rows = pa.record_batch(columns, schema=ROWS)
            yield rows
            yield from _usage_rows(usage.add(rows))
    yield from _usage_rows(usage.finish())
    days = {DAY: pa.array(sorted(usage.uncounted), pa.int64())}
    yield _side_rows(len(usage.uncounted), SideKind.UNCOUNTED, days)


def _usage_rows(found: Iterable[pa.Table]) -> Iterator[pa.RecordBatch]:
    for sums in found:
        [batch] = sums.combine_chunks().to_batches()
        columns = {name: batch[name] for name in ALIKE}
        last_us = batch["last_time"].cast(pa.int64()).cast(pa.string())
        columns |= {"time": batch["first_time"], COUNT: batch["requests"], LAST_US: last_us}
        yield _side_rows(len(batch), SideKind.USAGE, columns)


def _has(batch: pa.RecordBatch, name: str) -> bool:
    return bool(batch[name].null_count < len(batch))


def _side_rows(size: int, kind: SideKind, columns: Mapping[str, pa.Array]) -> pa.RecordBatch:
    found = {**columns, KIND: pa.repeat(kind.value, size), "day": pa.nulls(size, pa.date32())}
    arrays = [found.get(field.name, pa.nulls(size, field.type)) for field in ROWS]
    return pa.record_batch(arrays, schema=ROWS)


def _split_rows(batch: pa.RecordBatch, sums: SplitSums) -> pa.RecordBatch:
    texts = []
    for row in batch.select(["file", "start", *ReadSplit._fields]).to_pylist():
        file, start = row.pop("file"), row["start"]
        texts.append(json.dumps(row | sums.taken(file, start)))
    columns = {"file": batch["file"], "broker": batch["broker"]}
    return _side_rows(len(batch), SideKind.SPLIT, columns | {TEXT: pa.array(texts)})


def _decisions(batch: pa.RecordBatch, worker: DecideWorker) -> list[pa.Array]:
    names = [batch[name].cast(pa.binary()) for name in _NAMES]
    answers = worker.decide_parts([*names, _words(batch)], batch["time"])
    offsets, answer, ids = answers.flatten()
    numbers = answer.to_numpy()
    places, known = pa.array(numbers >> 1), pa.array(numbers & 1 == 1)
    results, rules = _RESULTS.take(places), _RULES.take(places)
    disagrees = pc.if_else(known, pc.not_equal(results, batch["result"]), None)
    return [offsets, results, rules, ids, known, disagrees]


def _words(batch: pa.RecordBatch) -> pa.Array:
    """Operation and resource type as one column; empty if the pattern is not LITERAL."""
    coded = [batch[name].dictionary_encode() for name in _WORDS]
    operations, types, patterns = (each.dictionary.to_pylist() for each in coded)
    words = [
        BETWEEN_WORDS.join((operation.encode(), kind.encode()))
        if pattern == PatternType.LITERAL.name
        else b""
        for operation in operations
        for kind in types
        for pattern in patterns
    ]
    places = np.zeros(len(batch), np.int64)
    for each in coded:
        places = places * len(each.dictionary) + each.indices.to_numpy()
    return pa.array(words, pa.binary()).take(pa.array(places))
