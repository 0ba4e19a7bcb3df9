"""Recognizes audit files: files that must be read, duplicates under another name, and files whose
rows are replaced.

A file with the same path, length and modification time is not read again. If a file begins with the
whole content of a known file, it replaces the known file, even at another path. Fingerprints at the
ends of its first lines show this. The table FILES has the known files; only those that match a
newly read file come to the driver. The newly read files are rows of an Arrow table. Python objects
are made only of those that match other files. This module must not know lines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from itertools import count
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from metalog_spark.ingest.file_facts import Same, left_out
from metalog_spark.store.arrow import frame_of, in_spark, names_in
from metalog_spark.store.tables import FILES

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_LISTED: Final = ["path", "length", "modified"]
_BATCH_FILES: Final = 8_192
_NUMBER: Final = r"' \\([0-9]+\\)$'"
"""The number after the path, in the name of rows whose file has different content by now."""


class _ReadFile(NamedTuple):
    """``heads`` are the fingerprints at the ends of its first lines."""

    path: str
    lines: int
    heads: Sequence[int]

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


class ClassifiedFiles(NamedTuple):
    """The classes of files, by path. ``renamed`` has the names for rows of files that have another
    file's path, ``same`` has the duplicates. ``gone`` are known files whose rows are replaced."""

    renamed: Mapping[str, str]
    same: Mapping[str, Same]
    gone: Sequence[KnownFile]

    def names(self) -> list[tuple[str, str | None]]:
        """The paths whose rows have another name, with that name; None for files that are left
        out."""
        return [*self.renamed.items(), *((path, None) for path in self.same)]


def unread(listed: DataFrame, known: DataFrame | None) -> pa.Table:
    """The files of ``listed`` that are not ``known`` (rows of FILES), or have changed. In a new
    folder, where ``known`` is None, these are all files."""
    if known is not None:
        listed = listed.join(known.select(*_LISTED), _LISTED, "left_anti")
    return listed.select(*_LISTED).toArrow()


def sorted_out(read: pa.Table, known: DataFrame | None) -> ClassifiedFiles:
    """Classify the files that were read, rows of ``file_facts.FACTS``; ``known`` are rows of
    FILES, None in a new folder."""
    longest = _longest(_with_heads(read, _shared_heads(read)))
    same = {path: Same(other, None) for path, other in longest.items() if path != other}
    held = [] if known is None else _matching(read, same, known)
    by_head: dict[int | None, list[KnownFile]] = {}
    for each in held:
        by_head.setdefault(each.head, []).append(each)
    without_head = [each.path for each in by_head.get(None, ())]
    heads = [head for head in by_head if head is not None]
    gone: dict[str, KnownFile] = {}
    for file in _with_heads(read, heads, without_head):
        if file.path in same:
            continue
        grown = [each for head in file.heads for each in by_head.get(head, ())]
        grown += [each for each in by_head.get(None, ()) if each.path == file.path]
        most = max(grown, key=lambda each: each.lines, default=None)
        if most is not None and most.lines > file.lines:
            same[file.path] = Same(most.file, most.lines)
        else:
            gone |= {each.file: each for each in grown}
    kept = {each.file for each in held}.difference(gone)
    reused = [path for path in _among(read["path"], kept) if path not in same]
    return ClassifiedFiles({path: _unused(path, kept) for path in reused}, same, [*gone.values()])


def after(read: pa.Table, found: ClassifiedFiles, known: DataFrame) -> DataFrame:
    """The rows of FILES after the build."""
    import pyarrow as pa

    session = known.sparkSession
    paths = read["path"]
    columns = {name: read[name] for name in (*_LISTED, "lines", "head", "days")}
    columns["file"] = _replaced(paths, paths, found.renamed)
    others = {path: each.file for path, each in found.same.items()}
    columns["same"] = _replaced(pa.nulls(len(paths), pa.string()), paths, others)
    table = pa.table(columns).select(names_in(FILES.schema))
    new = in_spark(session, _without_nulls(table, "lines", "days"), FILES.schema)
    gone = frame_of(session, [(each.file,) for each in found.gone], "file STRING")
    kept = known.where("same IS NULL").join(gone, "file", "left_anti")
    unnamed = known.where("same IS NOT NULL").join(new.select("path"), "path", "left_anti")
    return kept.unionByName(unnamed).unionByName(new).select(*FILES.columns)


