"""Fills the tables of a pipeline's folder: from a metadata log, audit logs and a configuration.

What is given now is added to what the folder has. Rows of a file that is given again are
replaced, those of files that are not given stay; files are known by how they begin (see
``auditfiles``). Requests are decided again where they are new, and from where on the log or the
configuration says otherwise than it did. All that a build changes is so at one moment, its end.
This module must not know where Spark runs, nor how anything is shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence, Set
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from authorizer.audit_layout import Zone
from metalog.errors import InvalidRequest
from metalog.plurals import counted as counted_words
from metalog_spark.auditfiles import (
    DAMAGED,
    AuditFile,
    Head,
    SortedOut,
    broker_of,
    has_no_audit_line,
    sorted_out,
)
from metalog_spark.auditlog import OTHERS
from metalog_spark.beforehand import check_is_no_table
from metalog_spark.changelog import check_log, fill_changelog
from metalog_spark.configuration import Configuration
from metalog_spark.coverage import counted, counted_before, covered
from metalog_spark.decisions import decided
from metalog_spark.differing import deciding_by, deciding_in, differ_from
from metalog_spark.folder import check_is_built, placed
from metalog_spark.forms import FORMS, as_read, divided, earliest, is_half, look
from metalog_spark.requests import (
    Named,
    possible_of,
    read_files,
    read_table,
    rejected_of,
    requests_of,
)
from metalog_spark.state import packed_rows
from metalog_spark.tables import (
    CONFIGURATION,
    COVERAGE,
    DECISIONS,
    POSSIBLE,
    REJECTED,
    REQUESTS,
    USAGE,
    Table,
)
from metalog_spark.usage import usage

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

    from metalog_spark.archive import Logs
    from metalog_spark.folder import Tables

_FILES: Final = "files"
"""The fact of which files there are rows: by their names the length and digest of the head, and
how many lines were read."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

Days = frozenset[date]


class Given(NamedTuple):
    """What a build reads; ``requests`` are Parquet tables."""

    log: Logs
    configuration: Configuration
    zone: Zone
    audit: Sequence[AuditFile] = ()
    requests: Sequence[str] = ()
    broker_from: re.Pattern[str] | None = None
    skip_damaged: bool = False


class FileRead(NamedTuple):
    """How many lines of a file are what. ``why`` is what is wrong with a broken one, ``fault``
    why not all of the file could be read. A file may be left out for the ``same`` one that is
    given, or was before and then had ``longer`` as many lines."""

    file: str
    requests: int
    not_audit: int
    broken: int
    why: str | None
    fault: str | None
    same: str | None = None
    longer: int | None = None

    @property
    def lines(self) -> int:
        return self.requests + self.not_audit + self.broken

    def said_of_none(self) -> str | None:
        """What is wrong where it has lines, and none of them is an audit line that can be read."""
        none = f"none of its {counted_words(self.lines, 'line')}"
        if self.requests or not self.lines:
            return None
        if self.broken:
            return f"{self.file}: {none} can be read: {self.why}"
        return f"{self.file}: no audit log: {none} is of one"


def check(given: Given, out: str) -> None:
    """Looks at what is given, and refuses what shows without Spark that it cannot be built of it
    into the folder ``out``."""
    check_log(given.log, skip_damaged=given.skip_damaged)
    for file in given.audit:
        broker_of(file.name, given.broker_from)
        check_is_no_table(file.name, file.begins)
    _refuse_own_files(out, given.audit)


def check_fills_a_new_one(given: Given) -> None:
    """``InvalidRequest`` where all that is given would make a folder without a request, as far as
    that is seen soon."""
    if not given.audit or given.requests or not has_no_audit_line(given.audit):
        return
    first, *more = (file.name for file in given.audit)
    rest = f" and {counted_words(len(more), 'more file')}" if more else ""
    raise InvalidRequest(
        f"--audit {first}{rest}: no audit line in {'them' if more else 'it'}; name the brokers'"
        " kafka-authorizer.log"
    )


def build(
    tables: Tables,
    given: Given,
    *,
    at: Callable[[str], None],
    warn: Callable[[str], None] = lambda line: None,
) -> list[FileRead]:
    """Fills every table from what ``check`` let pass; ``at`` is told what is being done, ``warn``
    what is odd about the log."""
    check_is_built(tables.path, tables.contents)
    known = tables.facts.get(_FILES, {})
    given = given._replace(requests=list(dict.fromkeys(map(placed, given.requests))))
    files = sorted_out(given.audit, {name: Head(*head) for name, (*head, _) in known.items()})
    at(f"dividing {counted_words(len(files.taken), 'audit file')}")
    read = _read(tables.session, given, files)
    with tables.at_once():
        told = _fill(tables, given, files, read, at, warn)
    names = {name for _, name in files.taken}.union(given.requests)
    empty = sorted(names.difference(each.file for each in told))
    told += [FileRead(name, 0, 0, 0, None, None) for name in empty]
    return told + [
        FileRead(file.name, 0, 0, 0, None, None, other.name) for file, other in files.same
    ]


def _fill(
    tables: Tables,
    given: Given,
    files: SortedOut,
    read: DataFrame,
    at: Callable[[str], None],
    warn: Callable[[str], None],
) -> list[FileRead]:
    before = deciding_in(tables) if tables.has(DECISIONS) else None
    at("reading the metadata log")
    lives, history = _log(tables, given, warn)
    at(f"reading {counted_words(len(files.taken), 'audit file')}")
    told, touched = _take(tables, read, files, given.requests)
    at("counting what brokers logged")
    _cover(tables, None if before is None else touched)
    if before is not None:
        now = deciding_by(lives, history, given.configuration.table())
        touched |= _days_from(tables, differ_from(before, now))
    at(f"deciding the requests of {counted_words(len(touched), 'day')}")
    state = packed_rows(lives, history)
    _decide(tables, state, given.configuration, None if before is None else touched)
    return told


