"""Counts facts about each audit file from the file's rows.

The rows of ``FACTS`` stay on Spark's disks. The driver gets only summaries of many files, and a row
for each file that a message names. This module must not know how duplicates are found, nor what is
done with rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from datetime import date
from operator import itemgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from metalog.text.plurals import counted
from metalog_spark.ingest.audit_files import DAMAGED
from metalog_spark.ingest.audit_source import LISTED
from metalog_spark.ingest.lines.audit_log import NOT_AUDIT_REASONS
from metalog_spark.ingest.lines.line_forms import Forms
from metalog_spark.ingest.requests import IS_REQUEST
from metalog_spark.ingest.set_back import SetBack
from metalog_spark.store.arrow import frame_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FACTS: Final = (
    f"{LISTED}, requests BIGINT, not_audit BIGINT, broken BIGINT, why STRING, fault STRING,"
    " lines BIGINT, head BIGINT, heads ARRAY<BIGINT>, days ARRAY<DATE>, broker STRING,"
    " request_us BIGINT, rule_us BIGINT, back_us BIGINT, lacks_rule BOOLEAN, has_end BOOLEAN,"
    " is_cut BOOLEAN, is_split BOOLEAN"
)
"""A row for each listed file; the facts of a file without lines are null.

The columns from ``requests`` to ``days`` are those of ``FileFacts``; ``head`` is the last of
``heads``. ``is_cut``: the file ends within a line. ``is_split``: Spark split the file.
``line_sums.SUMS`` explains the other columns after ``broker``.
"""
_COUNTS: Final = ("requests", "not_audit", "broken")
_FORMS: Final = ("request_us", "rule_us")
_LOG: Final = "regexp_extract(path, '(?s)^(.*/)?([^/.]+|[^/]*)', 0)"
"""The path up to the first dot of the file's name: the same for a log and its rotated files."""
_NAMED: Final = "CASE WHEN coalesce(requests, 0) = 0 OR fault IS NOT NULL OR is_same THEN path END"
"""The path of a file that a message can name, else null."""


class Same(NamedTuple):
    """A file is left out because ``file`` begins with the same lines and is not shorter.
    ``known_lines`` is the number of lines in ``file`` if an earlier build read ``file``."""

    file: str
    known_lines: int | None


class FileRead(NamedTuple):
    """The number of lines of each kind. ``why`` says what is wrong with one broken line. ``fault``
    says why a part of the file cannot be read. If the file is left out, ``same`` and
    ``known_lines`` are the fields of ``Same``."""

    file: str
    requests: int
    not_audit: int
    broken: int
    why: str | None
    fault: str | None
    same: str | None = None
    known_lines: int | None = None

    @property
    def lines(self) -> int:
        return self.requests + self.not_audit + self.broken

    def no_request_text(self) -> str | None:
        """The error if the file has lines, but no request."""
        none = f"none of its {counted(self.lines, 'line')}"
        if self.requests or not self.lines:
            return None
        if self.broken:
            return f"{self.file}: {none} can be read: {self.why}"
        return f"{self.file}: not an audit log: {none} is an audit line"


class FileFacts(NamedTuple):
    """The first five fields are as in ``FileRead``. ``heads`` are fingerprints of the file's
    beginning, and ``days`` are the days with requests."""

    requests: int = 0
    not_audit: int = 0
    broken: int = 0
    why: str | None = None
    fault: str | None = None
    lines: int = 0
    heads: Sequence[int] = ()
    days: Sequence[date] = ()

    def file_read(self, file: str, same: Same | None) -> FileRead:
        other, known_lines = same or (None, None)
        return FileRead(file, *self[:5], other, known_lines)


class LogRead(NamedTuple):
    """Sums over one file in ``FilesRead.named``, or over all other files of a log. The paths begin
    with ``path``. ``is_kept``: not all of these files are left out."""

    path: str
    files: int
    requests: int
    rejected: int
    is_kept: bool


class FilesRead(NamedTuple):
    """``named`` has each input table, and each audit file that has no request, has a fault or is
    left out. ``logs`` covers all audit files. ``nothing_new``: earlier builds had read all
    files. ``days_again`` counts the days of earlier builds that were decided again."""

    named: Sequence[FileRead]
    logs: Sequence[LogRead]
    nothing_new: bool = False
    days_again: int = 0

    def with_empty(self, paths: Iterable[str]) -> FilesRead:
        """Add the empty files at ``paths``, which Spark does not list."""
        known = {each.file for each in self.named}
        empty = [path for path in paths if path not in known]
        named = [*self.named, *(FileFacts().file_read(path, None) for path in empty)]
        logs = [*self.logs, *(LogRead(path, 1, 0, 0, True) for path in empty)]
        return self._replace(named=named, logs=logs)


