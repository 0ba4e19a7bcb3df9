"""Fills the tables that batches do not fill, so that every ``pipeline`` verb can read the folder.

One commit computes these tables anew from the other tables and the log. This module must not know
batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from metalog.errors import InvalidTarget
from metalog.log.topic.address import is_topic
from metalog_sources.moment import time_text
from metalog_spark.coverage.coverage import Lost, counted, covered, usage
from metalog_spark.findings.windows.pending import UNCOUNTED
from metalog_spark.history.archive_history import ArchiveHistory
from metalog_spark.history.changelog import changelog_rows, history_rows
from metalog_spark.history.configuration import Configuration
from metalog_spark.ingest.lines.audit_log import LOST
from metalog_spark.ingest.lines.line_forms import FORMS, as_read, divided, is_half
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

_MIN_US: Final = -(1 << 63)
_MAX_US: Final = (1 << 63) - 1


def store_configuration(tables: Tables, configuration: Configuration) -> None:
    """Store the configuration that decides requests from now on.

    Raises:
        InvalidTarget: another configuration decided earlier requests, and would be lost.
    """
    from pyspark.sql import functions as f

    if tables.has(CONFIGURATION):
        stored = Configuration.of(tables.read(CONFIGURATION))
        if (kafka := stored.periods[-1].config.kafka_version) is not None:
            configuration = configuration.with_default(kafka)
        edges = sorted({_MIN_US, *stored.starts, *configuration.starts})
        differing = (edge for edge in edges if stored.at(edge) != configuration.at(edge))
        from_us = next(differing, None)
        if from_us is None:
            return
        [last] = tables.read(DECISIONS).agg(f.unix_micros(f.max("time"))).collect()
        if last[0] is not None and last[0] >= from_us:
            raise InvalidTarget(
                f"{tables.path}: requests up to {time_text(last[0] // 1000)} were decided with"
                " another --config FILE: pass that --config FILE again, and each later FILE as"
                " --config MOMENT=FILE, or follow into another folder"
            )
    tables.replace(CONFIGURATION, configuration.rows(tables.session))


def _lost(tables: Tables) -> list[Lost]:
    """The time ranges of lines that Kafka deleted from an audit topic before they were read.

    In a partition, only the lines of a single broker are in order of time. So a broker's range lies
    between its last line before the loss and its first line after the loss.
    """
    from pyspark.sql import functions as f

    if not is_topic(tables.facts[FOLLOWED]["audit"]):
        return []
    rejected = tables.read(REJECTED).where(f.col("reason").startswith(LOST))
    lost = [tuple(row) for row in rejected.select("file", "line").distinct().collect()]
    if not lost:
        return []
    places = f.broadcast(frame_of(tables.session, lost, "place STRING, first BIGINT"))
    is_line_of_place = f.col("file") == f.col("place")
    is_record_of_place = f.col("file").startswith(f.concat("place", f.lit("/")))
    record_offset = f.expr("try_cast(substring(file, length(place) + 2) AS BIGINT)")
    offset = f.when(is_line_of_place, f.col("line")).otherwise(record_offset)
    time = f.unix_micros("time")
    requests = tables.read(REQUESTS).join(places, is_line_of_place | is_record_of_place)
    times = requests.groupBy("place", "first", "broker").agg(
        f.max(f.when(offset < f.col("first"), time)), f.min(f.when(offset > f.col("first"), time))
    )
    spans: dict[tuple[Any, ...], list[Lost]] = {loss: [] for loss in lost}
    for place, first, broker, from_us, to_us in times.collect():
        begin = _MIN_US if from_us is None else from_us
        end = _MAX_US if to_us is None else to_us
        spans[place, first].append((broker, begin, end))
    return [each for of_brokers in spans.values() for each in (*of_brokers, _of_all(of_brokers))]


def _of_all(spans: Sequence[Lost]) -> Lost:
    """The range for brokers without lines: between the latest beginning and the earliest end of
    ``spans``, in either order."""
    begin = max((begin for _, begin, _ in spans), default=_MIN_US)
    end = min((end for *_, end in spans), default=_MAX_US)
    return None, min(begin, end), max(begin, end)


def _reject_half_lines(tables: Tables) -> None:
    """Reject decided lines if later lines show that they are half lines."""
    half = is_half(tables.facts.get(FORMS, {}))
    requests = tables.read(REQUESTS)
    halves = requests.where(half)
    if not tables.facts.get(FORMS) or halves.isEmpty():
        return
    divided_lines = divided(as_read(halves), tables.facts[FORMS])
    tables.commit(
        f"forms-{tables.contents.serial}",
        added={REJECTED: rejected_of(divided_lines), POSSIBLE: possible_of(divided_lines)},
        replaced={REQUESTS: requests.where(~half), DECISIONS: tables.read(DECISIONS).where(~half)},
    )


def complete(tables: Tables, history: ArchiveHistory, source: str) -> None:
    """Fill HISTORY, ACL_CHANGELOG, COVERAGE and USAGE, and reject half lines."""
    session = tables.session
    with tables.one_commit():
        _reject_half_lines(tables)
        tables.replace(HISTORY, history_rows(session, history.ranges, source))
        tables.replace(ACL_CHANGELOG, changelog_rows(session, history.lifetimes))
        tables.replace(COVERAGE, covered(counted(tables.read(REQUESTS)), _lost(tables)))
        tables.replace(USAGE, usage(tables.read(DECISIONS)))
        tables.store_facts(**{UNCOUNTED: None})
