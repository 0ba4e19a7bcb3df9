"""Which audit files are which: those that must be read, duplicates under another name, and those
whose rows are replaced.

A file with the same path, length and modification time is not read again. A file that is read
replaces the known file whose whole content it begins with, wherever that was: fingerprints at the
ends of its first lines show it. The table FILES has the known files; only those that match a file
that is read come to the driver. This module must not know lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from itertools import count
from typing import TYPE_CHECKING, Final, NamedTuple

from metalog_spark.store.arrow import frame_of
from metalog_spark.store.tables import FILES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_NUMBER: Final = r"' \\([0-9]+\\)$'"
"""The number behind the path in the name of rows whose file has different content by now."""


class ListedFile(NamedTuple):
    path: str
    length: int
    modified: datetime


class ReadFile(NamedTuple):
    """``heads`` are the fingerprints at the ends of its first lines, ``days`` the days of its
    requests."""

    listed: ListedFile
    lines: int
    heads: Sequence[int]
    days: Sequence[date]

    @property
    def path(self) -> str:
        return self.listed.path

    @property
    def head(self) -> int | None:
        return self.heads[-1] if self.heads else None


class KnownFile(NamedTuple):
    """A row of FILES that has rows in other tables."""

    path: str
    file: str
    lines: int
    head: int | None
    days: Sequence[date]


class Same(NamedTuple):
    """A file that is left out: ``file`` has its lines, ``longer`` of them if it was known
    before."""

    file: str
    longer: int | None


class ClassifiedFiles(NamedTuple):
    """By path: ``taken`` has the names of the rows of files that count, ``same`` the duplicates.
    ``gone`` are known files whose rows are replaced."""

    taken: Mapping[str, str]
    same: Mapping[str, Same]
    gone: Sequence[KnownFile]

    def names(self) -> list[tuple[str, str | None]]:
        """The paths whose rows have another name, with that name; None if they are left out."""
        others = [(path, name) for path, name in self.taken.items() if name != path]
        return [*others, *((path, None) for path in self.same)]


def unread(listed: DataFrame, known: DataFrame | None) -> list[ListedFile]:
    """The files of ``listed`` that are not ``known`` (rows of FILES), or have changed; all of them
    in a new folder, where ``known`` is None."""
    if known is not None:
        seen = known.select(*ListedFile._fields)
        listed = listed.join(seen, [*ListedFile._fields], "left_anti")
    return [ListedFile(*row.values()) for row in listed.toArrow().to_pylist()]


def sorted_out(read: Sequence[ReadFile], known: DataFrame | None) -> ClassifiedFiles:
    """Classify the files that were read; ``known`` are rows of FILES, None in a new folder."""
    longest = _longest(read)
    same = {path: Same(other, None) for path, other in longest.items() if path != other}
    taken = [each for each in read if each.path not in same]
    held = [] if known is None else _matching(taken, known)
    by_head: dict[int | None, list[KnownFile]] = {}
    for each in held:
        by_head.setdefault(each.head, []).append(each)
    gone: dict[str, KnownFile] = {}
    for file in taken:
        grown = [each for head in file.heads for each in by_head.get(head, ())]
        grown += [each for each in by_head.get(None, ()) if each.path == file.path]
        most = max(grown, key=lambda each: each.lines, default=None)
        if most is not None and most.lines > file.lines:
            same[file.path] = Same(most.file, most.lines)
        else:
            gone |= {each.file: each for each in grown}
    kept = {each.file for each in held}.difference(gone)
    names = {each.path: _unused(each.path, kept) for each in taken if each.path not in same}
    return ClassifiedFiles(names, same, list(gone.values()))


def after(read: Iterable[ReadFile], found: ClassifiedFiles, known: DataFrame) -> DataFrame:
    """The rows of FILES after the build."""
    session = known.sparkSession
    rows = []
    for each in read:
        same = found.same.get(each.path)
        name = found.taken.get(each.path, each.path)
        told = (name, same and same.file, each.lines, each.head, each.days)
        rows.append((*each.listed, *told))
    new = frame_of(session, rows, FILES.schema)
    again = frame_of(session, [(row[0],) for row in rows], "path STRING")
    gone = frame_of(session, [(each.file,) for each in found.gone], "file STRING")
    kept = known.where("same IS NULL").join(gone, "file", "left_anti")
    left_out = known.where("same IS NOT NULL").join(again, "path", "left_anti")
    return kept.unionByName(left_out).unionByName(new).select(*FILES.columns)


def _longest(read: Sequence[ReadFile]) -> dict[str, str]:
    """For each file with lines: the longest of the files that begin with its whole content."""
    by_head: dict[int, list[str]] = {}
    for each in read:
        if each.head is not None:
            by_head.setdefault(each.head, []).append(each.path)
    lengths = {each.path: (each.lines, each.path) for each in read}
    found: dict[str, str] = {}
    for each in read:
        for head in each.heads:
            for path in by_head.get(head, ()):
                other = found.get(path, path)
                found[path] = max(other, each.path, key=lengths.__getitem__)
    return found


def _matching(read: Sequence[ReadFile], known: DataFrame) -> list[KnownFile]:
    """The known files with a fingerprint or the path of one of ``read``."""
    session = known.sparkSession
    heads = {head for each in read for head in each.heads}
    by_head = frame_of(session, [(head,) for head in heads], "head BIGINT")
    by_path = frame_of(session, [(each.path,) for each in read], "of STRING")
    rows = known.where("same IS NULL").selectExpr(
        *KnownFile._fields, f"regexp_replace(file, {_NUMBER}, '') AS of"
    )
    found = rows.join(by_head, "head", "left_semi").select(*KnownFile._fields)
    named = rows.join(by_path, "of", "left_semi").select(*KnownFile._fields)
    both = found.unionAll(named).collect()
    return list({row["file"]: KnownFile(*row) for row in both}.values())


def _unused(path: str, used: set[str]) -> str:
    """``path``; with a number if the rows of another file with that path are kept."""
    numbered = (f"{path} ({number})" for number in count(2))
    return path if path not in used else next(name for name in numbered if name not in used)
