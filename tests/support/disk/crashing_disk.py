"""A disk that loses unsynced data, as POSIX allows, and fails at a chosen step.

It implements ``metalog.disk.files.Files``. A file's bytes are safe once the file was synced, its
name once its folder was. ``fail_at`` is the number of the step that fails; with ``tear``, a write
that fails leaves half of its bytes. This module must not know what the files hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Final

from tests.support.disk.memory_disk import MemoryReadable

SECTOR: Final = 512
SMALLEST_HOLE: Final = 16


class Inode:
    def __init__(self, data: bytes = b"") -> None:
        self.data = bytearray(data)
        self.synced = data

    def after_crash(self, chance: Random) -> bytes:
        """All synced bytes, and a random part of the rest."""
        if not self.data.startswith(self.synced):
            return chance.choice((self.synced, bytes(self.data)))
        rest = bytes(self.data[len(self.synced) :])
        kept = rest[: chance.randint(0, len(rest))]
        holed = with_hole(rest, len(self.synced), chance)
        return self.synced + chance.choice((kept, bytes(len(kept)), holed, rest, b""))


def with_hole(data: bytes, position: int, chance: Random) -> bytes:
    """``data`` cut at byte ``position``, as long as the complete file, but with sectors of zeros:
    at its end, or one in its middle, which never reached the disk."""
    starts = range(-position % SECTOR, len(data) - SMALLEST_HOLE + 1, SECTOR)
    if not starts:
        return data
    start = chance.choice(starts)
    end = chance.choice((start + SECTOR, len(data)))
    return data[:start] + bytes(min(end, len(data)) - start) + data[end:]


class CrashingWritable:
    def __init__(self, disk: CrashingDisk, inode: Inode) -> None:
        self._disk = disk
        self._inode = inode

    def write(self, data: bytes) -> None:
        if self._disk.fails():
            self._inode.data += data[: len(data) // 2] if self._disk.tear else b""
            raise OSError(28, "No space left on device")
        self._inode.data += data

    def sync(self) -> None:
        self._disk.step()
        self._inode.synced = bytes(self._inode.data)

    def close(self) -> None:
        pass


class CrashingDisk:
    def __init__(
        self, contents: Mapping[Path, bytes], *, fail_at: int | None = None, tear: bool = False
    ) -> None:
        self._names = {path: Inode(bytes(data)) for path, data in contents.items()}
        self._safe_names = dict(self._names)
        self.fail_at = fail_at
        self.tear = tear
        self.steps = 0

    def after_crash(self, chance: Random) -> dict[Path, bytes]:
        """What a machine finds on the disk after a restart."""
        found = {}
        for path in sorted({*self._names, *self._safe_names}):
            now, safe = self._names.get(path), self._safe_names.get(path)
            inode = now if now is safe else chance.choice((now, safe))
            if inode is not None:
                found[path] = inode.after_crash(chance)
        return found

    def fails(self) -> bool:
        self.steps += 1
        return self.steps - 1 == self.fail_at

    def step(self) -> None:
        if self.fails():
            raise OSError(5, "Input/output error")

    def is_folder(self, path: Path) -> bool:
        return any(path in file.parents for file in self._names)

    def is_file(self, path: Path) -> bool:
        return path in self._names

    def owners(self, path: Path) -> frozenset[int]:
        return frozenset({0})

    def names(self, folder: Path) -> list[str]:
        depth = len(folder.parts)
        return sorted({path.parts[depth] for path in self._names if folder in path.parents})

    def open(self, path: Path) -> MemoryReadable:
        if path not in self._names:
            raise FileNotFoundError(2, "No such file or directory", str(path))
        return MemoryReadable(self._names[path].data)

    def create(self, path: Path, *, mode: int = 0) -> CrashingWritable:
        self.step()
        inode = self._names.get(path)
        if inode is None:
            inode = self._names[path] = Inode()
        inode.data.clear()
        return CrashingWritable(self, inode)

    def extend(self, path: Path, size: int) -> CrashingWritable:
        self.step()
        inode = self._names[path]
        del inode.data[size:]
        return CrashingWritable(self, inode)

    def make_folder(self, path: Path) -> None:
        self.step()

    def lock(self, path: Path) -> MemoryReadable:
        return MemoryReadable(b"")

    def rename(self, source: Path, target: Path) -> None:
        self.step()
        self._names[target] = self._names.pop(source)

    def remove(self, path: Path) -> None:
        self.step()
        del self._names[path]

    def sync_folder(self, folder: Path) -> None:
        self.step()
        for path in [path for path in self._safe_names if path.parent == folder]:
            del self._safe_names[path]
        self._safe_names.update(
            {path: inode for path, inode in self._names.items() if path.parent == folder}
        )
