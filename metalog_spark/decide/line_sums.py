"""Sums up the lines of each split while a worker decides requests, so that no later job does.

This module must not know how a line is read, nor Spark.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from authorizer.engine.decide import ALLOWED
from metalog_spark.ingest.audit_files import DAMAGED
from metalog_spark.ingest.controllers import CONTROLLER_REQUESTS
from metalog_spark.ingest.file_context import ends_record
from metalog_spark.ingest.lines.audit_log import NOT_AUDIT_REASONS

SUMS: Final = (
    "start BIGINT, lines BIGINT, bytes BIGINT, size BIGINT, head ARRAY<BIGINT>, requests BIGINT,"
    " not_audit BIGINT, broken BIGINT, why STRING, fault STRING, hours ARRAY<ARRAY<BIGINT>>,"
    " request_us BIGINT, rule_us BIGINT, back_us BIGINT, lacks_rule BOOLEAN, has_end BOOLEAN"
)
"""The sums of a split:

- ``start`` to ``head``: the start, and the fields of ``ReadSplit``;
- ``requests``, ``not_audit``, ``broken``: numbers of lines;
- ``why``: a reason why a line is broken; ``fault``: a damaged file's fault;
- ``hours``: for each hour, its number since 1970, and the first five fields of ``_Run``;
- ``request_us``: the first time of an unambiguous line with a request name;
- ``rule_us``: the first time of such a line that also has a rule;
- ``back_us``: the first time at which a clock was set back (by ten minutes to two hours);
- ``lacks_rule``: whether a request has no rule;
- ``has_end``: whether a line is the end of a record that an LF in a name cut.
"""
HOUR_US: Final = 3_600_000_000
_LEAST_BACK_US: Final = HOUR_US // 6
"""A shorter step back is not a clock change: lines of concurrent threads can be out of order."""
_NEVER: Final = np.iinfo(np.int64).max
_OF_CONTROLLERS: Final = pa.array(CONTROLLER_REQUESTS)
Numbers = NDArray[np.int64]
Truths = NDArray[np.bool_]


class SplitSums:
    def __init__(self) -> None:
        self._of: dict[tuple[str, int], dict[str, Any]] = {}

    def taken(self, file: str, start: int) -> dict[str, Any]:
        found = self._at(file, start)
        del self._of[file, start]
        return {**found, "hours": [[hour, *run] for hour, run in sorted(found["hours"].items())]}

    def _at(self, file: str, start: int) -> dict[str, Any]:
        nothing: dict[str, Any] = dict.fromkeys(("requests", "not_audit", "broken"), 0)
        nothing |= dict.fromkeys(("why", "fault", "request_us", "rule_us", "back_us"))
        nothing |= {"hours": {}, "lacks_rule": False, "has_end": False}
        return self._of.setdefault((file, start), nothing)

    def add_rejected(self, batch: pa.RecordBatch) -> None:
        names = ("file", "start", "reason", "text")
        for file, start, reason, text in zip(
            *(batch[name].to_pylist() for name in names), strict=True
        ):
            found = self._at(file, start)
            is_not_audit = reason in NOT_AUDIT_REASONS
            found["not_audit" if is_not_audit else "broken"] += 1
            if not is_not_audit:
                found["why"] = min(found["why"] or reason, reason)
            if reason.startswith(DAMAGED):
                found["fault"] = max(found["fault"] or reason, reason)
            found["has_end"] |= ends_record(text)

    def add_requests(self, batch: pa.RecordBatch) -> None:
        """Add runs of rows with one split and hour. The runs are long, because most lines are in
        order of time."""
        coded = batch["file"].dictionary_encode()
        files, starts = coded.indices.to_numpy(), batch["start"].to_numpy()
        us = batch["time"].cast(pa.int64()).to_numpy()
        hours = us // HOUR_US
        is_next = (np.diff(files) == 0) & (np.diff(starts) == 0)
        begins = np.concatenate(([0], np.flatnonzero(~is_next | (np.diff(hours) != 0)) + 1))
        runs = _runs(batch, us, begins)
        names = coded.dictionary.to_pylist()
        for place in np.flatnonzero(is_next & _is_set_back(batch, us)).tolist():
            found = self._at(names[files[place]], int(starts[place]))
            found["back_us"] = _first(found["back_us"], int(us[place]))
        places = zip(files[begins].tolist(), starts[begins].tolist(), strict=True)
        for (file, start), hour, run in zip(places, hours[begins].tolist(), runs, strict=True):
            found = self._at(names[file], start)
            found["requests"] += run.allowed + run.denied
            found["lacks_rule"] |= run.lacks_rule
            found["request_us"] = _first(found["request_us"], run.request_us)
            found["rule_us"] = _first(found["rule_us"], run.rule_us)
            before = found["hours"].setdefault(hour, [0] * 5)
            found["hours"][hour] = [sum(pair) for pair in zip(before, run[:5], strict=True)]


class _Run(NamedTuple):
    """``sure`` counts allowed requests that are not ambiguous. ``controller`` counts the sure
    requests that only a controller logs. The last three fields are as in ``SUMS``."""

    allowed: int
    denied: int
    ambiguous: int
    sure: int
    controller: int
    lacks_rule: bool
    request_us: int
    rule_us: int


def _runs(batch: pa.RecordBatch, us: Numbers, begins: Numbers) -> Iterator[_Run]:
    ambiguous = batch["ambiguous"].to_numpy(zero_copy_only=False)
    lacks_rule, lacks_request = _is_null(batch["rule"]), _is_null(batch["request_name"])
    is_allowed = pc.equal(batch["result"], ALLOWED.name).to_numpy(zero_copy_only=False)
    of_controller = pc.is_in(batch["request_name"], _OF_CONTROLLERS).to_numpy(zero_copy_only=False)
    is_sure, has_request = is_allowed & ~ambiguous, ~lacks_request & ~ambiguous
    counted = (is_allowed, ~is_allowed, ambiguous, is_sure, is_sure & of_controller)
    columns = [np.add.reduceat(each.astype(np.int64), begins).tolist() for each in counted]
    columns.append(np.logical_or.reduceat(lacks_rule, begins).tolist())
    for each in (has_request, has_request & ~lacks_rule):
        columns.append(np.minimum.reduceat(np.where(each, us, _NEVER), begins).tolist())
    return map(_Run, *columns)


def _is_set_back(batch: pa.RecordBatch, us: Numbers) -> Truths:
    """Whether a clock was set back before the next row. Ambiguous rows do not count, because they
    can be forged."""
    is_sure = ~batch["ambiguous"].to_numpy(zero_copy_only=False)
    back = us[:-1] - us[1:]
    is_so: Truths = is_sure[:-1] & is_sure[1:] & (back >= _LEAST_BACK_US) & (back <= 2 * HOUR_US)
    return is_so


def _first(known: int | None, other: int) -> int | None:
    if other == _NEVER:
        return known
    return other if known is None else min(known, other)


def _is_null(column: pa.Array) -> Truths:
    found: Truths = column.is_null().to_numpy(zero_copy_only=False)
    return found
