"""File locks that other processes respect, Java processes included.

Java's ``FileChannel.tryLock`` is an fcntl lock. An fcntl lock belongs to the process, and closing
any descriptor of the file releases the lock. So ``LocalLock`` does not open a file that this
process has locked. This module must not know what a lock protects.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from contextlib import suppress
from errno import EACCES, EAGAIN
from pathlib import Path
from threading import Lock
from typing import Final

_locked: Final[set[tuple[int, int]]] = set()
_mutex: Final = Lock()


class LocalLock:
    """Locks ``path`` as ``Files.lock`` does, until ``close``."""

    def __init__(self, path: Path, created: Callable[[int, Path], None]) -> None:
        """If the file is missing, ``created`` gets the new file's descriptor and path."""
        with _mutex:
            with suppress(FileNotFoundError):
                if _identity(path.stat()) in _locked:
                    raise BlockingIOError(EAGAIN, "held by this very process", str(path))
            descriptor = _opened(path, created)
            try:
                fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                os.close(descriptor)
                if error.errno in (EACCES, EAGAIN):
                    raise BlockingIOError(EAGAIN, "held by another process", str(path)) from None
                raise
            self._descriptor: int | None = descriptor
            self._identity = _identity(os.fstat(descriptor))
            _locked.add(self._identity)

    def close(self) -> None:
        with _mutex:
            if self._descriptor is not None:
                os.close(self._descriptor)
                self._descriptor = None
                _locked.discard(self._identity)


def _opened(path: Path, created: Callable[[int, Path], None]) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        descriptor = os.open(path, flags | os.O_EXCL, 0o666)
    except FileExistsError:
        return os.open(path, flags, 0o666)
    created(descriptor, path)
    return descriptor


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
