"""Fills the tables of a pipeline's folder: from a metadata log, audit logs and a configuration.

What is given now is added to what the folder has. Rows of a file that is given again are
replaced, those of files that are not given stay; files are known by how they begin (see
``auditfiles``). Requests are decided again where they are new, and from where on the log or the
configuration says otherwise than it did. A build that was cut is made good by the next one.
This module must not know where Spark runs, nor how anything is shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence, Set
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from authorizer.audit_layout import Zone
from metalog.errors import InvalidRequest, MetalogError
from metalog_spark.auditfiles import (
    DAMAGED,
    AuditFile,
    Head,
    SortedOut,
    broker_of,
    find_files,
    sorted_out,
)
from metalog_spark.auditlog import OTHERS
from metalog_spark.changelog import fill_changelog
from metalog_spark.configuration import Configuration
from metalog_spark.coverage import counted, covered
from metalog_spark.decisions import decided
from metalog_spark.differing import ALWAYS, deciding_in, differ_from
from metalog_spark.folder import placed
from metalog_spark.requests import Named, read_files, read_table, rejected_of, requests_of
from metalog_spark.state import packed
from metalog_spark.tables import (
    ACL_CHANGELOG,
    CONFIGURATION,
    COVERAGE,
    DECISIONS,
    HISTORY,
    REJECTED,
    REQUESTS,
    USAGE,
    Table,
)
from metalog_spark.usage import usage

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from metalog_spark.folder import Tables

_WHOLE: Final = "whole"
"""The fact that the last build came to its end."""
_FILES: Final = "files"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

Days = frozenset[date]


class Given(NamedTuple):
    """What a build reads; ``audit`` are files, folders and globs, ``requests`` Parquet tables."""

    log: str
    configuration: Configuration
    zone: Zone
    audit: Sequence[str] = ()
    requests: Sequence[str] = ()
    broker_from: re.Pattern[str] | None = None
    committed: bool = False
    skip_damaged: bool = False
    command_config: Path | None = None


class FileRead(NamedTuple):
    """How many lines of a file are what. ``why`` is what is wrong with a broken one, ``fault``
    why not all of the file could be read, ``same`` the file in whose stead it was left out."""

    file: str
    requests: int
    not_audit: int
    broken: int
    why: str | None
    fault: str | None
    same: str | None = None


def build(
    tables: Tables, given: Given, *, environ: Mapping[str, str], at: Callable[[str], None]
) -> list[FileRead]:
    """Fills every table; ``at`` is told what is being done."""
    heads = {name: Head(*head) for name, head in tables.facts.get(_FILES, {}).items()}
    given = given._replace(requests=list(dict.fromkeys(map(placed, given.requests))))
    found = find_files(given.audit)
    _refuse_own_files(tables.path, found)
    files = sorted_out(found, heads)
    at(f"dividing {_counted(len(files.taken), 'audit file')}")
    read = _read(tables.session, given, files)
    before = deciding_in(tables) if tables.facts.get(_WHOLE, False) else None
    at("reading the metadata log")
    _log(tables, given, environ)
    at(f"reading {_counted(len(files.taken), 'audit file')}")
    taken = {name: file.head for file, name in files.taken if file.begins}
    tables.state(**{_FILES: heads | taken})
    told, touched = _take(tables, read, files.gone.union(given.requests))
    at("counting what brokers logged")
    days = _cover(tables, None if before is None else touched)
    moment = ALWAYS if before is None else differ_from(before, deciding_in(tables))
    if moment is not None:
        first = _EPOCH + timedelta(microseconds=moment)
        touched |= {day for day in days if day >= first.date()}
    at(f"deciding the requests of {_counted(len(touched), 'day')}")
    _decide(tables, given.configuration, None if before is None else touched, days)
    left = {name: head for name, head in heads.items() if name not in files.gone}
    tables.state(**{_WHOLE: True, _FILES: left | taken})
    return told + [
        FileRead(file.name, 0, 0, 0, None, None, other.name) for file, other in files.same
    ]


def was_cut(tables: Tables) -> bool:
    """Whether a build into the folder began to change it and did not come to its end."""
    return tables.has(REJECTED) and tables.facts.get(_WHOLE) is False


def _refuse_own_files(out: str, files: Sequence[AuditFile]) -> None:
    own = Path(out).resolve()
    for file in files:
        if Path(file.path).resolve().is_relative_to(own):
            raise InvalidRequest(
                f"--audit names {file.path}, which is of the pipeline's folder {out};"
                " name the logs alone, or build into another folder"
            )


def _read(session: SparkSession, given: Given, files: SortedOut) -> DataFrame:
    """What is given now, as rows of ``requests.READ``."""
    named = [
        Named(file, name, broker_of(file.name, given.broker_from)) for file, name in files.taken
    ]
    read = read_files(session, named, given.zone)
    for path in given.requests:
        read = read.unionByName(read_table(session, path))
    return read


def _log(tables: Tables, given: Given, environ: Mapping[str, str]) -> None:
    was_whole = tables.facts.get(_WHOLE, False)
    tables.state(**{_WHOLE: False})
    try:
        fill_changelog(
            tables,
            given.log,
            environ=environ,
            committed=given.committed,
            skip_damaged=given.skip_damaged,
            command_config=given.command_config,
        )
    except MetalogError:
        tables.state(**{_WHOLE: was_whole})
        raise
    tables.replace(CONFIGURATION, given.configuration.rows(tables.session))


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _take(tables: Tables, read: DataFrame, gone: Set[str]) -> tuple[list[FileRead], Days]:
    """REQUESTS and REJECTED with what was ``read``, and without the rows of files ``gone``; the
    days whose requests are not what they were."""
    from pyspark import StorageLevel
    from pyspark.sql import functions as f

    is_left = ~f.col("file").isin(sorted(gone))
    read = read.persist(StorageLevel.DISK_ONLY)
    try:
        told, new = _told(read)
        rejected, requests = rejected_of(read), requests_of(read)
        touched = there = new
        if tables.has(REQUESTS):
            old = tables.read(REQUESTS)
            by_day = old.groupBy("day").agg(f.bool_or(~is_left), f.bool_or(is_left)).collect()
            touched |= {day for day, has_gone, _ in by_day if has_gone}
            there |= {day for day, _, has_left in by_day if has_left}
            requests = requests.unionByName(old.where(is_left & _is_of(touched)))
            rejected = rejected.unionByName(tables.read(REJECTED).where(is_left))
        tables.replace(REJECTED, rejected)
        _put(tables, REQUESTS, requests, touched, there)
        return told, touched
    finally:
        read.unpersist()


def _told(read: DataFrame) -> tuple[list[FileRead], Days]:
    """What files came to, and the days of their requests."""
    from pyspark.sql import functions as f

    reason = f.col("reason")
    is_other = reason.isin(*OTHERS)
    is_broken = reason.isNotNull() & ~is_other
    rows = (
        read.groupBy("file")
        .agg(
            f.count_if(reason.isNull()).alias("requests"),
            f.count_if(is_other).alias("not_audit"),
            f.count_if(is_broken).alias("broken"),
            f.min(f.when(is_broken, reason)).alias("why"),
            f.max(f.when(reason.startswith(DAMAGED), reason)).alias("fault"),
            f.collect_set(f.when(reason.isNull(), f.col("day"))).alias("days"),
        )
        .collect()
    )
    told = sorted(FileRead(*row[:-1]) for row in rows)
    return told, frozenset(day for row in rows for day in row["days"])


def _cover(tables: Tables, touched: Days | None) -> Days:
    """COVERAGE, counted anew for the days ``touched``, or for all; the days with any request."""
    from pyspark.sql import functions as f

    requests = tables.read(REQUESTS)
    if touched is None:
        counts = counted(requests)
    else:
        is_kept = ~_is_of(touched) & (f.col("allowed") + f.col("denied") > 0)
        kept = tables.read(COVERAGE).where(is_kept).drop("state", "day")
        counts = counted(requests.where(_is_of(touched))).unionByName(kept)
    tables.replace(COVERAGE, covered(counts))
    return _days(tables.read(COVERAGE).where("allowed + denied > 0"))


def _decide(tables: Tables, configuration: Configuration, stale: Days | None, there: Days) -> None:
    state = packed(tables.read(ACL_CHANGELOG), tables.read(HISTORY))

    def of(table: Table) -> DataFrame:
        rows = tables.read(table)
        return rows if stale is None else rows.where(_is_of(stale))

    _put(tables, DECISIONS, decided(of(REQUESTS), state, configuration), stale, there)
    _put(tables, USAGE, usage(of(DECISIONS)), stale, there)


def _put(tables: Tables, table: Table, rows: DataFrame, days: Days | None, there: Days) -> None:
    """``rows`` are all that the table, or ``days`` of it, have from now on; of days that are not
    ``there`` they have none."""
    if days is None:
        tables.replace(table, rows)
    elif days <= there:
        tables.replace_days(table, rows)
    else:
        others = tables.read(table).where(~_is_of(days))
        tables.replace(table, others.unionByName(rows))


def _days(rows: DataFrame) -> Days:
    return frozenset(row.day for row in rows.select("day").distinct().collect())


def _is_of(days: Days) -> Column:
    from pyspark.sql import functions as f

    return f.col("day").isin(sorted(days))
