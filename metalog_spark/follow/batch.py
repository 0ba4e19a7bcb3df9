"""One batch: what came in is decided as far as the log is known, written at one moment, or waits.

All that a batch does is one commit of the pipeline's folder, which has the batch's number. Spark
gives a batch again that it does not know to be done, with the same files; if the folder has
it, nothing happens, and if not, whatever it left there is overwritten. So each line counts
once, wherever the process was killed. This module must not know how batches come about.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import unquote, urlsplit

from authorizer.timeline import Life
from metalog.acl import words_of
from metalog_spark.auditfiles import broker_of, find_files
from metalog_spark.changelog import changelog_rows, history_rows
from metalog_spark.configuration import Configuration
from metalog_spark.decisions import decided
from metalog_spark.folder import Tables
from metalog_spark.follow.alerts import (
    WINDOW_MS,
    Alert,
    Asked,
    Denials,
    of_denials,
    of_grants,
)
from metalog_spark.follow.log import FollowedLog, known_until_ms
from metalog_spark.requests import Named, read_files
from metalog_spark.state import packed
from metalog_spark.tables import (
    ALERTS,
    DECISIONS,
    DENIALS,
    REJECTED,
    REQUESTS,
    WAITING,
    Table,
)

if TYPE_CHECKING:
    import re

    from pyspark.sql import DataFrame

    from authorizer.audit_layout import Zone
    from metalog_spark.history import History

FOLLOW: Final = "follow"
"""The fact under which a folder has its ``Progress``."""
PATH: Final = "path"
"""The column of a batch that has the file that came, or null for news of the log."""
_COUNTED_MS: Final = 7 * 24 * 3600 * 1000
"""Denials are counted on for so long behind the newest."""


class Progress(NamedTuple):
    """What was committed: up to which batch, and up to which offset of the log (exclusive) grants
    were looked at; ``waits_from_ms`` is the time of the first request that waits."""

    batch: int = -1
    looked_to: int = -1
    waits_from_ms: int | None = None


def progress_of(tables: Tables) -> Progress:
    return Progress(**tables.facts[FOLLOW]) if FOLLOW in tables.facts else Progress()


class Following(NamedTuple):
    """What is followed, and how. A request waits until the log is known ``lateness_ms`` past its
    time; ``storm_from`` denials within a window are a storm."""

    out: str
    source: str
    log: FollowedLog
    configuration: Configuration
    zone: Zone
    broker: re.Pattern[str] | None = None
    lateness_ms: int = 30_000
    storm_from: int = 100

    def carry_out(self, batch: DataFrame, number: int) -> None:
        """For ``foreachBatch``."""
        session = batch.sparkSession
        tables = Tables.open(session, self.out)
        done = progress_of(tables)
        if number <= done.batch:
            return
        paths = [row[0] for row in batch.select(PATH).where("path IS NOT NULL").collect()]
        history = self.log.look()
        known_ms = known_until_ms(history)
        horizon_ms = -1 if known_ms is None else known_ms - self.lateness_ms
        is_due = done.waits_from_ms is not None and done.waits_from_ms <= horizon_ms
        lives = [Life(each.id, each.acl, each.begin, each.end) for each in history.lives]
        alerts = list(of_grants(lives, done.looked_to, lambda ms: self.configuration.at(ms * 1000)))
        looked_to = max([done.looked_to, *(each.end for each in history.stretches)])
        if paths or is_due or alerts:
            _Batch(self, tables, number, history, alerts).commit(
                paths, done._replace(batch=number, looked_to=looked_to), horizon_ms
            )


class _Batch:
    """What one batch writes."""

    def __init__(
        self,
        following: Following,
        tables: Tables,
        number: int,
        history: History,
        alerts: list[Alert],
    ) -> None:
        self._following = following
        self._tables = tables
        self._session = tables.session
        self._number = number
        self._history = history
        self._alerts = alerts

    def commit(self, paths: Sequence[str], progress: Progress, horizon_ms: int) -> None:
        from pyspark.sql import functions as f

        read = read_files(self._session, self._named(paths), self._following.zone)
        came = read.where("reason IS NULL").select(*WAITING.columns)
        requests = self._tables.read(WAITING).unionByName(came)
        whole = read.where("reason IS NOT NULL").persist()
        is_known = f.unix_millis("time") <= f.lit(horizon_ms)
        requests = requests.persist()
        due, waiting = requests.where(is_known), requests.where(~is_known)
        answers = decided(due, self._state(), self._following.configuration).persist()
        try:
            self._write(progress, whole, due, waiting, answers)
        finally:
            for each in (whole, requests, answers):
                each.unpersist()

    def _write(
        self,
        progress: Progress,
        rejected: DataFrame,
        due: DataFrame,
        waiting: DataFrame,
        answers: DataFrame,
    ) -> None:
        from pyspark.sql import functions as f

        [first] = waiting.select(f.min(f.unix_millis("time"))).collect()
        added = {REQUESTS: due, DECISIONS: answers, REJECTED: rejected}
        replaced = {}
        if first[0] is not None or progress.waits_from_ms is not None:
            replaced[WAITING] = waiting
        alerts = self._alerts
        if denials := _denials(answers):
            before = _counted(self._tables.read(DENIALS))
            counted, storms = of_denials(before, denials, self._following.storm_from)
            replaced[DENIALS] = self._rows(DENIALS, map(_denials_row, _kept(counted)))
            alerts = [*alerts, *storms]
        if alerts:
            rows = [_alert_row(self._number, each) for each in alerts]
            added[ALERTS] = self._rows(ALERTS, rows)
        progress = progress._replace(waits_from_ms=first[0])
        name = f"batch-{self._number}"
        self._tables.commit(name, added=added, replaced=replaced, **{FOLLOW: progress._asdict()})

    def _named(self, paths: Iterable[str]) -> list[Named]:
        local = sorted(unquote(urlsplit(path).path) for path in paths)
        files = find_files(local) if local else []
        return [
            Named(each, each.path, broker_of(each.path, self._following.broker)) for each in files
        ]

    def _state(self) -> bytes:
        source = self._following.source
        return packed(
            changelog_rows(self._session, self._history.lives, source),
            history_rows(self._session, self._history.stretches, source),
        )

    def _rows(self, table: Table, rows: Iterable[tuple[Any, ...]]) -> DataFrame:
        return self._session.createDataFrame(list(rows), table.schema)


def _denials(answers: DataFrame) -> list[Denials]:
    """As the brokers denied, whatever we would have answered."""
    from pyspark.sql import functions as f

    since = f.floor(f.unix_millis("time") / f.lit(WINDOW_MS)) * f.lit(WINDOW_MS)
    asked = f.struct("operation", "resource_type", "resource_name")
    denied = answers.where("result = 'DENIED'").groupBy("principal", since.alias("since_ms"))
    counted = denied.agg(f.count("*").alias("denied"), f.mode(asked).alias("mostly"))
    return [
        Denials(row["principal"], row["since_ms"], row["denied"], Asked(*row["mostly"]))
        for row in counted.collect()
    ]


def _counted(table: DataFrame) -> list[Denials]:
    columns = ("principal", "unix_millis(since) since_ms", "denied", *Asked._fields)
    return [
        Denials(row["principal"], row["since_ms"], row["denied"], Asked(*row[-3:]))
        for row in table.selectExpr(*columns).collect()
    ]


def _kept(counted: Sequence[Denials]) -> list[Denials]:
    newest = max((each.since_ms for each in counted), default=0)
    return [each for each in counted if each.since_ms > newest - _COUNTED_MS]


def _denials_row(each: Denials) -> tuple[Any, ...]:
    return each.principal, _time(each.since_ms), each.denied, *each.mostly


def _alert_row(batch: int, alert: Alert) -> tuple[Any, ...]:
    nothing = (None, None, None, alert.principal, None, None, None)
    words = nothing if alert.subject is None else words_of(alert.subject)
    return (
        batch,
        _time(alert.time_ms),
        alert.kind,
        alert.severity.name,
        *words,
        alert.said,
        alert.remedy,
        alert.log_offset,
    )


def _time(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
