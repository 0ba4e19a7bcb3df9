"""A disk in memory, for tests that damage thousands of files or let writes fail.

It implements ``metalog.disk.files.Files``. This module must not know what the files hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


class MemoryReadable:
    """``data`` as an open file."""

    def __init__(self, data: bytes | bytearray) -> None:
        self.data = data

    def size(self) -> int:
        return len(self.data)

    def read_at(self, position: int, size: int) -> bytes:
        return bytes(self.data[position : position + size])

    def close(self) -> None:
        pass


class MemoryWritable:
    def __init__(self, disk: MemoryDisk, path: Path) -> None:
        self._disk = disk
        self._path = path

    def write(self, data: bytes) -> None:
        self._disk.step(f"write {self._path.name}")
        self._disk.contents[self._path] += data

    def sync(self) -> None:
        self._disk.step(f"sync {self._path.name}")

    def close(self) -> None:
        pass


class MemoryDisk:
    """``contents`` by path; a folder exists if it contains a file. ``steps`` lists every change in
    order; the change number ``fail_at`` fails and is not carried out."""

    def __init__(self, contents: Mapping[Path, bytes], *, fail_at: int | None = None) -> None:
        self.contents = {path: bytearray(data) for path, data in contents.items()}
        self.steps: list[str] = []
        self._fail_at = fail_at

    @classmethod
    def of(cls, folder: Path) -> MemoryDisk:
        """A copy of the real ``folder``, under the same paths."""
        return cls({path: path.read_bytes() for path in folder.rglob("*") if path.is_file()})

    def step(self, what: str) -> None:
        if len(self.steps) == self._fail_at:
            raise OSError(28, "No space left on device")
        self.steps.append(what)

    def is_folder(self, path: Path) -> bool:
        return any(path in file.parents for file in self.contents)

    def is_file(self, path: Path) -> bool:
        return path in self.contents

    def owners(self, path: Path) -> frozenset[int]:
        return frozenset({0})

    def names(self, folder: Path) -> list[str]:
        depth = len(folder.parts)
        inside = (path for path in self.contents if folder in path.parents)
        return sorted({path.parts[depth] for path in inside})

    def open(self, path: Path) -> MemoryReadable:
        if path not in self.contents:
            raise FileNotFoundError(2, "No such file or directory", str(path))
        return MemoryReadable(self.contents[path])

    def create(self, path: Path, *, mode: int = 0) -> MemoryWritable:
        self.step(f"create {path.name}")
        self.contents[path] = bytearray()
        return MemoryWritable(self, path)

    def extend(self, path: Path, size: int) -> MemoryWritable:
        self.step(f"cut {path.name}")
        del self.contents[path][size:]
        return MemoryWritable(self, path)

    def make_folder(self, path: Path) -> None:
        self.step(f"make {path.name}/")

    def lock(self, path: Path) -> MemoryReadable:
        return MemoryReadable(b"")

    def rename(self, source: Path, target: Path) -> None:
        self.step(f"rename {source.name} {target.name}")
        self.contents[target] = self.contents.pop(source)

    def remove(self, path: Path) -> None:
        if path not in self.contents:
            raise FileNotFoundError(2, "No such file or directory", str(path))
        del self.contents[path]

    def sync_folder(self, folder: Path) -> None:
        self.step(f"sync {folder.name}/")
