"""Fills the tables that follow from what was committed, so that every finding reads the folder.

They are remade whole from the others and the log, at one moment.
This module must not know batches.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from metalog.errors import InvalidTarget
from metalog.log.topic_address import is_topic
from metalog_spark.arrow import frame_of
from metalog_spark.auditlog import LOST
from metalog_spark.changelog import changelog_rows, history_rows
from metalog_spark.configuration import Configuration
from metalog_spark.coverage import counted, covered
from metalog_spark.folder import FOLLOWED, Tables
from metalog_spark.history import History
from metalog_spark.tables import (
    ACL_CHANGELOG,
    CONFIGURATION,
    COVERAGE,
    DECISIONS,
    HISTORY,
    REJECTED,
    REQUESTS,
    USAGE,
)
from metalog_spark.usage import usage
from snapshot.exchange.moment import time_text

_ALWAYS_US: Final = -(1 << 63)
_NEVER_US: Final = (1 << 63) - 1
"""Before and behind all times."""


def keep(tables: Tables, configuration: Configuration) -> None:
    """By which requests are decided from now on; ``InvalidTarget`` where those that are decided
    already were by another, which the folder could not say of them any more."""
    from pyspark.sql import functions as f

    if tables.has(CONFIGURATION):
        from_us = _differ_from(Configuration.of(tables.read(CONFIGURATION)), configuration)
        if from_us is None:
            return
        [last] = tables.read(DECISIONS).agg(f.unix_micros(f.max("time"))).collect()
        if last[0] is not None and last[0] >= from_us:
            raise InvalidTarget(
                f"{tables.path}: what was asked up to {time_text(last[0] // 1000)} is decided by"
                " another --config: give that one, and --config MOMENT=FILE for what took its"
                " place later, or follow into another folder"
            )
    tables.replace(CONFIGURATION, configuration.rows(tables.session))


def _differ_from(one: Configuration, other: Configuration) -> int | None:
    """The first moment; None where both say the same of all times."""
    edges = sorted({_ALWAYS_US, *one.starts, *other.starts})
    return next((each for each in edges if one.at(each) != other.at(each)), None)


def _lost(tables: Tables) -> list[tuple[int, int]]:
    """When an audit topic was asked what it deleted unread: from the last line before it to the
    first behind it, of its partition, in microseconds since 1970; where they meet, as one."""
    from pyspark.sql import functions as f

    if not is_topic(tables.facts[FOLLOWED]["audit"]):
        return []
    rejected = tables.read(REJECTED).where(f.col("reason").startswith(LOST))
    lost = [tuple(row) for row in rejected.select("file", "line").distinct().collect()]
    if not lost:
        return []
    places = f.broadcast(frame_of(tables.session, lost, "place STRING, first BIGINT"))
    of_record = f.expr("try_cast(substring(file, length(place) + 2) AS BIGINT)")
    offset = f.when(f.col("file") == f.col("place"), f.col("line")).otherwise(of_record)
    is_of = f.col("file").startswith(f.col("place"))
    time = f.unix_micros("time")
    asked = tables.read(REQUESTS).join(places, is_of).groupBy("place", "first")
    found = asked.agg(
        f.max(f.when(offset < f.col("first"), time)),
        f.min(f.when(offset > f.col("first"), time)),
    )
    beside = {(row[0], row[1]): (row[2], row[3]) for row in found.collect()}
    return _joined(beside.get(each, (None, None)) for each in lost)


def _joined(spans: Iterable[tuple[int | None, int | None]]) -> list[tuple[int, int]]:
    """None is open."""
    joined: list[tuple[int, int]] = []
    for begin, end in sorted(
        (_ALWAYS_US if begin is None else begin, _NEVER_US if end is None else end)
        for begin, end in spans
    ):
        if joined and begin <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], end)
        else:
            joined.append((begin, end))
    return joined


def complete(tables: Tables, history: History, source: str) -> None:
    """All but CONFIGURATION, which ``keep`` has written before anything was decided."""
    session = tables.session
    with tables.at_once():
        tables.replace(HISTORY, history_rows(session, history.stretches, source))
        tables.replace(ACL_CHANGELOG, changelog_rows(session, history.lives))
        tables.replace(COVERAGE, covered(counted(tables.read(REQUESTS)), _lost(tables)))
        tables.replace(USAGE, usage(tables.read(DECISIONS)))
