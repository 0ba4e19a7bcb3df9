"""The folder of a pipeline: its tables, and the list of changes that says which are in force.

The list is a log, too: one small JSON line a change, read back by replay. A table is replaced
as a whole by writing it beside the one in force and then saying so, so that a reader or a
crash sees the old one or the new one; a table with days may have single days replaced. All
is read and written by Spark, so that a folder may lie wherever Spark can write. Two
builds into one folder at once are not held apart. This module must not know what a row means.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from metalog.errors import InvalidRequest, InvalidSource, InvalidTarget
from metalog_spark.tables import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameWriter, SparkSession

_LIST: Final = "changes"
_KIND: Final = "kraft-metalog pipeline"
_VERSION: Final = 1
_FORMAT: Final = "parquet"
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*:/")
_PATTERN: Final = re.compile(r"[*?\[\]{}\\]")
_SIDES: Final = ("a", "b")
_NOT_THERE: Final = "PATH_NOT_FOUND"


class _Contents(NamedTuple):
    """What the list of changes comes to: ``places`` by table, ``facts`` by name, and ``parts``,
    places of what was added to a table since it was last replaced."""

    serial: int
    places: Mapping[str, str]
    facts: Mapping[str, Any]
    parts: Mapping[str, tuple[str, ...]]


class Tables:
    """The tables in ``path``, a folder or a URI that Spark can write to.

    ``make`` one before the first table is written; ``open`` one that a build has made.
    """

    def __init__(self, session: SparkSession, path: str | Path, contents: _Contents) -> None:
        self.session = session
        self.path = placed(path)
        self._contents = contents

    @classmethod
    def open(cls, session: SparkSession, path: str | Path) -> Tables:
        """``InvalidSource`` where ``path`` is not there, or no pipeline's folder."""
        contents = _read_list(session, literal(path))
        if contents is None:
            raise InvalidSource(
                f"{path}: not a pipeline's folder; metalog pipeline build makes one"
            )
        return cls(session, path, contents)

    @classmethod
    def make(cls, session: SparkSession, path: str | Path) -> Tables:
        """A pipeline's folder as it is, or a new one; ``InvalidTarget`` where other files lie."""
        place = literal(path)
        contents = _read_list(session, place)
        if contents is None:
            if not _is_empty(session, place):
                raise InvalidTarget(
                    f"{path}: holds files that are no pipeline's; name a folder that is new, "
                    "empty, or one that metalog pipeline build made"
                )
            contents = _Contents(0, {}, {}, {})
        tables = cls(session, path, contents)
        if contents.serial == 0:
            tables._note({"kind": _KIND, "version": _VERSION, "format": _FORMAT})
        return tables

    @property
    def facts(self) -> Mapping[str, Any]:
        """What was said of the tables by ``state``: JSON values by name."""
        return self._contents.facts

    def state(self, **facts: Any) -> None:
        """Keep ``facts`` (what can be JSON) beside the tables; those that it had, of other
        names, stay."""
        if any(self.facts.get(name) != value for name, value in facts.items()):
            self._note({"facts": facts})

    def has(self, table: Table) -> bool:
        return bool(self._places(table))

    def read(self, table: Table) -> DataFrame:
        """The rows in force, in the table's own schema; none where it was never written."""
        places = self._places(table)
        if not places:
            return self.session.createDataFrame([], table.schema)
        read = self.session.read.format(_FORMAT).schema(table.schema)
        read = read.option("basePath", self._inside(table.name))
        return read.load([self._inside(place) for place in places]).select(*table.columns)

    def _places(self, table: Table) -> list[str]:
        whole = self._contents.places.get(table.name)
        return [*([] if whole is None else [whole]), *self._contents.parts.get(table.name, ())]

    def replace(self, table: Table, rows: DataFrame) -> None:
        """These rows are the table from now on; a reader sees the old or the new."""
        self._check_is_not_added_to(table)
        place = self._other_side(table)
        self._write(table, rows, place)
        self._note({"places": {table.name: place}})

    def commit(
        self,
        batch: str,
        *,
        added: Mapping[Table, DataFrame],
        replaced: Mapping[Table, DataFrame],
        **facts: Any,
    ) -> None:
        """Add rows to some tables, replace others, and keep ``facts``: at one moment, or not.

        What a batch of that name left behind which came to nothing is overwritten; one that was
        committed must not be committed again.
        """
        parts = {table.name: _place(table, batch) for table in added}
        places = {table.name: self._other_side(table) for table in replaced}
        for table, rows in added.items():
            self._write(table, rows, parts[table.name])
        for table, rows in replaced.items():
            self._write(table, rows, places[table.name])
        self._note({"parts": parts, "places": places, "facts": facts})

    def _other_side(self, table: Table) -> str:
        current = self._contents.places.get(table.name)
        return next(place for side in _SIDES if (place := _place(table, side)) != current)

    def replace_days(self, table: Table, rows: DataFrame) -> None:
        """The days (values of its partitions) that ``rows`` have are theirs from now on, and
        the others stay. Each day is replaced as a whole, and all of them not at one moment."""
        if not table.partitions:
            raise InvalidRequest(f"the table {table.name} is not divided; replace it as a whole")
        self._check_is_not_added_to(table)
        place = self._contents.places.get(table.name)
        if place is None:
            self.replace(table, rows)
            return
        writer = self._writer(table, rows).option("partitionOverwriteMode", "dynamic")
        writer.save(self._inside(place))

    def _check_is_not_added_to(self, table: Table) -> None:
        if table.name in self._contents.parts:
            raise InvalidTarget(
                f"{self.path}: metalog pipeline follow adds to its table {table.name}; "
                "build into a folder of its own"
            )

    def _write(self, table: Table, rows: DataFrame, place: str) -> None:
        self._writer(table, rows).save(self._inside(place))

    def _writer(self, table: Table, rows: DataFrame) -> DataFrameWriter:
        writer = rows.select(*table.columns).write.format(_FORMAT).mode("overwrite")
        return writer.partitionBy(*table.partitions) if table.partitions else writer

    def _inside(self, place: str) -> str:
        return f"{self.path}/{place}"

    def _note(self, change: Mapping[str, Any]) -> None:
        serial = self._contents.serial + 1
        line = json.dumps({"serial": serial, **change}, sort_keys=True)
        said = self.session.createDataFrame([(line,)], "value STRING").coalesce(1)
        said.write.mode("append").text(self._inside(_LIST))
        self._contents = _applied(self._contents, {"serial": serial, **change})


