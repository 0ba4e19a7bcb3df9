"""Collects a report's input from a pipeline's tables, once for all pages.

The input is counts and findings, so its size depends mainly on the number of ACLs. This module must
not know what is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from metalog.errors import InvalidRequest, InvalidSource
from metalog.ids import uuid_text
from metalog_spark.findings.denied import denial_counts, denied, explained, in_order
from metalog_spark.findings.drift import drift
from metalog_spark.findings.exposure import access, exposure
from metalog_spark.findings.least_privilege import least_privilege
from metalog_spark.findings.unused import unused
from metalog_spark.findings.usage.acl_lifetimes import ACL_COLUMNS, acl_of
from metalog_spark.findings.usage.usage_counts import Counted, counted
from metalog_spark.findings.windows.request_rows import (
    RequestFilter,
    of_acl,
    with_commands,
    with_first,
)
from metalog_spark.findings.windows.state import config_now, lifetimes_in
from metalog_spark.findings.windows.window import Window, WindowCoverage, coverage_in
from metalog_spark.history.configuration import Configuration
from metalog_spark.report.contents import Strip
from metalog_spark.report.rows import Row, Rows
from metalog_spark.report.traffic import Bars, Traffic, changes, strips, teams_of, traffic
from metalog_spark.store.tables import (
    CONFIGURATION,
    COVERAGE,
    DECISIONS,
    HISTORY,
    REJECTED,
    REQUESTS,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from authorizer.config import AuthorizerConfig
    from metalog.acl import Acl
    from metalog_spark.history.configuration import ConfigPeriod
    from metalog_spark.report.triage.owners import Team
    from metalog_spark.store.table_store import Tables


class RowLimits(NamedTuple):
    """Limits for collected rows; the most frequent rows are kept. ``denied`` is for the denials of
    the cluster, ``denied_of_team`` for those of a team. ``rows`` is for disagreements, reasons of
    rejected lines, and files with ambiguous lines."""

    denied: int = 100
    denied_of_team: int = 20
    rows: int = 5_000

    @classmethod
    def all_of(cls, section: str) -> RowLimits:
        """No limit for the rows of ``section``."""
        if section == "denied":
            return cls(denied=_ALL)
        return cls(rows=_ALL) if section in ("disagreements", "unseen") else cls()


_ALL: Final = (1 << 31) - 1
_WITH_FIRST_REQUESTS: Final = 100
"""At most this many disagreements, and ACLs, show their first requests."""
_STEPS: Final = {
    "looking for unused grants": ("unused",),
    "looking for the least set of grants": ("least",),
    "looking for exposure, denials and drift": ("exposure", "may", "denied", "drift", "configs"),
    "looking for disagreements": ("disagreements", "history", "rejected", "ambiguous"),
}
"""The parts that each step computes."""
OF_A_PAGE: Final = RowLimits()
_OF_DENIALS: Final = ("principal", "operation", "resource_type", "resource_name")
_OF_ANSWERS: Final = ("broker", "principal", "host", *_OF_DENIALS[1:], "result")


class Parts:
    """The content of the tables under a page's charts, each computed at its first use. ``desired``
    has the desired ACLs; None stands for the ACLs at the window's start."""

    def __init__(
        self,
        tables: Tables,
        window: Window,
        *,
        tolerated: float,
        desired: Tables | None,
        limits: RowLimits = OF_A_PAGE,
        teams: Sequence[Team] = (),
    ) -> None:
        self.window = window
        self._tables = tables
        self.tolerated = tolerated
        self._desired = desired
        self._limits = limits
        self._teams = teams

    @cached_property
    def seen(self) -> WindowCoverage:
        return coverage_in(self._tables, self.window)

    @cached_property
    def usage_counts(self) -> Counted:
        return counted(self._tables, self.window)

    @cached_property
    def unused(self) -> Rows:
        return _unless_refused(self._unused)

    def _unused(self) -> Rows:
        found = unused(self._tables, self.window, tolerated=self.tolerated)
        rows = _with_uses(self._tables, self.window, _collected(found))
        return Rows(rows, len(rows))

    @cached_property
    def least(self) -> Rows:
        return _unless_refused(self._least)

    def _least(self) -> Rows:
        proposal = least_privilege(self._tables, self.window, tolerated=self.tolerated)
        rows = with_commands(self._tables, self.window, _collected(proposal), _of_principal)
        return Rows(rows, len(rows))

    @cached_property
    def may(self) -> Sequence[Row]:
        return _collected(access(self._tables, self.window))

    @cached_property
    def exposure(self) -> Sequence[Row]:
        rows = _collected(exposure(self._tables, self.window))
        return with_commands(self._tables, self.window, rows, self._of_exposed)

    def _of_exposed(self, row: Row) -> RequestFilter | None:
        if not row["requests"]:
            return None
        if row["acl"] is None:
            return RequestFilter(principal=row["principal"])
        own = self.usage_counts.lifetimes.by_acl[acl_of(row["acl"][name] for name in ACL_COLUMNS)]
        return RequestFilter(acl_id=uuid_text(own[-1].id))

    @cached_property
    def denied(self) -> Rows:
        tables, window, limits = self._tables, self.window, self._limits
        counts = denial_counts(tables, window)
        rows: Sequence[Row] = _collected(denied(tables, window, shown=limits.denied, counts=counts))
        if limits == OF_A_PAGE:
            rows = with_first(tables, window, rows, _OF_DENIALS, result="DENIED")
        theirs = _of_teams(counts, self._teams, limits.denied_of_team, in_order())
        of_teams = {
            team: of_team._replace(rows=_collected(explained(tables, of_team.rows)))
            for team, of_team in theirs.items()
        }
        return Rows(rows, counts.count(), of_teams=of_teams)

    @cached_property
    def drift(self) -> Sequence[Row]:
        tables, desired = self._tables, self._desired
        if desired is not None:
            return _collected(drift(desired, tables))
        begun = lifetimes_in(tables).offset_at(self.window.start_us)
        return _collected(drift(tables, tables, desired_at=begun))

    @cached_property
    def configs(self) -> tuple[AuthorizerConfig, AuthorizerConfig] | None:
        """The desired and the actual configuration; None without ``desired``."""
        desired = self._desired
        return None if desired is None else (config_now(desired), config_now(self._tables))

    @property
    def since(self) -> str:
        """The state that ``drift`` compares with, as a clause after "came or went"."""
        begun = "since the window began"
        return begun if self._desired is None else f"compared with {self._desired.path}"

    @cached_property
    def disagreements(self) -> Rows:
        return _disagreements(self._tables, self.window, self._teams, self._limits.rows)

    @cached_property
    def history(self) -> Sequence[Row]:
        return _collected(self._tables.read(HISTORY))

    @cached_property
    def rejected(self) -> Sequence[Row]:
        return _rejected(self._tables, self._limits.rows)

    @cached_property
    def ambiguous(self) -> Sequence[Row]:
        return _ambiguous(self._tables, self._limits.rows)


