"""Counts equal requests while a worker decides them, so that no later job counts all rows.

A task adds up its batches. If few of its requests are equal, a later job counts the requests of
these days from the rows, because a sum costs more than a row. This module must not know how a line
is read, nor Spark.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa

ALIKE: Final = (
    "principal", "host", "operation", "resource_type", "resource_name", "pattern_type",
    "result", "log_offset", "decided", "decided_rule", "acl_id", "known", "day",
)  # fmt: skip
"""The columns of DECISIONS in which the requests of a row of USAGE are equal."""
COUNTED: Final = ("requests", "first_time", "last_time")
_AGAIN: Final = list(zip(COUNTED, ("sum", "min", "max"), strict=True))
_FEWER, _FEW = 3, 1 << 16
"""Sums are yielded if each stands for ``_FEWER`` requests or more on average, or if there are at
most ``_FEW`` sums. Otherwise they are dropped, and their days are added to ``uncounted``."""
_MOST: Final = 1 << 18
"""If more sums than this wait for equal requests, they are added up. If more than half as many are
left, they no longer wait: they are yielded or dropped."""


class UsageSums:
    """The sums of a task. ``uncounted`` are the days, numbered from 1970, whose requests are not
    all in the sums."""

    def __init__(self) -> None:
        self.uncounted: set[int] = set()
        self._waiting: list[pa.Table] = []
        self._sums = self._requests = 0

    def add(self, rows: pa.RecordBatch) -> Iterator[pa.Table]:
        """Add rows of DECISIONS, and yield the sums that cannot wait, with the columns ``ALIKE``
        and ``COUNTED``."""
        if self._days(rows) <= self.uncounted:
            return
        self._wait(_summed(rows), len(rows))
        if self._sums > _MOST:
            requests, sums = self._requests, self._taken()
            if len(sums) > _MOST // 2:
                yield from self._counted(sums, requests)
            else:
                self._wait(sums, requests)

    def finish(self) -> Iterator[pa.Table]:
        """The sums that are left."""
        requests = self._requests
        if requests:
            yield from self._counted(self._taken(), requests)

    def _wait(self, sums: pa.Table, requests: int) -> None:
        self._waiting.append(sums)
        self._sums += len(sums)
        self._requests += requests

    def _taken(self) -> pa.Table:
        whole = pa.concat_tables(self._waiting)
        if len(self._waiting) > 1:
            whole = whole.group_by(list(ALIKE), use_threads=False).aggregate(_AGAIN)
            whole = whole.select([*ALIKE, *("_".join(each) for each in _AGAIN)])
            whole = whole.rename_columns([*ALIKE, *COUNTED])
        self._waiting, self._sums, self._requests = [], 0, 0
        return whole

    def _counted(self, sums: pa.Table, requests: int) -> Iterator[pa.Table]:
        if len(sums) > max(_FEW, requests // _FEWER):
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
    return pa.table({**columns, **dict(zip(COUNTED, sums, strict=True))})


def _key(column: pa.Array) -> pa.Array:
    return column.dictionary_encode().indices if pa.types.is_string(column.type) else column
