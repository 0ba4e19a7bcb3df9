"""A writer of a small log that is killed at a system call, and what must hold after it.

The writer is a ``Replica`` that creates and deletes ACLs, begins segments, writes snapshots and
deletes what they replace. This module must not know at which calls it is killed.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from metalog import DirectoryLog, Loader, MetadataImage, Replica, WritableDirectoryLog
from metalog.loader import feed
from metalog.log.config import LogConfig
from snapshot.upkeep import Upkeep
from tests.support.disk.killed_runs import check
from tests.support.disk.killed_writer import acls, delete, say
from tests.support.disk.traced_process import Traced, traced

CONFIG = LogConfig(segment_bytes=900, bytes_between_snapshots=1_200, retention_bytes=1_500)
REQUESTS = 7


class Kill(NamedTuple):
    """The step at which a run of the writer is killed; None to let it end."""

    at: int | None
    tear: bool = False


def changed(folder: Path, run: str, descriptor: int) -> None:
    """Create and delete ACLs; writes to ``descriptor`` what ``killed_writer`` prints."""
    logging.disable(logging.CRITICAL)
    log = WritableDirectoryLog(folder, limits=CONFIG.segment_limits)
    with Replica(log, [Upkeep(log, CONFIG)]) as replica:
        for number in range(REQUESTS):
            say(descriptor, f"create {run}.{number}")
            for created in replica.create_acls(None, acls(f"{run}.{number}")):
                created.result()
            say(descriptor, f"created {run}.{number}")
            if number % 3 == 2:
                delete(replica, f"{run}.{number - 1}", descriptor)
        assert not replica.publisher_faults


def killed(fresh: Path, folder: Path, kills: Sequence[Kill]) -> list[Traced]:
    """Run the writer on a copy of ``fresh`` once for each of ``kills``, then once more to its end.

    Raises ``AssertionError`` unless after each run what was acknowledged is there, and nothing is
    there in part.
    """
    shutil.copytree(fresh, folder)
    runs, lines = [], list[str]()
    for number, kill in enumerate((*kills, Kill(None))):
        run = traced(partial(changed, folder, str(number)), kill.at, tear=kill.tear)
        runs.append(run)
        lines += run.output.decode().split("\n")[:-1]
        check(image_of(folder), lines)
    assert runs[-1].has_ended
    assert not DirectoryLog(folder).problems
    return runs


def image_of(folder: Path) -> MetadataImage:
    """Of the log as a reader finds it, before any writer repairs it. A kill may leave half of the
    last batch, or an epoch without a batch, and nothing else that is worth a word."""
    log, loader = DirectoryLog(folder), Loader()
    expected = {str(log.torn_tail)}
    if log.may_be_missing is not None:
        assert log.leader_epochs.starts[-1].epoch > log.ends.epoch
        expected.add(log.may_be_missing.found)
    assert set(log.problems) <= expected, log.problems
    feed(loader, log, log.read(0))
    return loader.image
