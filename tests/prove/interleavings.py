"""Orders in which a loader may get one log: cuts, marks, truncations, faults, snapshots. The image
always equals a replay record by record, and only super users are answered before the first
image."""

from __future__ import annotations

from random import Random

from authorizer import Action, Operation, RequestContext, StandardAuthorizer, topic
from metalog.errors import AuthorizerNotReady, CorruptLog
from metalog.image.metadata import MetadataImage
from metalog.loader import Loader
from metalog.ports import Appended, HighWatermark, Truncated
from metalog.records.batch import Batch
from metalog.records.messages import RemoveAccessControlEntryRecord
from tests.prove.promise import Promise
from tests.support.disk.tiny_log import ABORT, BEGIN, END, NOTHING, ace, batch, uuid

HISTORIES, RECORDS, ORDERS = 20, 24, 5
READ = Action(Operation.READ, topic("t"))
ANYBODY = RequestContext("User:a", "10.0.0.1")


def unit(seed: int) -> int:
    random = Random(seed)
    for _ in range(HISTORIES):
        records = history(random)
        meant = replayed([batch(at, each) for at, each in enumerate(records)])
        for _ in range(ORDERS):
            check(random, records, meant)
    return HISTORIES * ORDERS


def history(random: Random) -> list[object]:
    """Records that a controller could write; no transaction is open at the end."""
    records: list[object] = []
    there: set[int] = set()
    saved: set[int] | None = None
    while len(records) < RECORDS or saved is not None:
        step = random.randrange(8)
        if step == 0 and saved is None:
            saved = set(there)
            records.append(BEGIN)
        elif step == 1 and saved is not None:
            is_aborted = random.random() < 0.5
            there, saved = (saved if is_aborted else there), None
            records.append(ABORT if is_aborted else END)
        elif step in (2, 3) and there:
            number = random.choice(sorted(there))
            there.remove(number)
            records.append(RemoveAccessControlEntryRecord(uuid(number)))
        elif step < 7:
            number = random.randrange(1, 9)
            there.add(number)
            records.append(ace(number, random.choice("tuv")))
        else:
            records.append(NOTHING)
    return records


def replayed(batches: list[Batch]) -> MetadataImage:
    loader = Loader()
    loader.handle(HighWatermark(batches[-1].next_offset))
    for each in batches:
        loader.handle(Appended(each))
    return loader.image


def check(random: Random, records: list[object], meant: MetadataImage) -> None:
    authorizer = StandardAuthorizer()
    loader = Loader([authorizer])
    mark, end = 0, len(records)
    assert_shut(authorizer)
    while loader.position < end or mark < end:
        at, step = loader.position, random.randrange(6)
        if step == 0:
            mark = random.randrange(mark, end + 1)
            loader.handle(HighWatermark(mark))
        elif step == 1 and at > mark:
            loader.handle(Truncated(random.randrange(mark, at)))
        elif step == 2 and at < end:
            fault(loader, at)
        elif at < end:
            size = random.randrange(1, 5)
            loader.handle(Appended(batch(at, *records[at : at + size])))
        if mark == 0:
            assert_shut(authorizer)
    assert list(loader.image.write()) == list(meant.write())
    assert set(authorizer.acls()) == set(meant.acls.by_id.values())
    authorizer.is_allowed(ANYBODY, READ)


def fault(loader: Loader, at: int) -> None:
    """A batch that does not follow is refused, and leaves the state unchanged."""
    before = loader.image
    try:
        loader.handle(Appended(batch(at + 1, NOTHING)))
    except CorruptLog:
        assert loader.image is before
    else:
        raise AssertionError(f"a hole at {at} was not noticed")


def assert_shut(authorizer: StandardAuthorizer) -> None:
    try:
        authorizer.is_allowed(ANYBODY, READ)
    except AuthorizerNotReady:
        return
    raise AssertionError("somebody was answered before the first image")


PROMISE = Promise("interleavings", "an order of events, and the image that it leads to", unit)
