"""Measures how long each sync of a log segment takes.

This module must not know who needs the times.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from metalog.disk.files import OWNER_WRITES, LocalFiles, WritableFile

_SEGMENT: Final = ".log"


class TimedFiles(LocalFiles):
    """Calls ``observe`` with the seconds of each sync of a segment, also of a failed sync."""

    def __init__(self, observe: Callable[[float], object]) -> None:
        self._observe = observe

    def create(self, path: Path, *, mode: int = OWNER_WRITES) -> WritableFile:
        return self._timed(path, super().create(path, mode=mode))

    def extend(self, path: Path, size: int) -> WritableFile:
        return self._timed(path, super().extend(path, size))

    def _timed(self, path: Path, file: WritableFile) -> WritableFile:
        return _Timed(file, self._observe) if path.suffix == _SEGMENT else file


class _Timed:
    def __init__(self, file: WritableFile, observe: Callable[[float], object]) -> None:
        self.write = file.write
        self.close = file.close
        self._sync = file.sync
        self._observe = observe

    def sync(self) -> None:
        began = time.perf_counter()
        try:
            self._sync()
        finally:
            self._observe(time.perf_counter() - began)
