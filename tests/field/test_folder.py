"""Faults of another metadata shell, one test each: looking at a log must not change who writes it.
docs/reference/field-bugs.md describes each. A test's name begins with the number of the fault."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from metalog.log.folder.layout import LOCK
from shell.main import main
from tests.support.disk.written_log import copied

VERBS = (["shell", "{}", "find", "/image/acls"], ["acls", "{}"], ["status", "{}"], ["dump", "{}"])


@contextmanager
def written_by_somebody(folder: Path) -> Iterator[Path]:
    """Holds the lock as Kafka does: in this process, so that one more close would release it."""
    lock = folder / LOCK
    with lock.open("w") as held:
        fcntl.lockf(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield lock


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb[0])
def test_kafka_15956_and_19334_a_reader_neither_takes_nor_ends_nor_deletes_a_lock(
    verb: list[str], tmp_path: Path
) -> None:
    """A reader writes nothing, so it needs no lock; Kafka's took it, and deleted the writer's."""
    folder = copied("basic-4.3", tmp_path / "d")
    with written_by_somebody(folder) as lock:
        before = lock.stat()
        for _ in range(2):
            assert main([each.format(folder) for each in verb]) == 0
        assert lock.stat() == before
        assert is_held(lock)
    assert not is_held(lock)
    lock.unlink()
    assert main([each.format(folder) for each in verb]) == 0
    assert not lock.exists()


def is_held(lock: Path) -> bool:
    """Asks the kernel from another process, which gets the lock if nobody else has it."""
    tried = "import fcntl, sys; fcntl.lockf(open(sys.argv[1], 'r+'), fcntl.LOCK_EX | fcntl.LOCK_NB)"
    done = subprocess.run(
        [sys.executable, "-ISc", tried, lock], capture_output=True, text=True, check=False
    )
    return done.returncode != 0 and "Error: [Errno" in done.stderr