def files_read(
    files: DataFrame, same: Mapping[str, Same], tables: Mapping[str, FileFacts]
) -> FilesRead:
    """``files`` has rows of ``FACTS``, and ``same`` has the files that are left out."""
    from pyspark.sql import functions as f

    is_same = _at(files, same).withColumn("is_same", f.lit(True))
    found = (
        files.join(is_same, "path", "left")
        .groupBy(f.expr(_LOG), f.expr(_NAMED))
        .agg(
            f.count("*"),
            f.bool_or(f.isnull("is_same")),
            *(f.coalesce(f.sum(name), f.lit(0)) for name in _COUNTS),
            f.min("why"),
            f.min("fault"),
        )
        .collect()
    )
    logs = [
        LogRead(path, count, requests, not_audit + broken, is_kept)
        for path, _, count, is_kept, requests, not_audit, broken, *_ in found
    ]
    named = [(name, FileFacts(*facts), same.get(name)) for _, name, _, _, *facts in found if name]
    named += [(name, facts, None) for name, facts in tables.items()]
    read = (facts.file_read(name, other) for name, facts, other in named)
    return FilesRead(sorted(read, key=itemgetter(0)), sorted(logs))


class KeptFacts(NamedTuple):
    """Facts about all files that are not left out.

    - ``lines``: the number of requests and broken lines.
    - ``forms``: the line forms by broker (``line_forms.FORMS``).
    - ``set_back``: the times at which clocks were set back, by broker.
    - ``lacks_rule``: a request has no rule.
    - ``may_be_broken``: a file ends within a line, or a record is cut by an LF in a name.
    """

    lines: int = 0
    days: Set[date] = frozenset()
    forms: Forms = MappingProxyType({})
    set_back: SetBack = MappingProxyType({})
    lacks_rule: bool = False
    may_be_broken: bool = False


def kept_facts(files: DataFrame) -> KeptFacts:
    """``files`` has rows of ``FACTS``."""
    import pyarrow.compute as pc
    from pyspark.sql import functions as f

    found = (
        files.groupBy("broker")
        .agg(
            f.sum(f.expr("requests + broken")).alias("lines"),
            f.bool_or("lacks_rule").alias("lacks_rule"),
            f.bool_or(f.expr("has_end OR is_cut")).alias("may_be_broken"),
            *(
                f.min(f.expr(f"CASE WHEN request_us <> 0 THEN {name} END")).alias(name)
                for name in _FORMS
            ),
            f.collect_set("back_us").alias("back_us"),
            f.array_distinct(f.flatten(f.collect_list("days"))).alias("days"),
        )
        .toArrow()
    )
    days = pc.unique(pc.list_flatten(found["days"])).to_pylist()
    rows = found.drop_columns("days").to_pylist()
    return KeptFacts(
        sum(row["lines"] or 0 for row in rows),
        set(days),
        {row["broker"]: [row[name] for name in _FORMS] for row in rows if row["request_us"]},
        {row["broker"]: row["back_us"] for row in rows if row["back_us"]},
        any(row["lacks_rule"] for row in rows),
        any(row["may_be_broken"] for row in rows),
    )


def days_at(files: DataFrame, paths: Collection[str]) -> set[date]:
    """The days with requests in the files at ``paths``; ``files`` has rows of ``FACTS``."""
    if not paths:
        return set()
    days = files.join(_at(files, paths), "path", "left_semi").selectExpr("explode(days) AS day")
    return {row["day"] for row in days.distinct().collect()}


def files_without(files: DataFrame, paths: Collection[str]) -> DataFrame:
    return files.join(_at(files, paths), "path", "left_anti") if paths else files


def _at(files: DataFrame, paths: Iterable[str]) -> DataFrame:
    from pyspark.sql import functions as f

    return f.broadcast(frame_of(files.sparkSession, [(path,) for path in paths], "path STRING"))


def facts_of(read: DataFrame) -> dict[str, FileFacts]:
    """``FileFacts`` by file, from rows of ``requests.READ``."""
    from pyspark.sql import functions as f

    reason = f.col("reason")
    is_line = f.expr("possible IS NULL AND lines IS NULL")
    is_other = is_line & reason.isin(*NOT_AUDIT_REASONS)
    is_broken = is_line & reason.isNotNull() & ~reason.isin(*NOT_AUDIT_REASONS)
    is_request = f.expr(IS_REQUEST)
    found = read.groupBy("file").agg(
        f.count_if(is_request).alias("requests"),
        f.count_if(is_other).alias("not_audit"),
        f.count_if(is_broken).alias("broken"),
        f.min(f.when(is_broken, reason)).alias("why"),
        f.max(f.when(reason.startswith(DAMAGED), reason)).alias("fault"),
        f.coalesce(f.sum("lines"), f.count_if(is_line)).alias("lines"),
        f.first(f.expr("CASE WHEN start = 0 THEN head END"), True).alias("heads"),
        f.collect_set(f.when(is_request, f.col("day"))).alias("days"),
    )
    table = found.select("file", *FileFacts._fields).toArrow()
    rows = ({**row, "heads": row["heads"] or ()} for row in table.to_pylist())
    return {row.pop("file"): FileFacts(**row) for row in rows}
