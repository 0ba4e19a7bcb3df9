"""The disk, passed in: every byte that this project reads or writes goes through ``Files``.

``LocalFiles`` is the real disk. Tests pass others, which fail writes or count them.
Failures are ``OSError``, as the system reports them; who asked knows what to say of it.
This module must not know what the files hold.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final, Protocol

_DESCRIPTORS: Final = ("/dev/fd/", "/proc/self/fd/", "/dev/stdin", "/dev/stdout", "/dev/stderr")
STREAM_LIMIT: Final = 256 << 20
"""A pipe is read to its end before anybody looks at it, so no more than this is taken."""


OWNER_WRITES: Final = 0o644
OWNER_READS: Final = 0o400
"""Modes of files: who may read it besides, and that nobody is to change it any more."""


class ReadableFile(Protocol):
    """An open file; reads name their place, so that a growing file can be read again."""

    def size(self) -> int: ...

    def read_at(self, position: int, size: int) -> bytes:
        """``size`` bytes from ``position`` on; fewer only where the file ends."""
        ...

    def close(self) -> None: ...


class WritableFile(Protocol):
    def write(self, data: bytes) -> None:
        """Appends all of ``data``."""
        ...

    def sync(self) -> None:
        """Returns when all that was written is on the disk."""
        ...

    def close(self) -> None: ...


class FileLock(Protocol):
    """A lock; ``close`` gives it back."""

    def close(self) -> None: ...


class Files(Protocol):
    def is_folder(self, path: Path) -> bool: ...

    def is_file(self, path: Path) -> bool: ...

    def names(self, folder: Path) -> list[str]:
        """What lies in ``folder``, sorted."""
        ...

    def owners(self, path: Path) -> frozenset[int]:
        """The number of the user to whom ``path`` belongs, and of a link also its own."""
        ...

    def open(self, path: Path) -> ReadableFile:
        """A pipe too, such as a shell's ``<(…)``."""
        ...

    def create(self, path: Path, *, mode: int = OWNER_WRITES) -> WritableFile:
        """A new, empty file; what stood there under that name is gone."""
        ...

    def extend(self, path: Path, size: int) -> WritableFile:
        """An existing file, to be written on from byte ``size``; what is past it is cut off."""
        ...

    def make_folder(self, path: Path) -> None:
        """``path`` and the folders above it, as far as they are missing."""
        ...

    def lock(self, path: Path) -> FileLock:
        """Hold ``path``, made if missing, against every other process and the rest of this
        one; ``BlockingIOError`` if somebody holds it. Java's FileChannel.tryLock minds it."""
        ...

    def rename(self, source: Path, target: Path) -> None:
        """Atomically; what stood at ``target`` is replaced."""
        ...

    def remove(self, path: Path) -> None: ...

    def sync_folder(self, folder: Path) -> None:
        """Returns when the names in ``folder`` are on the disk."""
        ...


@contextmanager
def opened(files: Files, path: Path) -> Iterator[ReadableFile]:
    """``path`` open for reading, closed at the end of the block."""
    file = files.open(path)
    try:
        yield file
    finally:
        file.close()


def read_whole(files: Files, path: Path) -> bytes:
    """All of a small file."""
    with opened(files, path) as file:
        return file.read_at(0, file.size())


def replace_whole(files: Files, path: Path, data: bytes) -> None:
    """A small file, durably: after a crash it holds what it held, or all of ``data``.

    ``OSError`` names ``path``; what was begun beside it is gone then.
    """
    part = path.with_name(path.name + ".tmp")
    try:
        _replace_by(files, part, path, data)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    files.sync_folder(path.parent)


def write_out(path: Path, data: bytes) -> None:
    """``data`` on the real disk, as by ``replace_whole``; or into the pipe or device that ``path``
    names, such as a shell's ``>(…)``, which nothing can replace."""
    try:
        is_stream = is_descriptor(path) or _is_stream(path.stat().st_mode)
    except OSError:
        is_stream = False
    if not is_stream:
        replace_whole(LOCAL_FILES, path, data)
        return
    with os.fdopen(os.open(path, os.O_WRONLY), "wb") as stream:
        stream.write(data)


def _replace_by(files: Files, part: Path, path: Path, data: bytes) -> None:
    file = files.create(part)
    try:
        try:
            file.write(data)
            file.sync()
        finally:
            file.close()
        files.rename(part, path)
    except BaseException:
        with suppress(OSError):
            files.remove(part)
        raise


class _LocalReadable:
    __slots__ = ("_descriptor",)

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def size(self) -> int:
        return os.fstat(self._descriptor).st_size

    def read_at(self, position: int, size: int) -> bytes:
        data = os.pread(self._descriptor, size, position)
        if len(data) == size or not data:
            return data
        parts = [data]
        missing = size - len(data)
        while missing and (data := os.pread(self._descriptor, missing, position + size - missing)):
            parts.append(data)
            missing -= len(data)
        return b"".join(parts)

    def close(self) -> None:
        os.close(self._descriptor)


