"""Runs a function in a child process and kills it at one of its system calls that change files.

The parent traces the child, all threads included, by ``ptrace`` (Linux on x86-64 or arm64). A step
is a system call of ``CHANGING``; the child gets SIGKILL before step ``kill_at`` takes effect. With
``tear``, a step that writes to a file writes only half of its bytes first, since the limit for the
size of files is reached. This module must not know what the function does.
"""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import signal
import stat
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple, NoReturn

CHANGING: Final = {
    "x86_64": {
        "write": 1, "pwrite64": 18, "writev": 20, "open": 2, "openat": 257, "fsync": 74,
        "fdatasync": 75, "truncate": 76, "ftruncate": 77, "rename": 82, "renameat": 264,
        "renameat2": 316, "mkdir": 83, "mkdirat": 258, "link": 86, "linkat": 265, "unlink": 87,
        "unlinkat": 263, "rmdir": 84, "symlink": 88, "symlinkat": 266, "chmod": 90, "fchmod": 91,
        "fchown": 93, "fallocate": 285,
    },
    "aarch64": {
        "write": 64, "pwrite64": 68, "writev": 66, "openat": 56, "fsync": 82, "fdatasync": 83,
        "truncate": 45, "ftruncate": 46, "renameat": 38, "renameat2": 276, "mkdirat": 34,
        "linkat": 37, "unlinkat": 35, "symlinkat": 36, "fchmod": 52, "fchown": 55, "fallocate": 47,
    },
}  # fmt: skip
"""The numbers of system calls, by machine; those that open count if they may create a file."""
_FLAGS_AT: Final = {"open": 1, "openat": 2}
_SIZE_AT: Final = 2
_TRACEME, _SYSCALL, _SETOPTIONS, _GET_SYSCALL_INFO = 0, 24, 0x4200, 0x420E
_OPTIONS: Final = 0x1 | 0x8 | 0x100000
"""Mark stops at system calls, trace new threads, and kill the child if the parent ends."""
_AT_CALL: Final = signal.SIGTRAP | 0x80
_EVERY_THREAD: Final = 0x40000000
_CALL: Final = struct.Struct("<B23xQ6Q")
_ENTERED: Final = 1
_NOT_SIGNALS: Final = {_AT_CALL, signal.SIGSTOP, signal.SIGTRAP}
"""What stops a traced thread without having been sent to it."""
_libc: Final = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
_libc.ptrace.restype = ctypes.c_long


class Traced(NamedTuple):
    """``steps`` are the names of the calls that took effect, and ``output`` what the function wrote
    to its file descriptor. ``has_ended``: it returned before it was to be killed."""

    steps: list[str]
    output: bytes
    has_ended: bool


def traced(
    work: Callable[[int], object], kill_at: int | None = None, *, tear: bool = False
) -> Traced:
    """Run ``work(descriptor)`` in a child. Raises ``AssertionError`` if ``work`` fails."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        _run(work, writer)
    os.close(writer)
    with os.fdopen(reader, "rb") as output:
        os.waitpid(child, 0)
        _ptrace(_SETOPTIONS, child, _OPTIONS)
        _ptrace(_SYSCALL, child)
        steps, status = _followed(child, kill_at, tear=tear)
        assert status in (0, -signal.SIGKILL), "the traced function failed"
        return Traced(steps, output.read(), status == 0)


def _run(work: Callable[[int], object], writer: int) -> NoReturn:
    status = 1
    try:
        os.setpgid(0, 0)
        _ptrace(_TRACEME, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
        work(writer)
        status = 0
    finally:
        os._exit(status)


def _followed(child: int, kill_at: int | None, *, tear: bool) -> tuple[list[str], int]:
    """The steps that took effect, and the child's exit status."""
    names = {number: name for name, number in CHANGING[platform.machine()].items()}
    steps: list[str] = []
    is_killed = False
    while True:
        thread, status = os.waitpid(-child, _EVERY_THREAD)
        if thread == child and not os.WIFSTOPPED(status):
            return steps, os.waitstatus_to_exitcode(status)
        if is_killed or not os.WIFSTOPPED(status):
            continue
        stopped_by = os.WSTOPSIG(status)
        step = _step(thread, names) if stopped_by == _AT_CALL else None
        if step is not None and len(steps) == kill_at:
            if tear and _halved(thread, step):
                _ptrace(_SYSCALL, thread)
                os.waitpid(thread, _EVERY_THREAD)
            os.kill(child, signal.SIGKILL)
            is_killed = True
            continue
        if step is not None:
            steps.append(step[0])
        with suppress(ProcessLookupError):  # another thread has ended the process
            _ptrace(_SYSCALL, thread, 0 if stopped_by in _NOT_SIGNALS else stopped_by)


def _step(thread: int, names: dict[int, str]) -> tuple[str, list[int]] | None:
    """The name and arguments of a call that is about to change files."""
    found = ctypes.create_string_buffer(_CALL.size)
    _ptrace(_GET_SYSCALL_INFO, thread, ctypes.addressof(found), _CALL.size)
    kind, number, *arguments = _CALL.unpack(found.raw)
    name = names.get(number) if kind == _ENTERED else None
    if name is None or (name in _FLAGS_AT and not arguments[_FLAGS_AT[name]] & os.O_CREAT):
        return None
    return name, arguments


def _halved(thread: int, step: tuple[str, list[int]]) -> bool:
    """Let a write to a file write half of its bytes; whether it is one."""
    name, (descriptor, *_) = step
    if name != "write":
        return False
    file = Path(f"/proc/{thread}/fd/{descriptor}").stat()
    half = step[1][_SIZE_AT] // 2
    if not stat.S_ISREG(file.st_mode) or not half:
        return False
    resource.prlimit(thread, resource.RLIMIT_FSIZE, (file.st_size + half, resource.RLIM_INFINITY))
    return True


def _ptrace(request: int, thread: int, data: int = 0, address: int = 0) -> None:
    if _libc.ptrace(request, thread, address, data) < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"ptrace: {os.strerror(number)}")
