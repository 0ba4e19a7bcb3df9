"""Checks a pipeline's folder on the local disk before Spark starts.

This module must not know Spark.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from errno import ENOLCK, ENOSYS, EOPNOTSUPP
from pathlib import Path
from typing import Final

from metalog.errors import InvalidRequest, InvalidSource, InvalidTarget
from metalog.files import LOCAL_FILES, FileLock
from metalog.records.primitives.text import has_half_pair
from metalog_spark.store.commit_log import LIST, CommittedState, replayed
from metalog_spark.store.plain_view import lines_of
from metalog_spark.store.refusals import lacks_table, no_folder
from metalog_spark.store.table_store import is_pattern, literal, occupied, placed

_IN_A_DEMO: Final = "tables"
"""What metalog pipeline demo calls the folder in its own."""
_LOCK: Final = ".lock"
_WITHOUT_LOCKS: Final = frozenset({ENOLCK, ENOSYS, EOPNOTSUPP})
"""What a file system says that has no locks, as NFS may be mounted."""
_PARQUET: Final = b"PAR1"
_ENCRYPTED: Final = b"PARE"
"""How Parquet begins whose footer is encrypted, too."""
_PASSED_OVER: Final = ("_", ".")
"""How names begin that Spark does not look at."""


def check_can_be_read(path: str) -> None:
    """``InvalidSource`` where ``path`` is not a pipeline's folder, or not whole."""
    if _contents(Path(literal(path)), path) is not None:
        return
    refused, inside = no_folder(path), Path(path, _IN_A_DEMO)
    if (inside / LIST).is_dir():
        raise InvalidSource(f"{refused}; did you mean {inside}?")
    raise refused


def check_can_be_filled(path: str) -> CommittedState | None:
    """What the pipeline's folder ``path`` has, None where it is new; ``InvalidTarget`` where
    other files lie there."""
    place = Path(literal(path))
    contents = _contents(place, path)
    if contents is None and (found := next(files_below(place), None)) is not None:
        raise occupied(path, by=str(found))
    return contents


def files_named(audit: str) -> list[Path]:
    """The files of this machine that ``audit`` names: one, those below a folder, or those of a
    pattern. ``InvalidRequest`` where there is none."""
    found = [audit] if Path(audit).exists() else glob.glob(audit, recursive=True)  # noqa: PTH207 - may be absolute
    files = sorted({file for each in found for file in files_below(Path(each))})
    if not files:
        raise InvalidRequest(f"--audit {audit}: no such file, and none that matches")
    return files


def check_is_new(path: str) -> None:
    """``InvalidTarget`` where ``path`` is a file, or files lie there."""
    if next(files_below(Path(literal(path))), None) is not None:
        raise InvalidTarget(f"{path}: there are files; name a folder that is new or empty")


@contextmanager
def taken(path: str) -> Iterator[None]:
    """The pipeline's folder ``path`` for this process alone to write to within the block, or until
    the process ends; made if it is not there, and as it was where nothing was written.
    ``InvalidTarget`` where another has it."""
    place = Path(literal(path))
    made = [each for each in (place / _LOCK, place) if not each.exists()]
    place.mkdir(parents=True, exist_ok=True)
    with closing(_locked(place / _LOCK, made)):
        try:
            yield
        finally:
            _take_back(made)


def _locked(lock: Path, made: Sequence[Path]) -> FileLock:
    try:
        return LOCAL_FILES.lock(lock)
    except BlockingIOError:
        raise InvalidTarget(
            f"{lock.parent}: another metalog pipeline build or follow writes to it; wait for its"
            " end"
        ) from None
    except OSError as error:
        if error.errno not in _WITHOUT_LOCKS:
            raise
        _take_back(made)
        raise InvalidTarget(
            f"{lock.parent}: no file can be locked there ({error.strerror}), so that two could"
            " write to it at once; name a folder on another disk, or mount this one with locks"
        ) from None


def _take_back(made: Sequence[Path]) -> None:
    """The lock and its folder, as far as they were ``made`` and nothing else lies there."""
    for each in made:
        with suppress(OSError):
            if each.is_dir():
                each.rmdir()
            elif [*each.parent.iterdir()] == [each]:
                each.unlink()


def check_can_be_followed(audit: str) -> None:
    """``InvalidRequest`` where no finished logs can appear in the folder ``audit``; a pattern may
    name folders that come later."""
    place = Path(audit)
    if place.exists():
        literal(audit)
    elif is_pattern(audit):
        return
    if not place.is_dir():
        there = "a file" if place.exists() else "there is no such folder"
        raise InvalidRequest(
            f"--audit {audit}: {there}; name the folder in which finished audit logs appear"
        )


def check_is_outside(out: str, option: str, source: str) -> None:
    """``InvalidTarget`` where a folder that ``source`` names has ``out``: who reads it, and whoever
    else does, would find files there that are none of it."""
    if not placed(out).startswith("/"):
        return
    place = Path(placed(out)).resolve()
    for folder in _named(source):
        if not folder.is_file() and place.is_relative_to(folder.resolve()):
            raise InvalidTarget(f"{out}: lies in {option} {folder}; name another folder")


def _named(source: str) -> list[Path]:
    """The files and folders of a pattern, or of folders joined by ``+``, be they there or not."""
    if not source or Path(source).exists():
        return [Path(source)] if source else []
    parts = (glob.glob(part) or [part] for part in source.split("+"))  # noqa: PTH207 - may be absolute
    return [Path(each) for found in parts for each in found]


def passed_over(audit: str) -> list[Path]:
    """The files in the folder ``audit``, or in those of a pattern, that Spark does not see, since
    their names are not UTF-8; of the names that one hides a file by, nothing is said."""
    files = (file for root in _named(audit) for file in files_below(root))
    return sorted(file for file in files if has_half_pair(str(file)))


def check_is_table(path: str, option: str) -> None:
    """``InvalidRequest`` where no table is that was made otherwise, or none that can be read; of a
    folder the rest is Spark's to say."""
    place = Path(path)
    if not is_pattern(path) and not place.exists():
        raise InvalidRequest(f"{option} {path}: there is no such file or folder")
    first = next(files_below(place), None)
    begins = b"" if first is None else _begins(first)
    if begins == _ENCRYPTED:
        raise InvalidRequest(
            f"{option} {path}: encrypted Parquet, and Spark is given no keys; give them by"
            " --spark-conf spark.hadoop.parquet.…, or a copy that is not encrypted"
        )
    if place.is_file() and begins != _PARQUET:
        raise InvalidRequest(f"{option} {path}: not Parquet; name audit logs by --audit")


def _begins(file: Path) -> bytes:
    with file.open("rb") as opened:
        return opened.read(len(_PARQUET))


def _contents(place: Path, path: str) -> CommittedState | None:
    if not (place / LIST).is_dir():
        return None
    contents = replayed(lambda: lines_of(place / LIST), path)
    if contents is not None:
        for table in contents.tables():
            if not all((place / each).is_dir() for each in contents.places_of(table)):
                raise lacks_table(path, table)
    return contents


def files_below(place: Path) -> Iterator[Path]:
    """The files that Spark would find in ``place``, or ``place`` itself."""
    if place.is_file():
        yield place
    for folder, folders, names in os.walk(place):
        folders[:] = (name for name in folders if not name.startswith(_PASSED_OVER))
        yield from (Path(folder, name) for name in names if not name.startswith(_PASSED_OVER))
