"""Stores a pipeline's tables in a folder, with a commit log.

New rows are written beside the rows in force. Then one commit, a JSON line in the commit log, puts
the new rows of one or several tables in force. So a reader sees either the old rows or the new
rows, also after a crash.

The folder can be wherever Spark can write. The caller must prevent two writers of one folder. This
module must not know what a row means.
"""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from metalog.errors import InvalidRequest, InvalidTarget
from metalog_spark.interrupts import uninterrupted
from metalog_spark.store.arrow import frame_of
from metalog_spark.store.commit_log import (
    COMMIT_LOG,
    COMMITS_PER_STATE,
    KIND,
    NOTHING,
    VERSION,
    CommittedState,
    replayed,
)
from metalog_spark.store.local_path import folder_here, local_path
from metalog_spark.store.places import is_newest, merged_place, place_of, to_merge
from metalog_spark.store.plain_view import add_line, is_on_this_disk, lines_of, publish
from metalog_spark.store.refusals import lacks_table, no_folder, occupied
from metalog_spark.store.tables import TableSchema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FORMAT: Final = "parquet"
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*:/")
_PATTERN: Final = re.compile(r"[*?\[\]{}\\]")
_SIDES: Final = ("a", "b")
_MOST_REPLACEMENTS: Final = 8
"""After more replacements of days than this, the whole table is rewritten."""
_STAGED_AS: Final = "-read"
NOT_THERE: Final = "PATH_NOT_FOUND"
_KEYS_OF_ROWS: Final = frozenset({"all", "places", "parts", "joined", "days"})
"""The keys of commits that change which files are in force."""
_FIRST: Final = {"kind": KIND, "version": VERSION, "format": _FORMAT}


