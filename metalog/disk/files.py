"""The port to the disk: ``Files``, through which this project reads and writes files.

``LocalFiles`` is the real disk; tests replace it. Methods raise ``OSError``, and the caller turns
the error into a message. This module must not know what the files hold.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final, Protocol

_STANDARD: Final = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}
_DESCRIPTOR: Final = re.compile(r"\d{1,9}", re.ASCII)
STREAM_LIMIT: Final = 256 << 20
"""The size limit for a pipe in bytes, because a reader holds all bytes in memory."""


OWNER_WRITES: Final = 0o644
"""A mode: everybody may read, and only the owner may write."""
OWNER_READS: Final = 0o400
"""A mode: only the owner may read, and nobody may write."""


class ReadableFile(Protocol):
    """An open file, which can grow between reads."""

    def size(self) -> int: ...

    def read_at(self, position: int, size: int) -> bytes:
        """``size`` bytes from ``position`` on; fewer only at the end of the file."""
        ...

    def close(self) -> None: ...


class WritableFile(Protocol):
    def write(self, data: bytes) -> None:
        """Appends all of ``data``."""
        ...

    def sync(self) -> None:
        """Returns when all written bytes are on the disk (fsync)."""
        ...

    def close(self) -> None: ...


class FileLock(Protocol):
    """A lock; ``close`` releases it."""

    def close(self) -> None: ...


class Files(Protocol):
    def is_folder(self, path: Path) -> bool: ...

    def is_file(self, path: Path) -> bool: ...

    def names(self, folder: Path) -> list[str]:
        """The names of all entries of ``folder``, sorted."""
        ...

    def owners(self, path: Path) -> frozenset[int]:
        """The user id of the file's owner; for a symbolic link, also of the link's owner."""
        ...

    def open(self, path: Path) -> ReadableFile:
        """Open ``path`` for reading; ``path`` may be a pipe, such as a shell's ``<(…)``."""
        ...

    def create(self, path: Path, *, mode: int = OWNER_WRITES) -> WritableFile:
        """Create an empty file, and replace an old file of that name."""
        ...

    def extend(self, path: Path, size: int) -> WritableFile:
        """Truncate an existing file to ``size`` bytes, and open it to append."""
        ...

    def make_folder(self, path: Path) -> None:
        """Create ``path`` and its missing parents."""
        ...

    def lock(self, path: Path) -> FileLock:
        """Lock ``path`` against other callers, in this process and in others, Java's included.

        A missing file is created. ``BlockingIOError`` if the file is locked already.
        """
        ...

    def rename(self, source: Path, target: Path) -> None:
        """Rename ``source`` to ``target`` atomically, and replace an old ``target``."""
        ...

    def remove(self, path: Path) -> None: ...

    def sync_folder(self, folder: Path) -> None:
        """Returns when the entries of ``folder`` are on the disk (fsync)."""
        ...


@contextmanager
def opened(files: Files, path: Path) -> Iterator[ReadableFile]:
    """``path``, open for reading until the end of the block."""
    file = files.open(path)
    try:
        yield file
    finally:
        file.close()


def read_whole(files: Files, path: Path) -> bytes:
    """The bytes of ``path``. ``OSError`` names ``path``, also if the reading fails (a folder)."""
    try:
        with opened(files, path) as file:
            return file.read_at(0, file.size())
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def replace_whole(files: Files, path: Path, data: bytes, *, has_one_writer: bool = True) -> None:
    """Replace a small file durably: after a crash the file has its old bytes or all of ``data``.

    If a write fails, no temporary file is left, and ``OSError`` names ``path``. Without
    ``has_one_writer``, others can replace the file at the same time; the last one wins.
    """
    part = part_of(path) if has_one_writer else part_of(path, os.urandom(4).hex())
    try:
        _replace_by(files, part, path, data)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    files.sync_folder(path.parent)


def part_of(path: Path, *writer: str) -> Path:
    """The temporary file of ``replace_whole``. A killed program can leave it."""
    return path.with_name(".".join(("", path.name, *writer, "tmp")))


