"""Facts about each audit file, counted from its rows.

The facts about all files are one Arrow table, with a few hundred bytes for each file. A Python
object is made only for a file that a message names. This module must not know which file is which,
nor what is done with rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from metalog.text.plurals import counted
from metalog_spark.ingest.audit_files import DAMAGED
from metalog_spark.ingest.audit_source import LISTED
from metalog_spark.ingest.lines.audit_log import OTHERS
from metalog_spark.ingest.requests import IS_REQUEST
from metalog_spark.store.arrow import table_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

FACTS: Final = (
    f"{LISTED}, requests BIGINT, not_audit BIGINT, broken BIGINT, why STRING, fault STRING,"
    " lines BIGINT, head BIGINT, heads ARRAY<BIGINT>, days ARRAY<DATE>, broker STRING,"
    " request_us BIGINT, rule_us BIGINT, back_us BIGINT, lacks_rule BOOLEAN, has_end BOOLEAN,"
    " is_cut BOOLEAN, is_split BOOLEAN"
)
"""A row for each listed file; the facts of a file without lines are null.

The first columns are those of ``FileFacts``; ``head`` is the last of ``heads``. ``request_us`` and
``rule_us`` are the first times of lines with a request name and with a rule. ``back_us`` is the
time from which the clock was set back. ``lacks_rule``: a request lacks its rule; ``has_end``: a
line only ends a record; ``is_cut``: the file ends within a line; ``is_split``: Spark split it.
"""
_COUNTS: Final = ("requests", "not_audit", "broken")


class Same(NamedTuple):
    """A file that is left out, since ``file`` has the same lines. If an earlier build read
    ``file``, ``longer`` is the number of its lines."""

    file: str
    longer: int | None


class FileRead(NamedTuple):
    """How many lines of each kind a file has. ``why`` says what is wrong with a broken line,
    ``fault`` why a part of the file could not be read. A file may be left out because the file
    ``same`` has the same lines, or ``longer`` ones if an earlier build read it."""

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
        """The error if the file has lines, but no readable audit line."""
        none = f"none of its {counted(self.lines, 'line')}"
        if self.requests or not self.lines:
            return None
        if self.broken:
            return f"{self.file}: {none} can be read: {self.why}"
        return f"{self.file}: no audit log: {none} is of one"


class FileFacts(NamedTuple):
    """As ``FileRead``; also the number of ``lines`` and the ``heads`` from the file's splits, and
    the ``days`` of its requests."""

    requests: int = 0
    not_audit: int = 0
    broken: int = 0
    why: str | None = None
    fault: str | None = None
    lines: int = 0
    heads: Sequence[int] = ()
    days: Sequence[date] = ()

    def file_read(self, file: str, same: Same | None) -> FileRead:
        other, longer = same or (None, None)
        return FileRead(file, *self[:5], other, longer)


class FilesRead:
    """A ``FileRead`` for each file and each table of requests, by name. Files that Spark does not
    list because they are ``empty`` come last."""

    def __init__(
        self,
        files: pa.Table,
        tables: Mapping[str, FileFacts],
        same: Mapping[str, Same],
        empty: Sequence[str] = (),
    ) -> None:
        self._files, self._tables, self._same, self._empty = files, tables, same, empty

    def __len__(self) -> int:
        return int(self._files.num_rows) + len(self._tables) + len(self._empty)

    def __iter__(self) -> Iterator[FileRead]:
        others = dict(sorted(self._tables.items()))
        slim = self._files.select(["path", *_COUNTS, "why", "fault"]).sort_by("path")
        for batch in slim.to_batches(max_chunksize=1024):
            for row in batch.to_pylist():
                path = row.pop("path")
                for name in [each for each in others if each < path]:
                    yield others.pop(name).file_read(name, None)
                row.update((name, 0) for name in _COUNTS if row[name] is None)
                yield FileFacts(**row).file_read(path, self._same.get(path))
        for name in (*others, *self._empty):
            yield others.get(name, FileFacts()).file_read(name, None)

    def with_empty(self, paths: Iterable[str]) -> FilesRead:
        """These files, and those at ``paths`` that are not among them."""
        import pyarrow as pa
        import pyarrow.compute as pc

        given = pa.array(paths, pa.string())
        left = given.filter(pc.invert(pc.is_in(given, self._files["path"]))).to_pylist()
        return FilesRead(self._files, self._tables, self._same, left)


def no_facts() -> pa.Table:
    """``FACTS`` without rows."""
    return table_of([], FACTS)


def left_out(files: pa.Table, paths: Collection[str]) -> pa.Table:
    """``files`` without those at ``paths``."""
    import pyarrow.compute as pc

    return files.filter(pc.invert(_is_at(files, paths))) if paths else files


def days_of(files: pa.Table, paths: Collection[str] | None = None) -> set[date]:
    """The days with requests in ``files``, or only in the files at ``paths``."""
    import pyarrow.compute as pc

    some = files if paths is None else files.filter(_is_at(files, paths))
    return set(pc.unique(pc.list_flatten(some["days"])).to_pylist())


def any_of(files: pa.Table, *names: str) -> bool:
    """Whether one of the columns ``names`` is true in any row."""
    import pyarrow.compute as pc

    return any(pc.any(files[name]).as_py() for name in names)


def _is_at(files: pa.Table, paths: Collection[str]) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.is_in(files["path"], pa.array(paths, pa.string()))


def facts_of(read: DataFrame) -> dict[str, FileFacts]:
    """``FACTS`` by file, from rows of ``requests.READ``. A file without lines is missing."""
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