class Tables:
    """The tables in ``path``, a folder or a URI that Spark can write to."""

    def __init__(self, session: SparkSession, path: str | Path, contents: CommittedState) -> None:
        self.session = session
        self.path = placed(path)
        self._contents = self._written = contents
        self._held: list[Mapping[str, Any]] | None = None

    @classmethod
    def open(cls, session: SparkSession, path: str | Path) -> Tables:
        """Open the tables in ``path``. Raises ``InvalidSource`` if ``path`` is not a pipeline's
        folder."""
        contents = _read_state(session, checked_folder(path))
        if contents is None:
            raise no_folder(path)
        return cls(session, path, contents)

    @classmethod
    def make(cls, session: SparkSession, path: str | Path) -> Tables:
        """Open the tables in ``path``. The first write creates a missing folder. Raises
        ``InvalidTarget`` if other files are in ``path``."""
        place = checked_folder(path)
        contents = _read_state(session, place)
        if contents is None:
            _check_is_empty(session, path)
            return cls(session, path, NOTHING)
        tables = cls(session, path, contents)
        tables._publish()
        return tables

    @property
    def contents(self) -> CommittedState:
        """The replayed commit log: which files are in force."""
        return self._contents

    @property
    def facts(self) -> Mapping[str, Any]:
        """The values that ``store_facts`` stored, by name."""
        return self._contents.facts

    @property
    def is_changing(self) -> bool:
        """Whether a block of ``one_commit`` runs: its changes are not committed yet."""
        return self._held is not None

    def store_facts(self, **facts: Any) -> None:
        """Store ``facts`` (JSON values) beside the tables; stored facts of other names stay."""
        if any(self.facts.get(name) != value for name, value in facts.items()):
            self._note({"facts": facts})

    @contextmanager
    def one_commit(self) -> Iterator[None]:
        """Commit all changes of the block as one commit, at the end of the block. If the block
        fails, nothing changes. A block may replace a table only once. The commit delays Ctrl-C."""
        self._held = []
        try:
            yield
            changes = self._held
        except BaseException:
            self._contents = self._written
            raise
        finally:
            self._held = None
        if changes:
            self._contents = self._written
            with uninterrupted():
                self._note({"all": changes})

    def mark(self, name: str, number: int) -> None:
        """Store ``number`` beside the commit log, for a caller that must not commit. If two Spark
        jobs append to one directory at once, one job undoes the append of the other job."""
        last = self.marked(name)
        self._append(name, str(number if last is None else max(number, last)), alone=True)

    def marked(self, name: str) -> int | None:
        """The largest number that ``mark`` stored."""
        lines = _lines(self.session, self._inside(name))
        return max(map(int, lines), default=None) if lines else None

    def has(self, table: TableSchema) -> bool:
        """Whether the table was ever written."""
        return bool(self._places(table))

    def read(self, table: TableSchema) -> DataFrame:
        """The rows in force; no rows if the table was never written. In a table with partitions by
        day, rows without a day are never in force."""
        places = self._places(table)
        if not places:
            return frame_of(self.session, [], table.schema)
        rows = self._loaded(table, places)
        for name in table.partitions:
            rows = rows.where(f"{name} IS NOT NULL")
        replacements = self._contents.days.get(self._stored_as(table))
        if replacements is not None:
            rows = rows.where(is_newest(table, replacements))
        return rows.drop("place")

    def staged(self, table: TableSchema, place: str) -> DataFrame:
        """All rows at ``place``, in force or not, including rows without a day."""
        return self._loaded(table, [place]).drop("place")

    def _loaded(self, table: TableSchema, places: Sequence[str]) -> DataFrame:
        from pyspark.errors import AnalysisException

        read = self.session.read.format(_FORMAT).schema(table.schema)
        read = read.option("basePath", self._inside(self._stored_as(table)))
        try:
            rows = read.load([self._inside(place) for place in places])
            # A Connect server looks for the places only when the columns are read.
            return rows.select("*") if rows.columns else rows
        except AnalysisException as error:
            if error.getCondition() == NOT_THERE:
                raise lacks_table(self.path, table.name) from None
            raise

    def _places(self, table: TableSchema) -> list[str]:
        return self._contents.places_of(self._stored_as(table))

    def _stored_as(self, table: TableSchema) -> str:
        return self._contents.stored_as(table.name, table.within)

    def replace(self, table: TableSchema, rows: DataFrame) -> None:
        """Replace all rows of the table."""
        self._refuse_if_followed(table)
        place = self._other_side(table)
        self._write(table, rows, place)
        self._note({"places": {table.name: place}})

    def commit(
        self,
        batch: str,
        *,
        added: Mapping[TableSchema, DataFrame],
        replaced: Mapping[TableSchema, DataFrame],
        **facts: Any,
    ) -> None:
        """Add the rows ``added``, replace the tables in ``replaced``, and store ``facts``, in one
        commit. After a failed attempt, a caller can commit the same ``batch`` again, but never
        after a successful one."""
        parts = {table.name: place_of(table, batch) for table in added}
        places = {table.name: self._other_side(table) for table in replaced}
        for table, rows in added.items():
            self._write(table, rows, parts[table.name])
        for table, rows in replaced.items():
            self._write(table, rows, places[table.name])
        self._note({"parts": parts, "places": places, "facts": facts})

    def join(self, table: TableSchema, most: int) -> None:
        """Merge the directories of added rows that ``to_merge`` selects."""
        level, merged = to_merge(self._contents.parts.get(table.name, ()), most)
        if merged:
            rows = self._loaded(table, merged)
            place = merged_place(table, level, rows.count(), self._contents.serial)
            self._write(table, rows, place)
            self._note({"joined": {table.name: [place, merged]}})
            if level == 0:
                self._remove_all_but(table, {*merged, *self._contents.places_of(table.name)})

    def _remove_all_but(self, table: TableSchema, kept: AbstractSet[str]) -> None:
        folder = self._folder_for_workers(table.name)
        for place in [] if folder is None else folder.iterdir():
            if f"{table.name}/{place.name}" not in kept:
                shutil.rmtree(place, ignore_errors=True)

    def _other_side(self, table: TableSchema) -> str:
        current = self._written.places.get(table.name)
        return next(place for side in _SIDES if (place := place_of(table, side)) != current)

    def replace_days(self, table: TableSchema, rows: DataFrame, days: Iterable[object]) -> None:
        """Replace the rows of ``days``. All ``rows`` must be of these days."""
        if not table.partitions:
            raise InvalidRequest(f"the table {table.name} is not partitioned; replace it whole")
        self._refuse_if_followed(table)
        if table.name not in self._contents.places:
            self.replace(table, rows)
        elif values := list(days):
            place = self._next_place(table)
            self._write(table, rows, place)
            self.put(table, place, values)

    def stage(self, table: TableSchema, make: Callable[[Path | None], Iterable[DataFrame]]) -> str:
        """Write the frames of ``make`` to a new place, and return the place. ``put`` puts the place
        in force. ``make`` gets the place's folder if workers may write files there, else None."""
        self._refuse_if_followed(table)
        is_first = table.name not in self._contents.places
        place = self._other_side(table) if is_first else f"{self._next_place(table)}{_STAGED_AS}"
        self._begin()
        for number, rows in enumerate(make(self._folder_for_workers(place))):
            self._write(table, rows, place, adds=number > 0)
        return place

    def aside(self, table: TableSchema, rows: DataFrame) -> DataFrame:
        """Write ``rows`` to a place that is never in force, and return the written rows."""
        place = place_of(table, "aside")
        self._write(table, rows, place)
        return self.staged(table, place)

    def _folder_for_workers(self, place: str) -> Path | None:
        folder = folder_here(self.session, self.path)
        if folder is None or not is_on_this_disk(folder, self._written):
            return None
        return folder / place

    def put(self, table: TableSchema, place: str, days: Iterable[object]) -> None:
        """Replace the rows of ``days`` by the rows at ``place``. If the table was never written,
        all rows at ``place`` come into force."""
        if table.name not in self._contents.places:
            self._note({"places": {table.name: place}})
            return
        self._note({"days": {table.name: [place, sorted(map(str, days))]}})
        if len(self._contents.days[table.name]) > _MOST_REPLACEMENTS:
            self.replace(table, self.read(table))

    def _next_place(self, table: TableSchema) -> str:
        number = len(self._contents.days.get(table.name, ()))
        return f"{self._contents.places[table.name]}{number + 1}"

    def _refuse_if_followed(self, table: TableSchema) -> None:
        if table.name in self._contents.parts:
            raise InvalidTarget(
                f"{self.path}: metalog pipeline follow adds to its table {table.name}; "
                "build into another folder"
            )

    def _write(self, table: TableSchema, rows: DataFrame, place: str, adds: bool = False) -> None:
        self._begin()
        writer = rows.select(*table.columns).write.option("partitionOverwriteMode", "static")
        mode, partitions = "append" if adds else "overwrite", [*table.partitions] or None
        writer.save(self._inside(place), _FORMAT, mode, partitions)

    def _inside(self, place: str) -> str:
        return f"{self.path}/{place}"

    def _note(self, change: Mapping[str, Any]) -> None:
        if self._held is not None:
            self._held.append(change)
            self._contents = self._contents.after(change)
            return
        self._begin()
        self._contents = self._written = self._committed(change)
        if not _KEYS_OF_ROWS.isdisjoint(change):
            self._publish()

    def _publish(self) -> None:
        publish(Path(local_path(self.path)), self._written)

    def _begin(self) -> None:
        """Begin the commit log before other files, because ``make`` refuses files without one."""
        if self._written.serial == 0:
            self._written = self._committed(_FIRST)
            self._contents = self._contents._replace(serial=self._written.serial)

    def _committed(self, change: Mapping[str, Any]) -> CommittedState:
        known = {"serial": self._written.serial + 1, "written_ns": time.time_ns()}
        contents = self._written.after(change).committed(**known)
        is_whole = contents.serial % COMMITS_PER_STATE == 0
        noted = {**_FIRST, **contents.as_change()} if is_whole else change
        self._append(COMMIT_LOG, json.dumps({**known, **noted}, sort_keys=True), alone=is_whole)
        return contents

    def _append(self, place: str, line: str, *, alone: bool = False) -> None:
        """With ``alone``, other lines are removed if the folder is on this machine's disk."""
        folder = folder_here(self.session, self._inside(place))
        if folder is not None:
            add_line(folder, line, alone=alone)
            return
        frame = frame_of(self.session, [(line,)], "value STRING")
        frame.write.mode("append").text(self._inside(place))


