"""One batch of ``follow``: decides requests up to ``lateness_ms`` before the log's end.

A batch's lines and decisions are one commit, under the batch's number. Spark can repeat a batch,
with the same files or offsets. A repeated batch does nothing if its number is committed. Otherwise
it overwrites the table files of the first attempt. So each line counts once. This module must not
know when batches start.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from authorizer.history.timeline import AclLifetime
from metalog.acl import words_of
from metalog_spark.decide.decide_job import decided
from metalog_spark.findings.windows.pending import UNCOUNTED
from metalog_spark.follow.alerts import (
    MOST_LISTED,
    NOTHING,
    Alert,
    of_grants,
    of_lost_lines,
    of_no_audit,
    of_no_broker,
    of_storm,
)
from metalog_spark.follow.log import FollowedLog, known_until_ms
from metalog_spark.follow.storms import denials_of, find_storms, with_denials
from metalog_spark.follow.topic import SPANS, Span, read_topic
from metalog_spark.history.changelog import changelog_table, history_table
from metalog_spark.history.configuration import Configuration
from metalog_spark.history.state import packed_rows
from metalog_spark.ingest.audit_files import DAMAGED
from metalog_spark.ingest.audit_source import read_audit
from metalog_spark.ingest.file_context import resolved
from metalog_spark.ingest.file_facts import facts_of
from metalog_spark.ingest.lines.audit_log import LOST
from metalog_spark.ingest.lines.line_forms import FORMS, Forms
from metalog_spark.ingest.requests import IS_REQUEST, READ, possible_of, rejected_of, requests_of
from metalog_spark.store.arrow import frame_of
from metalog_spark.store.local_path import local_path
from metalog_spark.store.table_store import Tables
from metalog_spark.store.tables import (
    ALERTS,
    DECISIONS,
    DENIALS,
    POSSIBLE,
    REJECTED,
    REQUESTS,
    WAITING,
    TableSchema,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Row

    from authorizer.audit.layouts import Zone
    from metalog.log.topic.partitions import PartitionedTopic
    from metalog_spark.history.archive_history import ArchiveHistory
    from metalog_spark.store.commit_log import CommittedState

FOLLOW: Final = "follow"
"""The name of the fact (a JSON value of the folder) with the ``Progress``."""
NEW_INPUT: Final = f"path STRING, {SPANS}"
"""A row of a batch: a new file, or a range of a topic's offsets. A row of nulls says that the log
has grown."""
AT: Final = "at_ms"
"""The column with the batch's time, which a repeated batch keeps."""
_GONE: Final = "the file was gone before it was read"
_IS_LOST: Final = f"reason RLIKE '^({LOST}|{DAMAGED}|{_GONE})'"
_UNREAD: Final = "file STRING, text STRING, reason STRING"
_MOST_PLACES: Final = 100
"""If more directories than this have a table's added rows, ``Tables.join`` merges them."""


class Progress(NamedTuple):
    """The committed progress of ``follow``.

    - ``batch``: the last committed batch. ``alerted``: the last batch with alerts.
    - ``looked_to``: the log offset (exclusive) up to which grants were checked.
    - ``waits_from_ms``: the time of the first of the ``waiting`` requests.
    - ``unnamed``: the alert about lines without a broker was raised.
    - ``decided``, ``rejected`` and ``alerts``: totals since the folder was made.
    """

    batch: int = -1
    looked_to: int = NOTHING
    waits_from_ms: int | None = None
    unnamed: bool = False
    alerted: int = -1
    decided: int = 0
    rejected: int = 0
    alerts: int = 0
    waiting: int = 0

    def counting(self, counts: Row) -> Progress:
        return self._replace(
            decided=self.decided + counts["due"],
            rejected=self.rejected + counts["rejected"],
            waiting=counts["waiting"],
        )


class NewRows(NamedTuple):
    """The new input of a batch that began at ``at_ms``."""

    files: Sequence[str]
    spans: Sequence[Span]
    at_ms: int

    @classmethod
    def of(cls, batch: DataFrame) -> NewRows:
        from pyspark.sql import functions as f

        is_log_growth = f.col("path").isNull() & f.col("partition").isNull()
        rows = batch.where(~is_log_growth).collect()
        files = sorted(local_path(row["path"]) for row in rows if row["path"] is not None)
        spans = (Span(*(row[name] for name in Span._fields)) for row in rows)
        at_ms = max((row[AT] for row in rows), default=0)
        return cls(files, sorted(span for span in spans if span.partition is not None), at_ms)

    def __bool__(self) -> bool:
        return bool(self.files or self.spans)


def progress_of(folder: Tables | CommittedState) -> Progress:
    if FOLLOW not in folder.facts:
        return Progress()
    progress = folder.facts[FOLLOW]
    return Progress(**{"alerted": progress["batch"], **progress})


