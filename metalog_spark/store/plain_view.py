"""Plain Parquet beside the tables: ``FOLDER/current`` has only the files in force.

The tables keep replaced rows, and only the commit log distinguishes them from rows in force. So
each commit of rows makes a folder ``versions/SERIAL`` of hard links to the files in force, or of
copies. Then the symbolic link ``current`` points to this folder. A version does not change, so a
reader should resolve the link once. The files of a table that is stored within another table have
additional columns. This module must not know Spark, nor what a row means.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final
from uuid import uuid4

from metalog.disk.files import LOCAL_FILES, replace_whole
from metalog_spark.store.arrow import table_of
from metalog_spark.store.commit_log import COMMIT_LOG, CommittedState, replayed
from metalog_spark.store.places import WITHOUT_DAY
from metalog_spark.store.tables import TABLES, TableSchema

CURRENT: Final = "current"
VERSIONS: Final = "versions"
_KEPT_VERSIONS: Final = 3
"""Older versions are kept for readers that have already resolved the link."""
IGNORED: Final = ("_", ".")
"""Spark ignores files and folders whose names begin with these characters."""
_PARQUET: Final = ".parquet"
_DAY_OF_EMPTY: Final = "1970-01-01"
_EMPTY: Final = f"no-rows{_PARQUET}"
_DAY: Final = "day="
_DAYLESS: Final = f"{_DAY}{WITHOUT_DAY}"
"""The directory of rows without a day, which are never in force."""


def publish(folder: Path, contents: CommittedState) -> None:
    """Point ``current`` to the files in force in the state ``contents``. Do nothing if ``folder``
    is not on this machine's disk."""
    if not is_on_this_disk(folder, contents):
        return
    versions = folder / VERSIONS
    made, version = versions / f".{contents.serial}", versions / str(contents.serial)
    shutil.rmtree(made, ignore_errors=True)
    for table in TABLES.values():
        stored = contents.stored_as(table.name, table.within)
        _fill(made / table.name, table, in_force(folder, stored, contents))
    if set(_paths(made)) != set(_paths(version)):
        shutil.rmtree(version, ignore_errors=True)
        made.rename(version)
    _point(folder / CURRENT, version.relative_to(folder))
    _remove_old(versions, contents.serial)


def in_force(folder: Path, table: str, contents: CommittedState) -> Mapping[str, Path]:
    """The table's files in force, by their paths below the table's folder in ``current``."""
    replacements = contents.days.get(table, ())
    newest = {day: each.place for each in replacements for day in each.days}
    of_days = {each.place for each in replacements}
    found = {}
    for place in contents.places_of(table):
        for file in _files(folder / place):
            path = file.relative_to(folder / place)
            owner = newest.get(_day_of(path))
            if owner == place if place in of_days else owner is None:
                found[str(path.with_name(f"{Path(place).name}-{path.name}"))] = file
    return found


def days_of(folder: Path, table: TableSchema) -> Iterator[str]:
    """The days for which ``current`` has rows of ``table``. Empty without ``current``."""
    for place in (folder / CURRENT / table.name).glob(f"{_DAY}*"):
        if not (place / _EMPTY).exists():
            yield place.name.removeprefix(_DAY)


def lines_of(commit_log: Path) -> Sequence[str] | None:
    """The lines of a commit log on this machine's disk, also while a writer changes the log. None
    if the log is missing. Raises ``OSError`` if a line cannot be read."""
    while commit_log.is_dir():
        try:
            return [*_lines_in(commit_log)]
        except FileNotFoundError as error:
            if os.path.lexists(error.filename):  # a symbolic link to nothing
                raise
    return None


def _lines_in(commit_log: Path) -> Iterator[str]:
    for file in commit_log.iterdir():
        if not (file.is_dir() or file.name.startswith(IGNORED)):
            lines = file.read_text(encoding="utf-8", errors="replace").split("\n")
            yield from filter(None, lines)


def add_line(commit_log: Path, line: str, *, alone: bool = False) -> None:
    """Add one line durably and atomically. With ``alone``, then remove all other lines."""
    commit_log.mkdir(parents=True, exist_ok=True)
    before = [file for file in commit_log.iterdir() if alone and file.is_file()]
    replace_whole(LOCAL_FILES, commit_log / f"part-{uuid4().hex}.txt", f"{line}\n".encode())
    for file in before:
        file.unlink()


def is_on_this_disk(folder: Path, contents: CommittedState) -> bool:
    """Whether this machine's disk has ``folder`` in the state ``contents``. Spark can find another
    machine's folder at the same path."""
    log = folder / COMMIT_LOG
    found = replayed(lambda: lines_of(log), str(folder))
    return found is not None and found.serial == contents.serial


def _paths(version: Path) -> Iterator[Path]:
    return (file.relative_to(version) for file in _files(version))


def _files(place: Path) -> Iterator[Path]:
    for above, folders, names in os.walk(place):
        folders[:] = [name for name in folders if not name.startswith(IGNORED) and name != _DAYLESS]
        for name in names:
            if name.endswith(_PARQUET) and not name.startswith(IGNORED):
                yield Path(above, name)


def _day_of(path: Path) -> str:
    """``VALUE`` from the path ``day=VALUE/…``; empty for other paths."""
    return path.parts[0].partition("=")[2] if len(path.parts) > 1 else ""


def _fill(place: Path, table: TableSchema, files: Mapping[str, Path]) -> None:
    for path, file in files.items():
        target = place / path
        target.parent.mkdir(parents=True, exist_ok=True)
        _link(file, target)
    if not files:
        _write_empty(place, table)


def _link(file: Path, target: Path) -> None:
    try:
        target.hardlink_to(file)
    except FileNotFoundError:
        raise
    except OSError:
        shutil.copyfile(file, target)


def _write_empty(place: Path, table: TableSchema) -> None:
    """A file without rows shows the table's columns to a reader."""
    from pyarrow import parquet

    rows = table_of([], table.schema)
    for name in table.partitions:
        place /= f"{name}={_DAY_OF_EMPTY}"
        rows = rows.drop_columns([name])
    place.mkdir(parents=True)
    parquet.write_table(rows, place / _EMPTY)


def _point(link: Path, version: Path) -> None:
    """Replace the link atomically, so that a reader always finds a version."""
    made = link.with_name(f".{link.name}")
    made.unlink(missing_ok=True)
    made.symlink_to(version)
    made.replace(link)


def _remove_old(versions: Path, newest: int) -> None:
    numbers = sorted(int(each.name) for each in versions.iterdir() if each.name.isdigit())
    kept = {newest, *numbers[-_KEPT_VERSIONS:]}
    for each in versions.iterdir():
        if not (each.name.isdigit() and int(each.name) in kept):
            with suppress(OSError):
                shutil.rmtree(each)