def _days_from(tables: Tables, moment: int | None) -> Days:
    """The days with requests from ``moment`` on, microseconds since 1970; None is never."""
    if moment is None:
        return frozenset()
    first = (_EPOCH + timedelta(microseconds=moment)).date()
    covered = tables.read(COVERAGE).where("allowed + denied > 0")
    return frozenset(day for day in _days(covered) if day >= first)


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


def _log(tables: Tables, given: Given, warn: Callable[[str], None]) -> tuple[pa.Table, pa.Table]:
    """Rows of ACL_CHANGELOG and of HISTORY."""
    found = fill_changelog(tables, given.log, skip_damaged=given.skip_damaged, warn=warn)
    tables.replace(CONFIGURATION, given.configuration.rows(tables.session))
    return found


def _take(
    tables: Tables, read: DataFrame, files: SortedOut, others: Sequence[str]
) -> tuple[list[FileRead], Days]:
    """REQUESTS and REJECTED with what was ``read``, of ``files`` and ``others``, in place of the
    rows that give way to it; the days whose requests are not what they were."""
    from pyspark import StorageLevel
    from pyspark.sql import functions as f

    known = tables.facts.get(_FILES, {})
    lines = read = read.persist(StorageLevel.DISK_ONLY)
    try:
        shown, lacks_rules = look(read)
        shown = earliest(tables.facts.get(FORMS, {}), shown)
        if lacks_rules:
            read = divided(read, shown)
        found = told_of(read)
        told = _longer_kept([said for said, _ in found], files.replaced, known)
        short = {said.file for said in told if said.longer is not None}
        gone = {*files.gone(short), *others}
        is_left, is_taken = ~f.col("file").isin(sorted(gone)), ~f.col("file").isin(sorted(short))
        rejected, requests = rejected_of(read.where(is_taken)), requests_of(read.where(is_taken))
        possible = possible_of(read.where(is_taken))
        touched = frozenset(day for said, days in found for day in days if said.file not in short)
        if tables.has(REQUESTS):
            old = tables.read(REQUESTS)
            touched |= _days(old.where(~is_left))
            touched |= _days(old.where(is_left & is_half(shown)))
            kept = divided(as_read(old.where(is_left & _is_of(touched))), shown)
            requests = requests.unionByName(requests_of(kept))
            for each in tables.read(REJECTED).where(is_left), rejected_of(kept):
                rejected = rejected.unionByName(each)
            for each in tables.read(POSSIBLE).where(is_left), possible_of(kept):
                possible = possible.unionByName(each)
        tables.replace(REJECTED, rejected)
        tables.replace(POSSIBLE, possible)
        _put(tables, REQUESTS, requests, touched if tables.has(REQUESTS) else None)
    finally:
        lines.unpersist()
    heads = {name: file.head for file, name in files.taken if file.begins and name not in short}
    taken = {each.file: [*heads[each.file], each.lines] for each in told if each.file in heads}
    left = {name: fact for name, fact in known.items() if name not in gone}
    tables.state(**{_FILES: {**taken, **left}, FORMS: shown})
    return told, touched


def _longer_kept(
    told: Sequence[FileRead], replaced: Mapping[str, Set[str]], known: Mapping[str, Sequence[Any]]
) -> list[FileRead]:
    """``told``, where a file is left out that has fewer lines than one that it would replace: a
    copy that was cut, or made sooner."""
    kept = []
    for each in told:
        held = [(known[name][-1], name) for name in replaced.get(each.file, ()) if name in known]
        lines, name = max(held, default=(0, each.file))
        is_short = each.lines < lines
        kept.append(each._replace(same=name, longer=lines) if is_short else each)
    return kept


def told_of(read: DataFrame) -> list[tuple[FileRead, Days]]:
    """What each file came to, and the days of its requests."""
    from pyspark.sql import functions as f

    reason = f.col("reason")
    is_other = reason.isin(*OTHERS)
    is_broken = reason.isNotNull() & ~is_other
    rows = (
        read.where("possible IS NULL")
        .groupBy("file")
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
    return sorted((FileRead(*row[:-1]), frozenset(row["days"])) for row in rows)


def _cover(tables: Tables, touched: Days | None) -> None:
    """COVERAGE, counted anew for the days ``touched``, or for all; and for those that a version
    counted which did not look for controllers."""
    requests = tables.read(REQUESTS)
    if touched is None:
        counts = counted(requests)
    else:
        before = tables.read(COVERAGE)
        touched |= _days(before.where("controller IS NULL"))
        kept = counted_before(before.where(~_is_of(touched)))
        counts = counted(requests.where(_is_of(touched))).unionByName(kept)
    tables.replace(COVERAGE, covered(counts))


def _decide(tables: Tables, state: bytes, configuration: Configuration, stale: Days | None) -> None:
    def of(table: Table) -> DataFrame:
        rows = tables.read(table)
        return rows if stale is None else rows.where(_is_of(stale))

    _put(tables, DECISIONS, decided(of(REQUESTS), state, configuration), stale)
    _put(tables, USAGE, usage(of(DECISIONS)), stale)


def _put(tables: Tables, table: Table, rows: DataFrame, days: Days | None) -> None:
    """``rows`` are all that the table, or ``days`` of it, have from now on."""
    if days is None:
        tables.replace(table, rows)
    else:
        tables.replace_days(table, rows, days)


def _days(rows: DataFrame) -> Days:
    return frozenset(row.day for row in rows.select("day").distinct().collect())


def _is_of(days: Days) -> Column:
    from pyspark.sql import functions as f

    return f.col("day").isin(sorted(days))