def write_out(path: Path, data: bytes) -> None:
    """Write ``data`` to ``path`` on the real disk.

    An ordinary file is replaced (``replace_whole``). A pipe, a character device, or an open file of
    this process, such as ``/dev/stdout``, is written directly. ``OSError`` for a block device.
    """
    number = _descriptor_of(path)
    if number is None and _has_type(path, stat.S_IFBLK):
        raise OSError(errno.EINVAL, "a block device, such as a disk: give a file", str(path))
    if number is None and not _is_stream_at(path):
        replace_whole(LOCAL_FILES, path, data, has_one_writer=False)
        return
    try:
        with os.fdopen(_opened_to_write(path, number), "wb") as stream:
            stream.write(data)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


def _opened_to_write(path: Path, number: int | None) -> int:
    """Descriptor ``number`` is copied: opening ``path`` again would overwrite the beginning of a
    file to which a shell's ``>>`` appends."""
    return os.open(path, os.O_WRONLY | os.O_CLOEXEC) if number is None else os.dup(number)


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


class _PipeBytes:
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
    """The disk of this machine. Reading never takes a lock.

    A file that root creates gets the owner of its folder, because a node cannot start with root's
    files in its folder. No file is created through a symbolic link: the folder's owner could use
    the link to make root write elsewhere.
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
            return _PipeBytes(_read_pipe(stream, path))

    def create(self, path: Path, *, mode: int = OWNER_WRITES) -> WritableFile:
        descriptor = _open_new(path, mode)
        _give_to_folder_owner(descriptor, path)
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
                _give_to_folder_owner(descriptor, folder)
            finally:
                os.close(descriptor)

    def lock(self, path: Path) -> FileLock:
        from metalog.disk.locks import LocalLock

        return LocalLock(path, _give_to_folder_owner)

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
    """An old file is removed first, because it would keep its owner, its mode and its open
    descriptors. ``OSError`` for a symbolic link (see ``LocalFiles``)."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        return os.open(path, flags, mode)
    except FileExistsError:
        if path.is_symlink():
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path)) from None
        path.unlink()
        return os.open(path, flags, mode)


def _give_to_folder_owner(descriptor: int, path: Path) -> None:
    """The descriptor is used, because ``path`` can name another file by now."""
    if os.geteuid() == 0:
        folder = path.parent.stat()
        os.fchown(descriptor, folder.st_uid, folder.st_gid)


def _read_pipe(stream: BinaryIO, path: Path) -> bytes:
    """The bytes of a shell's ``<(…)`` are kept in memory, because some callers read the same
    settings twice, and a pipe can be read only once."""
    status = os.fstat(stream.fileno())
    is_ours = is_descriptor(path) and stat.S_ISFIFO(status.st_mode)
    key = status.st_dev, status.st_ino
    if is_ours and key in _bytes_of_pipes:
        return _bytes_of_pipes[key]
    data = stream.read(STREAM_LIMIT + 1)
    if len(data) > STREAM_LIMIT:
        problem = f"a pipe or device gives more than {STREAM_LIMIT >> 20} MiB; give a file instead"
        raise OSError(errno.EFBIG, problem, str(path))
    if is_ours:
        _bytes_of_pipes[key] = data
    return data


_bytes_of_pipes: Final[dict[tuple[int, int], bytes]] = {}


def is_descriptor(path: Path) -> bool:
    """Whether ``path`` names an open file of this process, such as a shell's ``<(…)``."""
    return _descriptor_of(path) is not None


def _descriptor_of(path: Path) -> int | None:
    """A relative path is resolved: in the folder ``/dev``, ``stdout`` names descriptor 1."""
    folder = os.path.realpath(path.parent)
    if _DESCRIPTOR.fullmatch(path.name) and folder == os.path.realpath("/dev/fd"):
        return int(path.name)
    return _STANDARD.get(f"{folder}/{path.name}")


def _is_stream_at(path: Path) -> bool:
    try:
        return _is_stream(path.stat().st_mode)
    except OSError:
        return False


def _is_stream(mode: int) -> bool:
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISCHR(mode)


def _has_type(path: Path, wanted: int) -> bool:
    """``Path.is_file`` is not used, because in Python 3.14 it hides ``PermissionError``."""
    try:
        return stat.S_IFMT(path.stat().st_mode) == wanted
    except (FileNotFoundError, NotADirectoryError):
        return False


LOCAL_FILES = LocalFiles()