def _shared_heads(read: pa.Table) -> list[int]:
    """The fingerprints of a whole file that another file has, too."""
    import pyarrow.compute as pc

    whole = read["head"].combine_chunks()
    counted = pc.value_counts(whole.drop_null())
    found = set(counted.field("values").filter(pc.greater(counted.field("counts"), 1)).to_pylist())
    for batch in _in_batches(read, "head", "heads"):
        heads, parents = _flat(batch)
        own = pc.equal(heads, batch["head"].take(parents))
        found.update(heads.filter(pc.and_not(pc.is_in(heads, whole), own)).to_pylist())
    return list(found)


def _with_heads(read: pa.Table, heads: Sequence[int], paths: Sequence[str] = ()) -> list[_ReadFile]:
    """The files with one of the fingerprints, or at one of ``paths``."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not heads and not paths:
        return []
    wanted, at, found = pa.array(heads, pa.int64()), pa.array(paths, pa.string()), []
    for batch in _in_batches(read, *_ReadFile._fields):
        flat, parents = _flat(batch)
        places = parents.filter(pc.is_in(flat, wanted)).to_pylist()
        places += pc.indices_nonzero(pc.is_in(batch["path"], at)).to_pylist()
        some = pa.array(sorted(set(places)), pa.int64())
        found += [
            _ReadFile(row["path"], row["lines"] or 0, row["heads"] or ())
            for row in batch.take(some).to_pylist()
        ]
    return found


def _in_batches(read: pa.Table, *columns: str) -> list[pa.RecordBatch]:
    """The ``columns`` in batches. The index of the file of each fingerprint, and what is computed
    from it, take several times as much memory as the fingerprints."""
    batches: list[pa.RecordBatch] = read.select(columns).to_batches(max_chunksize=_BATCH_FILES)
    return batches


def _flat(batch: pa.RecordBatch) -> tuple[Any, Any]:
    """All fingerprints, and the index of the file of each."""
    import pyarrow.compute as pc

    heads = batch["heads"]
    return pc.list_flatten(heads), pc.list_parent_indices(heads)


def _among(paths: pa.ChunkedArray, names: set[str]) -> list[str]:
    import pyarrow as pa
    import pyarrow.compute as pc

    found: list[str] = paths.filter(pc.is_in(paths, pa.array(names, pa.string()))).to_pylist()
    return found


def _replaced(
    values: pa.Array | pa.ChunkedArray, paths: pa.ChunkedArray, by_path: Mapping[str, str]
) -> pa.Array | pa.ChunkedArray:
    """The ``values``; at the paths in ``by_path``, its values instead."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not by_path:
        return values
    places = pc.index_in(paths, pa.array(by_path, pa.string()))
    return pc.coalesce(pa.array(by_path.values(), pa.string()).take(places), values)


def _without_nulls(table: pa.Table, count: str, several: str) -> pa.Table:
    """The columns with 0 lines and no days for a file without lines."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for name, nothing in (count, pa.scalar(0, pa.int64())), (several, None):
        column = table[name]
        empty = pa.scalar([], column.type) if nothing is None else nothing
        place = table.column_names.index(name)
        table = table.set_column(place, name, pc.coalesce(column, empty))
    return table


def _longest(read: Sequence[_ReadFile]) -> dict[str, str]:
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


def _matching(read: pa.Table, same: Mapping[str, Same], known: DataFrame) -> list[KnownFile]:
    """The known files with a fingerprint or the path of one of ``read`` that is not the
    ``same`` as another."""
    import pyarrow as pa
    import pyarrow.compute as pc

    session, taken = known.sparkSession, left_out(read.select(["path", "heads"]), same)
    heads = pa.table({"head": pc.unique(pc.list_flatten(taken["heads"]))})
    by_head = in_spark(session, heads, "head BIGINT")
    by_path = in_spark(session, taken.select(["path"]).rename_columns(["of"]), "of STRING")
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
