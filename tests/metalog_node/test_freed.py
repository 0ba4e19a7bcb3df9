"""What a node frees by references alone, and which objects it hides from the collector."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest

from metalog.loader import Loader
from metalog.ports import Appended, HighWatermark
from metalog.records.messages import RemoveAccessControlEntryRecord
from metalog.wire.client.connection import Connection
from metalog.wire.client.security import PLAINTEXT
from metalog_node.handlers.request import DeferredResponse, IncomingRequest
from metalog_node.publish.publishers import COLLECT_AFTER, FREEZE_FROM, GcFreezer
from tests.support.disk.tiny_log import ace, batch, uuid
from tests.support.disk.written_log import formatted
from tests.support.node.running import running_in
from tests.support.wire.admin_requests import (
    acl_filter,
    alter_users,
    create,
    creation,
    delete,
    describe,
    upsertion,
)

LONG = 300
AGAIN = 4


@pytest.fixture
def loader() -> Iterator[Loader]:
    """What other tests left is out of sight."""
    gc.collect()
    gc.freeze()
    yield Loader([GcFreezer()])
    gc.unfreeze()


def append(loader: Loader, *records: object) -> None:
    at = loader.position
    loader.handle(HighWatermark(at + len(records)))
    loader.handle(Appended(batch(at, *records)))


def removed(number: int) -> RemoveAccessControlEntryRecord:
    return RemoveAccessControlEntryRecord(uuid(number))


def test_many_acls_that_come_later_are_no_work_for_the_collector(loader: Loader) -> None:
    """A full collection would walk them all, and hold every thread."""
    before = gc.get_freeze_count()
    append(loader, *map(ace, range(1, FREEZE_FROM + 1)))
    assert gc.get_freeze_count() - before > FREEZE_FROM


def test_acls_that_come_and_go_freeze_nothing(loader: Loader) -> None:
    """A freeze keeps the cycles of all connections that close later."""
    before = gc.get_freeze_count()
    for _ in range(4):
        append(loader, *map(ace, range(1, COLLECT_AFTER + 1)))
        append(loader, *map(removed, range(1, COLLECT_AFTER + 1)))
    assert gc.get_freeze_count() <= before


def test_what_is_garbage_by_then_is_not_kept() -> None:
    """Frozen, a cycle would stay for good."""

    class Cycle:
        def __init__(self) -> None:
            self.itself = self

    garbage = weakref.ref(Cycle())
    append(Loader([GcFreezer()]), *map(ace, range(1, COLLECT_AFTER + 1)))
    assert garbage() is None


def test_requests_and_answers_are_freed_without_the_collector(tmp_path: Path) -> None:
    """A freeze in the middle of one would keep it for good if it were a cycle."""

    def kept() -> int:
        return sum(type(each) in (IncomingRequest, DeferredResponse) for each in gc.get_objects())

    formatted(tmp_path)
    few, many = ([f"t-{each}" for each in range(count)] for count in (1, LONG))
    with (
        running_in(tmp_path) as node,
        Connection(node.addresses["PLAINTEXT"], PLAINTEXT) as connection,
    ):
        gc.disable()
        try:
            before = kept()
            for number in range(AGAIN):
                connection.ask(alter_users(upsertion(f"user-{number}")))
                for each in (few, many):
                    connection.ask(create(*(creation(resource_name=name) for name in each)))
                    connection.ask(describe())
                    filters = (acl_filter(resource_name_filter=name) for name in each)
                    connection.ask(delete(*filters))
            assert kept() - before < AGAIN
        finally:
            gc.enable()
