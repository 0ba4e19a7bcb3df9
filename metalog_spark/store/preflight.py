"""Checks files and folders on the local disk before Spark starts.

This module must not know Spark.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from errno import ENOLCK, ENOSYS, EOPNOTSUPP
from itertools import chain
from pathlib import Path
from typing import Final

from metalog.disk.files import LOCAL_FILES, FileLock
from metalog.errors import InvalidRequest, InvalidSource, InvalidTarget
from metalog.records.primitives.text import has_lone_surrogate
from metalog_spark.store.commit_log import COMMIT_LOG, CommittedState, replayed
from metalog_spark.store.plain_view import IGNORED, lines_of
from metalog_spark.store.refusals import lacks_table, no_folder, occupied
from metalog_spark.store.table_store import checked_folder, is_pattern, placed

_FOLDER_IN_DEMO: Final = "tables"
_LOCK: Final = ".lock"
_SMALL_BYTES: Final = 16 << 20
_FEW_FILES: Final = 1_000
PACKED: Final = (".gz", ".bz2", ".zst", ".zstd")
"""The suffixes of compressed audit files."""
_UNPACKED_RATIO: Final = 20
"""The approximate compression ratio of an audit file."""
_WITHOUT_LOCKS: Final = frozenset({ENOLCK, ENOSYS, EOPNOTSUPP})
"""The errors of a file system without locks, such as some NFS mounts."""
PARQUET: Final = (b"PAR1", b"PARE")
"""The first bytes of Parquet, without and with an encrypted footer."""


def check_can_be_read(path: str) -> None:
    """Raise ``InvalidSource`` if ``path`` is not a pipeline's folder with all its tables."""
    if _contents(Path(checked_folder(path)), path) is not None:
        return
    refused, inside = no_folder(path), Path(path, _FOLDER_IN_DEMO)
    if (inside / COMMIT_LOG).is_dir():
        raise InvalidSource(f"{refused}; did you mean {inside}?")
    raise refused


def check_can_be_filled(path: str) -> CommittedState | None:
    """The state of the pipeline's folder ``path``; None if the folder is new. Raises
    ``InvalidTarget`` if other files are in ``path``."""
    place = Path(checked_folder(path))
    contents = _contents(place, path)
    if contents is None and (found := next(files_below(place), None)) is not None:
        raise occupied(path, is_file=str(found) == placed(path))
    return contents


def files_named(audit: str) -> Iterator[Path]:
    """Yield the local files that the path or pattern ``audit`` names, with all files below folders.
    A file comes twice if a pattern (``FOLDER/**``) matches the file and its folder."""
    places = iter([Path(audit)]) if audit and Path(audit).exists() else _matches(audit)
    return (file for place in places for file in files_below(place) if file.is_file())


def is_small(paths: Iterable[str]) -> bool:
    """Whether ``paths`` name only few and small local files. A path can be a pattern, or several
    paths joined by ``+``."""
    left = _SMALL_BYTES
    places = chain.from_iterable(map(_named, paths))
    for number, file in enumerate(chain.from_iterable(map(files_below, places))):
        with suppress(FileNotFoundError):
            left -= file.stat().st_size * (_UNPACKED_RATIO if file.suffix in PACKED else 1)
        if left < 0 or number == _FEW_FILES:
            return False
    return True


def _matches(pattern: str) -> Iterator[Path]:
    return map(Path, glob.iglob(pattern, recursive=True))  # noqa: PTH207 - the pattern may be absolute


def check_is_new(path: str) -> None:
    """Raise ``InvalidTarget`` if ``path`` is a file or a folder with files."""
    if next(files_below(Path(checked_folder(path))), None) is not None:
        raise InvalidTarget(f"{path}: not empty; name a new or empty folder")