class Gathered(NamedTuple):
    """``name`` is the cluster's name, ``path`` the tables' folder. ``traffic`` is by team."""

    parts: Parts
    name: str | None
    path: str
    bars: Bars
    lines: int
    periods: Sequence[ConfigPeriod]
    strips: tuple[Strip, ...]
    traffic: Mapping[str, Traffic]
    changes: Sequence[tuple[int, tuple[str, ...]]]
    acls: Sequence[Acl]


def gathered(
    tables: Tables,
    window: Window,
    teams: Sequence[Team],
    *,
    name: str | None,
    tolerated: float,
    desired: Tables | None,
    doing: Callable[[str], None],
) -> Gathered:
    """The input of all pages. ``doing`` is called with the name of each step."""
    parts = Parts(tables, window, tolerated=tolerated, desired=desired, teams=teams)
    bars = Bars.of(window)
    doing("counting the coverage")
    strips_seen = strips(tables, bars)
    [covered] = tables.read(COVERAGE).selectExpr("sum(allowed + denied) AS lines").collect()
    doing("counting answers")
    answered = traffic(tables, bars, teams)
    for what, wanted in _STEPS.items():
        doing(what)
        for part in wanted:
            getattr(parts, part)
    return Gathered(
        parts=parts,
        name=name,
        path=str(tables.path),
        bars=bars,
        lines=covered["lines"] or 0,
        periods=Configuration.of(tables.read(CONFIGURATION)).periods,
        strips=strips_seen,
        traffic=answered,
        changes=changes(tables, bars),
        acls=parts.usage_counts.lifetimes.at(None),
    )


def _unless_refused(make: Callable[[], Rows]) -> Rows:
    """The rows, or why a finding refused to answer. Damaged tables raise ``InvalidSource``."""
    try:
        return make()
    except InvalidSource:
        raise
    except InvalidRequest as error:
        return Rows(refused=str(error))