class FollowJob(NamedTuple):
    """The input and the options of ``follow``. Without a ``topic``, audit lines come from files.

    A request waits until the log is known up to ``lateness_ms`` after the request's time.
    ``storm_from`` denials of one principal in one window (``alerts.WINDOW_MS``) are a storm.
    """

    out: str
    log: FollowedLog
    configuration: Configuration
    zone: Zone
    topic: PartitionedTopic | None = None
    topic_config: Path | None = None
    broker: re.Pattern[str] | None = None
    lateness_ms: int = 30_000
    storm_from: int = 100

    def carry_out(self, batch: DataFrame, number: int) -> None:
        """Process a batch; the function for Spark's ``foreachBatch``."""
        session = batch.sparkSession
        tables = Tables.open(session, self.out)
        done = progress_of(tables)
        if number <= done.batch:
            return
        new = NewRows.of(batch)
        history = self.log.look()
        known_ms = known_until_ms(history)
        horizon_ms = -1 if known_ms is None else known_ms - self.lateness_ms
        is_due = done.waits_from_ms is not None and done.waits_from_ms <= horizon_ms
        rows = history.lifetimes
        lifetimes = [AclLifetime(row.id, row.acl, row.begin, row.end) for row in rows]
        alerts = list(
            of_grants(lifetimes, done.looked_to, lambda ms: self.configuration.at(ms * 1000))
        )
        looked_to = max([done.looked_to, *(each.end for each in history.ranges)])
        if new or is_due or alerts:
            progress = done._replace(batch=number, looked_to=looked_to)
            written = _Batch(self, tables, history, progress, alerts)
            if new or is_due:
                written.commit_lines(new, horizon_ms)
            else:
                written.commit({}, {})
            for table in (REQUESTS, POSSIBLE, DECISIONS, REJECTED, ALERTS):
                tables.join(table, _MOST_PLACES)


