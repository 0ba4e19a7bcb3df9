"""What a report needs of a pipeline's tables, brought to the driver once for all its pages.

Counts and findings come, and never requests: as much as there are ACLs, bars of time, and a
bounded number of the most frequent. This module must not know what is shown of it, nor teams.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from metalog.errors import InvalidRequest
from metalog_spark.findings.counted import Counted, counted
from metalog_spark.findings.denied import denied, pairs_denied
from metalog_spark.findings.drift import drift
from metalog_spark.findings.exposure import access, exposure
from metalog_spark.findings.least_privilege import least_privilege
from metalog_spark.findings.state import config_now
from metalog_spark.findings.unused import judged, unused_of
from metalog_spark.findings.window import Seen, Window, seen_in
from metalog_spark.report.contents import Strip
from metalog_spark.report.rows import Row, Rows
from metalog_spark.report.traffic import Bars, Traffic, changes, strips, traffic
from metalog_spark.tables import ACL_CHANGELOG, COVERAGE, DECISIONS, HISTORY, REJECTED, REQUESTS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from metalog.acl import Acl
    from metalog_spark.folder import Tables
    from metalog_spark.report.owners import Team


class Most(NamedTuple):
    """So many of the most frequent are brought of what has no bound of its own: pairs that were
    ``denied``, each of which is looked into, and ``rows`` of anything else."""

    denied: int = 100
    rows: int = 5_000

    @classmethod
    def all_of(cls, section: str) -> Most:
        """All that this section has, and of the others as much as a page has."""
        if section == "denied":
            return cls(denied=_ALL)
        return cls(rows=_ALL) if section in ("disagreements", "unseen") else cls()


_ALL: Final = (1 << 31) - 1
OF_A_PAGE: Final = Most()


class Gathered(NamedTuple):
    """``name`` is what somebody called the cluster; ``traffic`` is by team."""

    name: str | None
    path: str
    window: Window
    bars: Bars
    history: Sequence[Row]
    lines: int
    super_users: int
    allow_everyone: bool
    seen: Seen
    strips: tuple[Strip, ...]
    traffic: Mapping[str, Traffic]
    changes: Sequence[tuple[int, tuple[str, ...]]]
    acls: Sequence[Acl]
    unused: Rows
    least: Rows
    may: Sequence[Row]
    exposure: Sequence[Row]
    denied: Rows
    drift: Sequence[Row]
    since: str
    """What ``drift`` compares with: a clause that follows "came or went"."""
    disagreements: Rows
    rejected: Sequence[Row]
    ambiguous: Sequence[Row]


def gathered(
    tables: Tables,
    window: Window,
    teams: Sequence[Team],
    *,
    name: str | None,
    tolerated: float,
    meant: Tables | None,
    doing: Callable[[str], None],
    most: Most = OF_A_PAGE,
) -> Gathered:
    """``meant`` is what the cluster should be like, None for itself where the window begins;
    ``doing`` is told what goes on."""
    bars = Bars.of(window)
    config = config_now(tables)
    doing("counting what was seen")
    strips_seen = strips(tables, bars)
    [covered] = tables.read(COVERAGE).selectExpr("sum(allowed + denied) AS lines").collect()
    doing("counting answers")
    answered = traffic(tables, bars, teams)
    doing("looking for unused grants")
    requests = counted(tables, window)
    used, least = _uses(tables, window, tolerated, requests, doing)
    doing("looking for what is exposed, denied and adrift")
    adrift = (
        drift(tables, tables, meant_at=_offset_at(tables, window.start_us))
        if meant is None
        else drift(meant, tables)
    )
    dangers = _collected(exposure(tables, window, requests=requests))
    may = _collected(access(tables, window, requests=requests))
    turned_away = _collected(denied(tables, window, shown=most.denied))
    doing("looking for disagreements")
    return Gathered(
        name=name,
        path=str(tables.path),
        window=window,
        bars=bars,
        history=_collected(tables.read(HISTORY)),
        lines=covered["lines"] or 0,
        super_users=len(config.super_users),
        allow_everyone=config.allow_everyone,
        seen=seen_in(tables, window),
        strips=strips_seen,
        traffic=answered,
        changes=changes(tables, bars),
        acls=requests.lives.at(None),
        unused=used,
        least=least,
        may=may,
        exposure=dangers,
        denied=Rows(turned_away, pairs_denied(tables, window)),
        drift=_collected(adrift),
        since="since the window began" if meant is None else f"against {meant.path}",
        disagreements=_disagreements(tables, window, most.rows),
        rejected=_rejected(tables, most.rows),
        ambiguous=_ambiguous(tables, most.rows),
    )


def _offset_at(tables: Tables, time_us: int) -> int:
    """Where the log was at a time, as far as the changes of ACLs tell."""
    from pyspark.sql import functions as f

    reached = [
        f.max(f.when(f.unix_micros(f"{edge}_time") <= time_us, f.col(f"{edge}_offset")))
        for edge in ("from", "to")
    ]
    [row] = tables.read(ACL_CHANGELOG).agg(*reached).collect()
    return max((offset for offset in row if offset is not None), default=0)


def _uses(
    tables: Tables,
    window: Window,
    tolerated: float,
    requests: Counted,
    doing: Callable[[str], None],
) -> tuple[Rows, Rows]:
    """What ``unused`` and ``least_privilege`` say, by one look at the traffic."""
    try:
        used = judged(tables, window, tolerated=tolerated, requests=requests)
    except InvalidRequest as error:
        return Rows(refused=str(error)), Rows(refused=str(error))
    unused = _collected(unused_of(used, tables))
    doing("looking for the least set of grants")
    try:
        least = _collected(least_privilege(tables, window, tolerated=tolerated, used=used))
    except InvalidRequest as error:
        return Rows(unused, len(unused)), Rows(refused=str(error))
    return Rows(unused, len(unused)), Rows(least, len(least))


def _collected(rows: DataFrame) -> list[Row]:
    """Times as microseconds since 1970, which mean the same in every zone."""
    from pyspark.sql import functions as f
    from pyspark.sql.types import TimestampType

    columns = [
        f.unix_micros(field.name).alias(field.name)
        if isinstance(field.dataType, TimestampType)
        else f.col(field.name)
        for field in rows.schema
    ]
    return [row.asDict(recursive=True) for row in rows.select(*columns).collect()]


def _disagreements(tables: Tables, window: Window, most: int) -> Rows:
    """By broker and question, the most frequent first."""
    from pyspark.sql import functions as f

    time = f.unix_micros("time")
    asked = ("principal", "host", "operation", "resource_type", "resource_name")
    inside = (time >= window.start_us) & (time < window.end_us)
    grouped = (
        tables.read(DECISIONS)
        .where(f.col("disagrees") & inside)
        .groupBy("broker", *asked, "result", "decided")
        .agg(
            f.count("*").alias("requests"),
            f.min("time").alias("first"),
            f.max("time").alias("last"),
        )
    )
    [total] = grouped.agg(f.count("*").alias("found"), f.sum("requests").alias("n")).collect()
    rows = _collected(grouped.orderBy(f.desc("requests"), "broker", *asked).limit(most))
    return Rows(rows, total["found"], total["n"] or 0)


def _rejected(tables: Tables, most: int) -> list[Row]:
    """By reason: how many lines, and the first of them in the order of files."""
    from pyspark.sql import functions as f

    first = f.min(f.struct("file", "line")).alias("first")
    found = tables.read(REJECTED).groupBy("reason").agg(f.count("*").alias("lines"), first)
    return _collected(found.orderBy(f.desc("lines"), "reason").limit(most))


def _ambiguous(tables: Tables, most: int) -> list[Row]:
    """By file: the lines that cannot be told apart from forged ones."""
    from pyspark.sql import functions as f

    first = f.min("line").alias("first")
    found = tables.read(REQUESTS).where("ambiguous").groupBy("file")
    return _collected(
        found.agg(f.count("*").alias("lines"), first).orderBy(f.desc("lines"), "file").limit(most)
    )
