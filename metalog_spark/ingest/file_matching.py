"""Recognizes audit files of earlier builds: which files are left out, which rows are replaced.

A known file is a row of the table FILES. A file with the path, length and modification time of a
known file is not read again. Fingerprints show whether a file begins as a known file does, also if
the paths differ. Such a file replaces the known file, or is left out if it has fewer lines. This
module must not know what lines say.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date
from functools import reduce
from itertools import count
from typing import TYPE_CHECKING, Final, NamedTuple

from metalog_spark.ingest.file_facts import Same, files_without
from metalog_spark.store.arrow import frame_of
from metalog_spark.store.tables import FILES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LISTED: Final = ["path", "length", "modified"]
_NUMBER: Final = r"' \\([0-9]+\\)$'"
"""The number after the path, in a name such as ``PATH (2)``."""
_NAMES: Final = f"array_distinct(array(file, regexp_replace(file, {_NUMBER}, '')))"


class ReplacedFile(NamedTuple):
    """The name of a known file in other tables, and the days with its requests."""

    file: str
    days: Sequence[date]


class ClassifiedFiles(NamedTuple):
    """``renamed`` and ``same`` are by path. ``renamed`` has a new name for each file whose path is
    already another file's name. ``same`` has the files that are left out. ``gone`` has the known
    files whose rows are replaced."""

    renamed: Mapping[str, str]
    same: Mapping[str, Same]
    gone: Sequence[ReplacedFile]

    def names(self) -> list[tuple[str, str | None]]:
        """The path of each renamed file with its new name, and of each left-out file with None."""
        return [*self.renamed.items(), *((path, None) for path in self.same)]


class _Match(NamedTuple):
    """The file at ``path`` begins as the known file ``file`` does."""

    path: str
    lines: int
    file: str
    known_lines: int
    days: Sequence[date]


def unread(listed: DataFrame, known: DataFrame | None) -> DataFrame:
    """The files in ``listed`` that are new or have changed. ``known`` has rows of FILES, or is None
    in a new folder."""
    return listed if known is None else listed.join(known.select(*_LISTED), _LISTED, "left_anti")


def classified(read: DataFrame, known: DataFrame | None) -> ClassifiedFiles:
    """Classify the files in ``read`` (rows of ``file_facts.FACTS``). ``known`` has rows of FILES,
    or is None in a new folder."""
    same = {path: Same(file, None) for path, file in _copies(read)}
    if known is None:
        return ClassifiedFiles({}, same, ())
    originals, rows = files_without(read, same), known.where("same IS NULL")
    gone: dict[str, ReplacedFile] = {}
    for path, matches in _matches(originals, rows).items():
        most = max(matches, key=lambda each: (each.known_lines, each.file))
        if most.known_lines > most.lines:
            same[path] = Same(most.file, most.known_lines)
        else:
            gone |= {each.file: ReplacedFile(each.file, each.days) for each in matches}
    kept = defaultdict[str, set[str]](set)
    for path, file in _of_the_same_path(originals, rows):
        if path not in same and file not in gone:
            kept[path].add(file)
    renamed = {path: _unused(path, files) for path, files in kept.items() if path in files}
    return ClassifiedFiles(renamed, same, [*gone.values()])


def files_after(read: DataFrame, found: ClassifiedFiles, known: DataFrame) -> DataFrame:
    """The rows of FILES after the build."""
    from pyspark.sql import functions as f

    session = known.sparkSession
    left_out = [(path, path, each.file) for path, each in found.same.items()]
    names = [*((path, name, None) for path, name in found.renamed.items()), *left_out]
    named = frame_of(session, names, "path STRING, name STRING, same STRING")
    new = read.join(f.broadcast(named), "path", "left").withColumns(
        {
            "file": f.coalesce("name", "path"),
            "lines": f.coalesce("lines", f.lit(0)),
            "days": f.coalesce("days", f.array()),
        }
    )
    gone = frame_of(session, [(each.file,) for each in found.gone], "file STRING")
    kept = known.where("same IS NULL").join(gone, "file", "left_anti")
    still_left_out = known.where("same IS NOT NULL").join(new.select("path"), "path", "left_anti")
    parts = (each.select(*FILES.columns) for each in (kept, still_left_out, new))
    return reduce(lambda one, more: one.unionAll(more), parts)


def _copies(read: DataFrame) -> Iterable[tuple[str, str]]:
    """Pairs of paths: a file, and the longest file that begins with its lines."""
    beginnings = read.selectExpr("path", "lines", "head AS whole", "explode(heads) AS head")
    longest = beginnings.selectExpr(
        "path",
        "whole = head AS is_whole",
        "max(struct(lines, path)) OVER (PARTITION BY head) AS of",
    )
    copies = longest.where("is_whole AND path <> of.path").select("path", "of.path")
    return map(tuple, copies.collect())


def _matches(originals: DataFrame, known: DataFrame) -> Mapping[str, Sequence[_Match]]:
    """The matches by path. A known file without a whole line is recognized by its path."""
    own = originals.selectExpr("path", "coalesce(lines, 0) AS lines", "heads")
    rows = known.selectExpr("path AS at", "head", "file", "lines AS known_lines", "days")
    by_head = own.selectExpr("*", "explode(heads) AS head").join(rows, "head")
    by_path = own.join(rows.where("head IS NULL"), own["path"] == rows["at"])
    found = defaultdict[str, list[_Match]](list)
    for each in (by_head, by_path):
        for row in each.select(*_Match._fields).collect():
            found[row["path"]].append(_Match(*row))
    return found


def _of_the_same_path(originals: DataFrame, known: DataFrame) -> Iterable[tuple[str, str]]:
    """Pairs: the path of a file in ``originals``, and the name of a known file from this path."""
    names = known.selectExpr("file", f"explode({_NAMES}) AS path")
    return map(tuple, names.join(originals.select("path"), "path").select("path", "file").collect())


def _unused(path: str, used: Collection[str]) -> str:
    numbered = (f"{path} ({number})" for number in count(2))
    return next(name for name in numbered if name not in used)
