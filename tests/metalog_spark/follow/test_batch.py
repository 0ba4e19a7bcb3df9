"""A batch's commit in the pipeline's folder, and what the folder shows while ``follow`` runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from authorizer.audit.layouts import Zone
from metalog.errors import InvalidMoment, InvalidRequest
from metalog_spark.findings.unused import classified_acls
from metalog_spark.findings.usage.usage_classes import Reason
from metalog_spark.findings.windows.window import Window, window_of
from metalog_spark.follow.batch import AT, NEW_INPUT, FollowJob
from metalog_spark.follow.log import FollowedLog
from metalog_spark.follow.query import follow_tables
from metalog_spark.follow.tables import complete, store_configuration
from metalog_spark.history.configuration import Configuration
from metalog_spark.store.arrow import frame_of
from metalog_spark.store.table_store import Tables
from metalog_spark.store.tables import ALERTS
from tests.support.spark.followed_world import READ_T, WrittenLog, appears, line, time_ms

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LATE = READ_T._replace(principal="User:late")
HOUR_23 = 23 * 3600


class Followed:
    """A log, and an audit folder whose files arrive batch by batch."""

    def __init__(self, session: SparkSession, folder: Path) -> None:
        self._session, self._audit, self._out = session, folder / "audit", str(folder / "out")
        self.log = WrittenLog(folder / "log")
        self._source = FollowedLog(str(self.log.folder))
        tables = follow_tables(session, self._out, self._source.text, str(self._audit))
        store_configuration(tables, Configuration())
        self._following = FollowJob(self._out, self._source, Configuration(), Zone("UTC"))

    def batch(self, number: int, *files: list[str]) -> Tables:
        """The folder after a batch of files with these lines, or of news of the log alone."""
        paths: list[str | None] = []
        for place, lines in enumerate(files):
            appears(self._audit, f"b1.log.{number}{place}", lines)
            paths.append(str(self._audit / f"b1.log.{number}{place}"))
        came = [(path, None, None, None, time_ms(number)) for path in paths or [None]]
        self._following.carry_out(
            frame_of(self._session, came, f"{NEW_INPUT}, {AT} BIGINT"), number
        )
        return Tables.open(self._session, self._out)

    def ends(self, tables: Tables) -> Tables:
        complete(tables, self._source.look(), self._source.text)
        return tables


@pytest.fixture
def followed(spark: SparkSession, tmp_path: Path) -> Followed:
    return Followed(spark, tmp_path)


def test_what_was_decided_since_the_orderly_end_is_in_no_window_and_may_be_a_use(
    followed: Followed,
) -> None:
    """It waited at that end, and the last day looked complete afterwards. A file without an audit
    line is an alert, in the words of ``build``; one with some is not."""
    followed.log.bind(-20, 1, READ_T)
    followed.log.bind(-10, 2, LATE)
    followed.log.goes_on(HOUR_23 + 100)
    of_app = [line(second, "User:app", allowed=True) for second in (10, HOUR_23 + 10)]
    late = line(HOUR_23 + 80, "User:late", allowed=True)
    running = followed.batch(0, [*of_app, "no audit line\n", late])
    with pytest.raises(InvalidRequest, match="no request is counted yet; since its last orderly"):
        window_of(running)
    followed.ends(running)
    known = Window(time_ms(0) * 1000, time_ms(HOUR_23 + 80) * 1000)
    assert window_of(running) == known

    followed.log.goes_on(HOUR_23 + 200)
    running = followed.batch(1)
    assert window_of(running) == known
    found = classified_acls(running, known, tolerated=1.0)
    assert {each.acl: each.reason for each in found.verdicts} == {READ_T: None, LATE: Reason.WAITS}

    at_noon = line(12 * 3600, "User:app", allowed=True)
    running = followed.batch(2, [at_noon], ["no audit line\n", "\n"])
    assert window_of(running) == known._replace(end_us=time_ms(12 * 3600) * 1000)
    with pytest.raises(InvalidMoment, match="is counted yet; since its last orderly end, metalog"):
        window_of(running, "2026-01-01T12:00")
    [alert] = running.read(ALERTS).select("kind", "severity", "message").collect()
    assert alert[:2] == ("no-audit-log", "WARNING")
    assert alert.message.endswith(
        "audit/b1.log.21: not an audit log: none of its 2 lines is an audit line"
    )