@contextmanager
def taken(path: str) -> Iterator[None]:
    """Lock the pipeline's folder ``path`` within the block. A missing folder is created, and
    removed after the block if it is still empty.

    Raises:
        InvalidTarget: another process has the lock, or the file system has no locks.
    """
    place = Path(checked_folder(path))
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
            f"{lock.parent}: another metalog pipeline build or follow writes to this folder; wait"
            " until it ends"
        ) from None
    except OSError as error:
        if error.errno not in _WITHOUT_LOCKS:
            raise
        _take_back(made)
        raise InvalidTarget(
            f"{lock.parent}: files cannot be locked there ({error.strerror}), so two programs could"
            " write there at once; name a folder on another disk, or mount this disk with locks"
        ) from None


def _take_back(made: Sequence[Path]) -> None:
    """Remove the lock and its folder in ``made``, unless the folder has other files."""
    for each in made:
        with suppress(OSError):
            if each.is_dir():
                each.rmdir()
            elif [*each.parent.iterdir()] == [each]:
                each.unlink()


def check_can_be_followed(audit: str) -> None:
    """Raise ``InvalidRequest`` if ``audit`` is missing or is a file. A pattern passes without a
    match, because its folders can be created later."""
    place = Path(audit)
    if place.exists():
        checked_folder(audit)
    elif is_pattern(audit):
        return
    if not place.is_dir():
        there = "this is a file" if place.exists() else "there is no such folder"
        raise InvalidRequest(
            f"--audit {audit}: {there}; name the folder in which finished audit logs appear"
        )


def check_is_outside(out: str, option: str, source: str) -> None:
    """Raise ``InvalidTarget`` if ``out`` is in a folder that ``source`` names. Readers of this
    folder would find foreign files."""
    if not placed(out).startswith("/"):
        return
    place = Path(placed(out)).resolve()
    for folder in _named(source):
        if not folder.is_file() and place.is_relative_to(folder.resolve()):
            raise InvalidTarget(f"{out}: lies in {option} {folder}; name another folder")


def _named(source: str) -> Iterator[Path]:
    """The paths that ``source`` names: a path, or paths and patterns that ``+`` joins. A path can
    be missing."""
    is_one = Path(source).exists()
    for part in filter(None, [source] if is_one else source.split("+")):
        found = iter(()) if is_one else _matches(part)
        yield next(found, Path(part))
        yield from found


def passed_over(audit: str) -> list[Path]:
    """The files that Spark ignores because their names are not UTF-8."""
    files = (file for root in _named(audit) for file in files_below(root))
    return sorted(file for file in files if has_lone_surrogate(str(file)))


def check_is_table(path: str, option: str) -> None:
    """Raise ``InvalidRequest`` if ``path`` is missing, encrypted, or a file that is not Parquet.
    Only the first file of a folder is checked, and only for encryption."""
    place = Path(path)
    if not is_pattern(path) and not place.exists():
        raise InvalidRequest(f"{option} {path}: there is no such file or folder")
    first = next(files_below(place), None)
    begins = b"" if first is None else first_bytes(first)
    if begins == PARQUET[1]:
        raise InvalidRequest(
            f"{option} {path}: encrypted Parquet, and Spark has no keys; give them by"
            " --spark-conf spark.hadoop.parquet.…, or name a copy that is not encrypted"
        )
    if place.is_file() and begins != PARQUET[0]:
        raise InvalidRequest(f"{option} {path}: not Parquet; name audit logs by --audit")


def first_bytes(file: Path) -> bytes:
    with file.open("rb") as opened:
        return opened.read(len(PARQUET[0]))


def _contents(place: Path, path: str) -> CommittedState | None:
    contents = replayed(lambda: lines_of(place / COMMIT_LOG), path)
    if contents is not None:
        for table in contents.tables():
            if not all((place / each).is_dir() for each in contents.places_of(table)):
                raise lacks_table(path, table)
    return contents


def files_below(place: Path) -> Iterator[Path]:
    """The file ``place``, or all files below the folder ``place`` that Spark does not ignore."""
    if place.is_file():
        yield place
    for folder, folders, names in os.walk(place):
        folders[:] = (name for name in folders if not name.startswith(IGNORED))
        yield from (Path(folder, name) for name in names if not name.startswith(IGNORED))
