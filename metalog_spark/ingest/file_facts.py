"""Facts about each audit file, counted from its rows.

This module must not know which file is which, nor what is done with rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from metalog.plurals import counted
from metalog_spark.ingest.audit_files import DAMAGED
from metalog_spark.ingest.audit_log import OTHERS
from metalog_spark.ingest.requests import IS_REQUEST

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from metalog_spark.ingest.known_files import Same


class FileRead(NamedTuple):
    """How many lines of each kind a file has. ``why`` says what is wrong with a broken line,
    ``fault`` why a part of the file could not be read. A file may be left out because another has
    the ``same`` lines; if that one was read before, it had ``longer`` lines."""

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

    def empty_text(self) -> str | None:
        """What is wrong if the file has lines, and none is a readable audit line."""
        none = f"none of its {counted(self.lines, 'line')}"
        if self.requests or not self.lines:
            return None
        if self.broken:
            return f"{self.file}: {none} can be read: {self.why}"
        return f"{self.file}: no audit log: {none} is of one"


class FileFacts(NamedTuple):
    """As in ``FileRead``; and by its splits, how many ``lines`` and which ``heads`` it has, and
    the ``days`` of its requests."""

    requests: int = 0
    not_audit: int = 0
    broken: int = 0
    why: str | None = None
    fault: str | None = None
    lines: int = 0
    heads: Sequence[int] = ()
    days: Sequence[date] = ()

    @property
    def sorted_by(self) -> tuple[int, Sequence[int], Sequence[date]]:
        """The facts that ``known_files`` needs."""
        return self.lines, self.heads, self.days

    def file_read(self, file: str, same: Same | None) -> FileRead:
        other, longer = same or (None, None)
        return FileRead(file, *self[:5], other, longer)


def facts_of(read: DataFrame) -> dict[str, FileFacts]:
    """By file, from rows of ``requests.READ``. A file without lines is missing."""
    from pyspark.sql import functions as f

    reason = f.col("reason")
    is_line = f.expr("possible IS NULL AND lines IS NULL")
    is_other = is_line & reason.isin(*OTHERS)
    is_broken = is_line & reason.isNotNull() & ~reason.isin(*OTHERS)
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
