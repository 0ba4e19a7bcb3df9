"""Fills the tables that follow from what was committed, so that every finding reads the folder.

They are remade whole from the others and the log, at one moment.
This module must not know batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from metalog.errors import InvalidTarget
from metalog.log.topic.address import is_topic
from metalog_sources.moment import time_text
from metalog_spark.coverage.coverage import Lost, counted, covered
from metalog_spark.coverage.usage import usage
from metalog_spark.findings.windows.pending import UNCOUNTED
from metalog_spark.history.archive_history import ArchiveHistory
from metalog_spark.history.changelog import changelog_rows, history_rows
from metalog_spark.history.configuration import Configuration
from metalog_spark.ingest.audit_log import LOST
from metalog_spark.ingest.line_forms import FORMS, as_read, divided, is_half
from metalog_spark.ingest.requests import possible_of, rejected_of
from metalog_spark.store.arrow import frame_of
from metalog_spark.store.refusals import FOLLOWED
from metalog_spark.store.table_store import Tables
from metalog_spark.store.tables import (
    ACL_CHANGELOG,
    CONFIGURATION,
    COVERAGE,
    DECISIONS,
    HISTORY,
    POSSIBLE,
    REJECTED,
    REQUESTS,
    USAGE,
)

_ALWAYS_US: Final = -(1 << 63)
_NEVER_US: Final = (1 << 63) - 1
"""Before and behind all times."""


def keep(tables: Tables, configuration: Configuration) -> None:
    """By which requests are decided from now on; ``InvalidTarget`` where those that are decided
    already were by another, which the folder could not say of them any more."""
    from pyspark.sql import functions as f

    if tables.has(CONFIGURATION):
        held = Configuration.of(tables.read(CONFIGURATION))
        if (kafka := held.eras[-1].config.kafka_version) is not None:
            configuration = configuration.deciding_as(kafka)
        from_us = _differ_from(held, configuration)
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


def _lost(tables: Tables) -> list[Lost]:
    """When an audit topic was asked what it deleted unread. A broker's lines come in order, those
    of several do not: what was lost of one lies between its last line before and its first behind,
    in that partition. Nor is anybody else's sure between the last and the first of all."""
    from pyspark.sql import functions as f

    if not is_topic(tables.facts[FOLLOWED]["audit"]):
        return []
    rejected = tables.read(REJECTED).where(f.col("reason").startswith(LOST))
    lost = [tuple(row) for row in rejected.select("file", "line").distinct().collect()]
    if not lost:
        return []
    places = f.broadcast(frame_of(tables.session, lost, "place STRING, first BIGINT"))
    is_own = f.col("file") == f.col("place")
    is_of = is_own | f.col("file").startswith(f.concat("place", f.lit("/")))
    of_record = f.expr("try_cast(substring(file, length(place) + 2) AS BIGINT)")
    offset, time = f.when(is_own, f.col("line")).otherwise(of_record), f.unix_micros("time")
    asked = tables.read(REQUESTS).join(places, is_of).groupBy("place", "first", "broker")
    found = asked.agg(
        f.max(f.when(offset < f.col("first"), time)),
        f.min(f.when(offset > f.col("first"), time)),
    )
    spans: dict[tuple[Any, ...], list[Lost]] = {each: [] for each in lost}
    for place, first, broker, from_us, to_us in found.collect():
        begin = _ALWAYS_US if from_us is None else from_us
        end = _NEVER_US if to_us is None else to_us
        spans[place, first].append((broker, begin, end))
    return [each for of_brokers in spans.values() for each in (*of_brokers, _of_all(of_brokers))]


def _of_all(spans: Sequence[Lost]) -> Lost:
    """In order, though brokers' lines are not."""
    begin = max((begin for _, begin, _ in spans), default=_ALWAYS_US)
    end = min((end for *_, end in spans), default=_NEVER_US)
    return None, min(begin, end), max(begin, end)


def _take_halves_back(tables: Tables) -> None:
    """Rejects the lines that were decided before a line showed that they are only half there."""
    half = is_half(tables.facts.get(FORMS, {}))
    requests = tables.read(REQUESTS)
    halves = requests.where(half)
    if not tables.facts.get(FORMS) or halves.isEmpty():
        return
    found = divided(as_read(halves), tables.facts[FORMS])
    tables.commit(
        f"forms-{tables.contents.serial}",
        added={REJECTED: rejected_of(found), POSSIBLE: possible_of(found)},
        replaced={
            REQUESTS: requests.where(~half),
            DECISIONS: tables.read(DECISIONS).where(~half),
        },
    )


def complete(tables: Tables, history: ArchiveHistory, source: str) -> None:
    """All but CONFIGURATION, which ``keep`` has written before anything was decided."""
    session = tables.session
    with tables.at_once():
        _take_halves_back(tables)
        tables.replace(HISTORY, history_rows(session, history.stretches, source))
        tables.replace(ACL_CHANGELOG, changelog_rows(session, history.lives))
        tables.replace(COVERAGE, covered(counted(tables.read(REQUESTS)), _lost(tables)))
        tables.replace(USAGE, usage(tables.read(DECISIONS)))
        tables.state(**{UNCOUNTED: None})