class _Drained:
    """All that came from a pipe, as an open file."""

    __slots__ = ("_data",)

    def __init__(self, data: bytes) -> None:
        self._data = data

    def size(self) -> int:
        return len(self._data)

    def read_at(self, position: int, size: int) -> bytes:
        return self._data[position : position + size]

    def close(self) -> None:
        pass


class _LocalWritable:
    __slots__ = ("_descriptor",)

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]

    def sync(self) -> None:
        os.fsync(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)


class LocalFiles:
    """The disk of this machine. No lock is ever taken for reading.

    Files and folders that root makes get the folder's owner: root's files in a node's folder
    would keep the node from starting. So nothing is made through a link, by which the folder's
    owner could have root write and give away what lies elsewhere.
    """

    def is_folder(self, path: Path) -> bool:
        return _has_type(path, stat.S_IFDIR)

    def is_file(self, path: Path) -> bool:
        return _has_type(path, stat.S_IFREG)

    def names(self, folder: Path) -> list[str]:
        return sorted(os.listdir(folder))  # noqa: PTH208 - names are wanted, not paths

    def owners(self, path: Path) -> frozenset[int]:
        return frozenset((path.stat().st_uid, path.lstat().st_uid))

    def open(self, path: Path) -> ReadableFile:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        if not _is_stream(os.fstat(descriptor).st_mode):
            return _LocalReadable(descriptor)
        with os.fdopen(descriptor, "rb") as stream:
            return _Drained(_drained(stream, path))

    def create(self, path: Path, *, mode: int = OWNER_WRITES) -> WritableFile:
        descriptor = _open_new(path, mode)
        _give_to_owner(descriptor, path)
        return _LocalWritable(descriptor)

    def extend(self, path: Path, size: int) -> WritableFile:
        descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.ftruncate(descriptor, size)
            os.lseek(descriptor, size, os.SEEK_SET)
        except BaseException:
            os.close(descriptor)
            raise
        return _LocalWritable(descriptor)

    def make_folder(self, path: Path) -> None:
        missing = [each for each in (path, *path.parents) if not each.exists()]
        for folder in reversed(missing):
            folder.mkdir()
            descriptor = os.open(folder, os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                _give_to_owner(descriptor, folder)
            finally:
                os.close(descriptor)

    def lock(self, path: Path) -> FileLock:
        from metalog.locks import LocalLock

        return LocalLock(path, _give_to_owner)

    def rename(self, source: Path, target: Path) -> None:
        source.replace(target)

    def remove(self, path: Path) -> None:
        path.unlink()

    def sync_folder(self, folder: Path) -> None:
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _open_new(path: Path, mode: int) -> int:
    """A file that nobody else made: one left over would keep its owner, its mode, and whoever
    has it open. ``OSError`` at a link."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        return os.open(path, flags, mode)
    except FileExistsError:
        if path.is_symlink():
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path)) from None
        path.unlink()
        return os.open(path, flags, mode)


def _give_to_owner(descriptor: int, path: Path) -> None:
    """Of what is open, not of what by now has its name."""
    if os.geteuid() == 0:
        folder = path.parent.stat()
        os.fchown(descriptor, folder.st_uid, folder.st_gid)


def _drained(stream: BinaryIO, path: Path) -> bytes:
    """All that comes from ``stream``. Of a descriptor of ours, as a shell's ``<(…)`` is, it is
    kept: whoever reads the same settings once more would find none."""
    status = os.fstat(stream.fileno())
    is_ours = is_descriptor(path) and stat.S_ISFIFO(status.st_mode)
    key = status.st_dev, status.st_ino
    if is_ours and key in _kept:
        return _kept[key]
    data = stream.read(STREAM_LIMIT + 1)
    if len(data) > STREAM_LIMIT:
        said = f"more than {STREAM_LIMIT >> 20} MiB come from it, and it is not a file"
        raise OSError(errno.EFBIG, said, str(path))
    if is_ours:
        _kept[key] = data
    return data


_kept: Final[dict[tuple[int, int], bytes]] = {}


def is_descriptor(path: Path) -> bool:
    """Whether ``path`` names an open file of this process, as a shell writes ``<(…)``."""
    return str(path).startswith(_DESCRIPTORS)


def _is_stream(mode: int) -> bool:
    """Whether it is a pipe or the like, which has no places to read from."""
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISCHR(mode)


def _has_type(path: Path, wanted: int) -> bool:
    """Unlike ``Path.is_file``, lets a refused permission be seen as what it is."""
    try:
        return stat.S_IFMT(path.stat().st_mode) == wanted
    except (FileNotFoundError, NotADirectoryError):
        return False


LOCAL_FILES = LocalFiles()