def _with_uses(tables: Tables, window: Window, rows: Sequence[Row]) -> list[Row]:
    """Rows of ``unused`` with the commands that print their requests. The ACLs with the most
    requests also have their first requests."""
    with_command = with_commands(tables, window, rows, _of_use)
    used = sorted(
        (row for row in with_command if row["requests"]), key=lambda row: -row["requests"]
    )[:_WITH_FIRST_REQUESTS]
    firsts = with_first(tables, window, [{**row, "acl_id": row["id"]} for row in used], ("acl_id",))
    by_id = {row["id"]: row for row in firsts}
    return [by_id.get(row["id"], row) for row in with_command]


def _of_use(row: Row) -> RequestFilter | None:
    return of_acl(row["id"], row["requests"], row["matched"], row["reason"])


def _of_principal(row: Row) -> RequestFilter | None:
    allowed = RequestFilter(principal=row["principal"], result="ALLOWED")
    return allowed if row["requests"] else None


def _collected(rows: DataFrame) -> list[Row]:
    """The rows, with times as microseconds since 1970, independent of this machine's time zone."""
    from pyspark.sql import functions as f
    from pyspark.sql.types import TimestampType

    columns = [
        f.unix_micros(field.name).alias(field.name)
        if isinstance(field.dataType, TimestampType)
        else f.col(field.name)
        for field in rows.schema
    ]
    return [row.asDict(recursive=True) for row in rows.select(*columns).collect()]


def _of_teams(
    rows_found: DataFrame, teams: Sequence[Team], most: int, order: Sequence[Column]
) -> dict[str, Rows]:
    """The first ``most`` rows of each team, and the number of all rows."""
    from pyspark.sql import Window as Ordered
    from pyspark.sql import functions as f

    if not teams:
        return {}
    team = Ordered.partitionBy("team")
    counted = rows_found.withColumn("team", f.explode(teams_of(teams))).select(
        "*",
        f.count("*").over(team).alias("found"),
        f.sum("requests").over(team).alias("all_requests"),
        f.row_number().over(team.orderBy(*order)).alias("rank"),
    )
    rows: dict[str, list[Row]] = {}
    for row in _collected(counted.where(f.col("rank") <= most).orderBy("team", "rank")):
        rows.setdefault(row["team"], []).append(row)
    return {name: Rows(own, own[0]["found"], own[0]["all_requests"]) for name, own in rows.items()}


def _disagreements(tables: Tables, window: Window, teams: Sequence[Team], most: int) -> Rows:
    from pyspark.sql import functions as f

    time = f.unix_micros("time")
    columns = ("principal", "host", "operation", "resource_type", "resource_name")
    inside = (time >= window.start_us) & (time < window.end_us)
    grouped = (
        tables.read(DECISIONS)
        .where(f.col("disagrees") & inside)
        .groupBy("broker", *columns, "result", "decided")
        .agg(
            f.count("*").alias("requests"),
            f.min("time").alias("first"),
            f.max("time").alias("last"),
        )
    )
    [total] = grouped.agg(f.count("*").alias("found"), f.sum("requests").alias("n")).collect()
    order = (f.desc("requests"), *map(f.col, ("broker", *columns)))
    rows = _collected(grouped.orderBy(*order).limit(most))
    if most == OF_A_PAGE.rows:
        head, tail = rows[:_WITH_FIRST_REQUESTS], rows[_WITH_FIRST_REQUESTS:]
        rows = [*with_first(tables, window, head, _OF_ANSWERS, disagrees=True), *tail]
    of_teams = _of_teams(grouped, teams, most, order)
    return Rows(rows, total["found"], total["n"] or 0, of_teams=of_teams)


def _rejected(tables: Tables, most: int) -> list[Row]:
    from pyspark.sql import functions as f

    first = f.min(f.struct("file", "line")).alias("first")
    found = tables.read(REJECTED).groupBy("reason").agg(f.count("*").alias("lines"), first)
    return _collected(found.orderBy(f.desc("lines"), "reason").limit(most))


def _ambiguous(tables: Tables, most: int) -> list[Row]:
    from pyspark.sql import functions as f

    first = f.min("line").alias("first")
    found = tables.read(REQUESTS).where("ambiguous").groupBy("file")
    return _collected(
        found.agg(f.count("*").alias("lines"), first).orderBy(f.desc("lines"), "file").limit(most)
    )