def _place(table: Table, name: str) -> str:
    """So that Spark takes several places for one table, of which days are a further division."""
    return f"{table.name}/place={name}"


def _read_list(session: SparkSession, path: str) -> _Contents | None:
    """None where there is no such list."""
    rows = _rows(session, f"{path}/{_LIST}")
    if rows is None:
        return None
    changes = sorted(map(_parsed, rows), key=lambda change: change.get("serial", 0))
    if not changes or changes[0].get("kind") != _KIND:
        return None
    if changes[0].get("version") != _VERSION:
        raise InvalidSource(f"{path}: made by another version of the pipeline; build it anew")
    contents = _Contents(0, {}, {}, {})
    for change in changes:
        contents = _applied(contents, change)
    return contents


def _applied(contents: _Contents, change: Mapping[str, Any]) -> _Contents:
    places, facts, parts = dict(contents.places), dict(contents.facts), dict(contents.parts)
    for table, place in change.get("places", {}).items():
        places[table] = place
        parts.pop(table, None)
    for table, place in change.get("parts", {}).items():
        parts[table] = (*parts.get(table, ()), place)
    facts.update(change.get("facts", {}))
    return _Contents(change["serial"], places, facts, parts)


def _parsed(line: str) -> dict[str, Any]:
    try:
        change = json.loads(line)
    except ValueError:
        return {}
    return change if isinstance(change, dict) else {}


def _rows(session: SparkSession, path: str) -> list[str] | None:
    from pyspark.errors import AnalysisException

    try:
        return [row.value for row in session.read.text(path).collect()]
    except AnalysisException as error:
        if error.getCondition() == _NOT_THERE:
            return None
        raise


def _is_empty(session: SparkSession, path: str) -> bool:
    from pyspark.errors import AnalysisException

    read = session.read.format("binaryFile").option("recursiveFileLookup", "true")
    try:
        return read.load(path).select("path").isEmpty()
    except AnalysisException as error:
        if error.getCondition() == _NOT_THERE:
            return True
        raise


def literal(path: str | Path) -> str:
    """``placed``; ``InvalidRequest`` where Spark would not read what it wrote there."""
    place = placed(path)
    if found := _PATTERN.search(place):
        raise InvalidRequest(
            f"{place}: Spark takes the {found[0]} in it for part of a pattern;"
            " name a folder without * ? [ ] { } or \\"
        )
    return place


def placed(path: str | Path) -> str:
    """A URI as it is, a path made absolute."""
    text = str(path).rstrip("/") or "/"
    return text if _SCHEME.match(text) else str(Path(text).absolute())
