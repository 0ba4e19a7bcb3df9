"""A closed replica leaves nothing behind. Reference counts alone must free it: objects of a load
are frozen out of garbage collection."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from weakref import ref

import pytest

from authorizer import StandardAuthorizer
from metalog import MemoryLog, MetalogError, Replica, WritableMemoryLog, open_log
from metalog.ports import Log
from tests.support.disk.tiny_log import ace, batch, leader_change
from tests.support.kafka.cases import REPOSITORY

DEMO = REPOSITORY / "metalog_sources" / "demo" / "log-dir"


def unreadable() -> Log:
    return MemoryLog([leader_change(0, 1), batch(1, ace(1)._replace(permission_type=77))])


@pytest.mark.parametrize(
    "opened",
    [
        pytest.param(lambda: open_log(DEMO), id="a folder"),
        pytest.param(WritableMemoryLog, id="a log that it writes"),
        pytest.param(unreadable, id="an unreadable record"),
        pytest.param(lambda: open_log("quorum://127.0.0.1:1"), id="a quorum that is not there"),
    ],
)
def test_a_closed_replica_its_authorizer_and_its_thread_are_gone(opened: Callable[[], Log]) -> None:
    def closed() -> list[ref[object]]:
        authorizer = StandardAuthorizer()
        with Replica(opened(), publishers=[authorizer]) as replica, suppress(MetalogError):
            replica.wait_until_loaded(0.1)
        return [ref(replica), ref(authorizer)]

    def held() -> tuple[set[threading.Thread], int]:
        return {*threading.enumerate()}, len([*Path("/proc/self/fd").iterdir()])

    threads, files = held()
    gc.disable()
    try:
        left = [each() for each in closed()]
    finally:
        gc.enable()
    assert left == [None, None]
    left_threads, left_files = held()
    assert left_threads <= threads
    assert left_files <= files