def _read_state(session: SparkSession, path: str) -> CommittedState | None:
    return replayed(lambda: _lines(session, f"{path}/{COMMIT_LOG}"), path)


def _lines(session: SparkSession, path: str) -> Sequence[str] | None:
    from pyspark.errors import AnalysisException

    folder = folder_here(session, path)
    if folder is not None:
        return lines_of(folder)
    try:
        return [row.value for row in session.read.text(path).collect()]
    except AnalysisException as error:
        if error.getCondition() == NOT_THERE:
            return None
        raise


def _check_is_empty(session: SparkSession, path: str | Path) -> None:
    from pyspark.errors import AnalysisException

    read = session.read.format("binaryFile").option("recursiveFileLookup", "true")
    try:
        first = read.load(placed(path)).select("path").first()
    except AnalysisException as error:
        if error.getCondition() == NOT_THERE:
            return
        raise
    if first is not None:
        raise occupied(path, is_file=local_path(first.path) == placed(path))


def is_pattern(path: str | Path) -> bool:
    """Whether Spark reads ``path`` as a pattern."""
    return _PATTERN.search(str(path)) is not None


def checked_folder(path: str | Path) -> str:
    """``placed(path)``. Raises ``InvalidRequest`` if ``path`` is empty or a pattern of Spark."""
    if not str(path):
        raise InvalidRequest("the name of a folder is empty: is a variable of the shell unset?")
    place = placed(path)
    if found := _PATTERN.search(place):
        raise InvalidRequest(
            f"{place}: Spark reads the {found[0]} in this name as part of a pattern;"
            " name a folder without * ? [ ] { } or \\"
        )
    return place


def placed(path: str | Path) -> str:
    """``path`` without slashes at its end. A path that is not a URI becomes absolute."""
    text = str(path).rstrip("/") or "/"
    return text if _SCHEME.match(text) else str(Path(text).absolute())
