"""Faults of another metadata shell, one test each: looking at a log may not change who writes it.

docs/reference/field-bugs.md says what happened there. A test's name begins with the number.
"""

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
    """Who holds the lock as Kafka does: of this process, so that one more close would let go."""
    lock = folder / LOCK
    with lock.open("w") as held:
        fcntl.lockf(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield lock


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb[0])
def test_kafka_15956_and_19334_a_reader_neither_takes_nor_ends_nor_deletes_a_lock(
    verb: list[str], tmp_path: Path
) -> None:
    """A reader needs none, since it writes nothing; Kafka's took it, and deleted the writer's."""
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
    """Asked of the kernel by another process, which has the lock if nobody else does."""
    tried = "import fcntl, sys; fcntl.lockf(open(sys.argv[1], 'r+'), fcntl.LOCK_EX | fcntl.LOCK_NB)"
    done = subprocess.run(
        [sys.executable, "-ISc", tried, lock], capture_output=True, text=True, check=False
    )
    return done.returncode != 0 and "Error: [Errno" in done.stderr