class _Batch:
    """The output of one batch. ``alerts`` are the alerts about grants."""

    def __init__(
        self,
        following: FollowJob,
        tables: Tables,
        history: ArchiveHistory,
        progress: Progress,
        alerts: list[Alert],
    ) -> None:
        self._following = following
        self._tables = tables
        self._session = tables.session
        self._history = history
        self._progress = progress
        self._alerts = alerts
        self._first_uncounted_us: int | None = tables.facts.get(UNCOUNTED)
        self._forms: Forms = tables.facts.get(FORMS, {})

    def commit(
        self, added: dict[TableSchema, DataFrame], replaced: Mapping[TableSchema, DataFrame]
    ) -> None:
        number = self._progress.batch
        if self._alerts:
            rows = [_alert_row(number, alert) for alert in self._alerts]
            added = {**added, ALERTS: frame_of(self._session, rows, ALERTS.schema)}
            alerts = self._progress.alerts + len(self._alerts)
            self._progress = self._progress._replace(alerted=number, alerts=alerts)
        facts = {
            FOLLOW: self._progress._asdict(),
            UNCOUNTED: self._first_uncounted_us,
            FORMS: self._forms,
        }
        self._tables.commit(f"batch-{number}", added=added, replaced=replaced, **facts)

    def commit_lines(self, new: NewRows, horizon_ms: int) -> None:
        """Decide new and waiting requests up to ``horizon_ms``, and commit all lines."""
        from pyspark.sql import functions as f

        lines = self._read(new).persist()
        read, self._forms = resolved(lines, self._forms)
        requests = requests_of(read)
        is_known = f.unix_millis("time") <= f.lit(horizon_ms)
        try:
            counts = self._counts(read, is_known)
            self._progress = self._progress.counting(counts)
            if new:
                self._alert_about_lines(read, counts, new.at_ms)
            if new.files and counts["rejected"]:
                self._alert_about_no_audit(read, counts, new.at_ms)
            waiting = requests.where(~is_known)
            replaced = self._waiting(waiting, counts["waits_from_ms"])
            added = {REJECTED: rejected_of(read)} if counts["rejected"] else {}
            if counts["possible"]:
                added[POSSIBLE] = possible_of(read)
            if counts["due"]:
                firsts = self._first_uncounted_us, counts["due_from_us"]
                self._first_uncounted_us = min(first for first in firsts if first is not None)
                due = requests.where(is_known)
                self._commit_decided(due, added, replaced, has_denials=counts["has_denials"])
            else:
                self.commit(added, replaced)
        finally:
            lines.unpersist()

    def _commit_decided(
        self,
        due: DataFrame,
        added: dict[TableSchema, DataFrame],
        replaced: Mapping[TableSchema, DataFrame],
        *,
        has_denials: bool,
    ) -> None:
        with ExitStack() as cached:
            answers = decided(due, self._state(), self._following.configuration).persist()
            cached.callback(answers.unpersist)
            if has_denials:
                before = self._tables.read(DENIALS)
                whole = with_denials(before, denials_of(answers)).persist()
                cached.callback(whole.unpersist)
                counted_denials = find_storms(whole, self._following.storm_from)
                self._alerts = [*self._alerts, *map(of_storm, counted_denials.storms)]
                replaced = {**replaced, DENIALS: counted_denials.denials}
            self.commit(added | {REQUESTS: due, DECISIONS: answers}, replaced)

    def _read(self, new: NewRows) -> DataFrame:
        of = self._following
        there = [file for file in new.files if not file.startswith("/") or Path(file).is_file()]
        if of.topic is not None and new.spans:
            read = read_topic(self._session, of.topic, new.spans, of.broker, of.zone)
        elif there:
            read = read_audit(self._session, there, of.zone, of.broker)
        else:
            read = frame_of(self._session, [], READ)
        gone = [(file, "", _GONE) for file in new.files if file not in there]
        more = [frame_of(self._session, gone, _UNREAD)] if gone else []
        if self._progress.waits_from_ms is not None:
            more.append(self._tables.read(WAITING))
        for rows in more:
            read = read.unionByName(rows, allowMissingColumns=True)
        return read

    def _counts(self, read: DataFrame, is_known: Column) -> Row:
        from pyspark.sql import functions as f

        topic = self._following.topic
        reason, is_possible = f.col("reason"), f.coalesce("possible", f.lit(False))
        is_request = f.expr(IS_REQUEST)
        is_unnamed = f.lit(False) if topic is None else f.col("broker") == topic.address.topic
        counted = read.agg(
            f.count_if(reason.isNotNull()).alias("rejected"),
            f.count_if(is_possible).alias("possible"),
            f.count_if(is_request & is_known).alias("due"),
            f.count_if(is_request & ~is_known).alias("waiting"),
            f.bool_or(is_request & is_known & f.expr("result = 'DENIED'")).alias("has_denials"),
            f.min(f.when(is_request & is_known, f.unix_micros("time"))).alias("due_from_us"),
            f.min(f.when(is_request & ~is_known, f.unix_millis("time"))).alias("waits_from_ms"),
            f.count_if(is_request & is_unnamed).alias("unnamed"),
            f.count_if(f.expr(_IS_LOST)).alias("lost"),
        )
        return counted.collect()[0]

    def _alert_about_lines(self, read: DataFrame, counts: Row, at_ms: int) -> None:
        """Alert about lost or damaged lines, and once about a topic's lines without a broker."""
        topic = self._following.topic
        if counts["lost"]:
            lost = read.where(_IS_LOST).orderBy("file", "line", "reason").limit(MOST_LISTED)
            texts = [f"{row['file']}: {row['reason']}" for row in lost.collect()]
            self._alerts.append(of_lost_lines(at_ms, texts, counts["lost"], topic=bool(topic)))
        unnamed = counts["unnamed"]
        if topic is not None and unnamed and not self._progress.unnamed:
            self._alerts.append(of_no_broker(at_ms, str(topic.address), unnamed))
            self._progress = self._progress._replace(unnamed=True)

    def _alert_about_no_audit(self, read: DataFrame, counts: Row, at_ms: int) -> None:
        if counts["lost"]:
            lost = read.where(_IS_LOST).select("file").distinct()
            read = read.join(lost, "file", "left_anti")
        facts = sorted(facts_of(read).items())
        texts = (each.file_read(file, None).no_request_text() for file, each in facts)
        if lines := [each for each in texts if each is not None]:
            self._alerts.append(of_no_audit(at_ms, lines))

    def _waiting(self, waiting: DataFrame, from_ms: int | None) -> dict[TableSchema, DataFrame]:
        waited = self._progress.waits_from_ms is not None
        self._progress = self._progress._replace(waits_from_ms=from_ms)
        return {WAITING: waiting} if waited or from_ms is not None else {}

    def _state(self) -> bytes:
        source = self._following.log.text
        return packed_rows(
            changelog_table(self._history.lifetimes), history_table(self._history.ranges, source)
        )


def _alert_row(batch: int, alert: Alert) -> tuple[Any, ...]:
    nothing = (None, None, None, alert.principal, None, None, None)
    words = nothing if alert.subject is None else words_of(alert.subject)
    return (
        batch,
        datetime.fromtimestamp(alert.time_ms / 1000, UTC),
        alert.kind,
        alert.severity.name,
        *words,
        alert.message,
        alert.remedy,
        alert.log_offset,
    )
