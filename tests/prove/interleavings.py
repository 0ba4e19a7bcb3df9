"""Orders in which a loader may hear of one log: cuts, marks, truncations, faults, snapshots,
starts anew, and gates that shut.

After each of them the image is that of the records, one by one. Nobody but super users is
answered before the first image, nor while the image is too old.
"""

from __future__ import annotations

from random import Random

from authorizer import (
    Action,
    AuthorizerConfig,
    Operation,
    RequestContext,
    StandardAuthorizer,
    topic,
)
from metalog.errors import AuthorizerNotReady, CorruptLog
from metalog.ids import SnapshotId
from metalog.image.metadata import EMPTY, MetadataImage
from metalog.loader import Loader
from metalog.ports import Appended, HighWatermark, Truncated
from metalog.records.batch import Batch
from metalog.records.checkpoint import snapshot_batches
from metalog.records.messages import RemoveAccessControlEntryRecord
from tests.prove.promise import Promise
from tests.support.disk.tiny_log import ABORT, BEGIN, END, NOTHING, ace, batch, uuid

HISTORIES, RECORDS, ORDERS = 20, 24, 5
READ = Action(Operation.READ, topic("t"))
ANYBODY = RequestContext("User:a", "10.0.0.1")
ROOT = RequestContext("User:root", "10.0.0.1")
TOO_OLD_MS = 1_000
CONFIG = AuthorizerConfig(frozenset({"User:root"}), stale_deny_after_ms=TOO_OLD_MS)
MAX_STARTS = 3


def unit(seed: int) -> int:
    random = Random(seed)
    for _ in range(HISTORIES):
        records = history(random)
        images = replayed([batch(at, each) for at, each in enumerate(records)])
        for _ in range(ORDERS):
            Order(random, records, images).run()
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


def replayed(batches: list[Batch]) -> dict[int, MetadataImage]:
    """The images by the offset at which each ends; the last is that of all."""
    loader = Loader()
    loader.handle(HighWatermark(batches[-1].next_offset))
    images = {}
    for each in batches:
        loader.handle(Appended(each))
        images[loader.image.provenance.offset] = loader.image
    return images


def is_empty(image: MetadataImage) -> bool:
    """A snapshot without records opens no gate; Kafka writes none."""
    return next(iter(image.write()), None) is None


class Order:
    """One order of events; ``images`` are those of the records, one by one."""

    def __init__(
        self, random: Random, records: list[object], images: dict[int, MetadataImage]
    ) -> None:
        self.random, self.records, self.images = random, records, images
        self.mark = self.starts = 0
        self.start()

    def start(self) -> None:
        """As a process starts, which knows nothing."""
        self.authorizer = StandardAuthorizer(CONFIG)
        self.loader = Loader([self.authorizer])
        self.opens_at: int | None = None
        self.reached = 0
        assert_shut(self.authorizer)

    def run(self) -> None:
        end = len(self.records)
        while self.loader.position < end or self.mark < end:
            step = self.random.choice(STEPS)
            step(self)
            self.reached = max(self.reached, self.loader.position)
            if self.opens_at is None or self.reached < self.opens_at:
                assert_shut(self.authorizer)
            assert self.authorizer.is_allowed(ROOT, READ)
        assert list(self.loader.image.write()) == list(self.images[end].write())
        assert set(self.authorizer.acls()) == set(self.images[end].acls.by_id.values())
        self.authorizer.note_staleness(0)
        self.authorizer.is_allowed(ANYBODY, READ)

    def hear_of_a_mark(self) -> None:
        self.mark = self.random.randrange(self.mark, len(self.records) + 1)
        self.note_mark()

    def note_mark(self) -> None:
        """The gate opens where the first mark is, at the earliest."""
        self.opens_at = (self.opens_at or self.mark) or None
        self.loader.handle(HighWatermark(self.mark))

    def take_a_batch(self) -> None:
        at = self.loader.position
        if at < len(self.records):
            size = self.random.randrange(1, 5)
            self.loader.handle(Appended(batch(at, *self.records[at : at + size])))

    def lose_the_end(self) -> None:
        if self.loader.position > self.mark:
            to = self.random.randrange(self.mark, self.loader.position)
            self.loader.handle(Truncated(to))

    def meet_a_fault(self) -> None:
        if self.loader.position < len(self.records):
            fault(self.loader, self.loader.position)

    def start_from_a_snapshot(self) -> None:
        self.starts += 1
        if self.starts <= MAX_STARTS:
            known = [each for each in self.images if each <= self.mark]
            self.load(self.random.choice(known or [0]))

    def jump_to_a_snapshot(self) -> None:
        """The log no longer has what comes next."""
        ahead = [each for each in self.images if self.loader.position < each <= self.mark]
        if ahead:
            self.load(self.random.choice(ahead), anew=False)

    def load(self, offset: int, *, anew: bool = True) -> None:
        if anew:
            self.start()
        image = self.images.get(offset, EMPTY)
        if not is_empty(image):
            _, epoch, timestamp = image.provenance
            parts = snapshot_batches(
                image.write(), epoch=epoch, timestamp=timestamp, last_contained_timestamp=timestamp
            )
            self.loader.load_snapshot(SnapshotId(offset, epoch), parts)
        if anew and self.mark:
            self.note_mark()

    def grow_old(self) -> None:
        self.authorizer.note_staleness(TOO_OLD_MS)
        assert_shut(self.authorizer)
        if self.random.random() < 0.5:
            self.authorizer.note_staleness(0)


STEPS = (
    *[Order.hear_of_a_mark] * 2, *[Order.take_a_batch] * 5, Order.lose_the_end, Order.meet_a_fault,
    Order.start_from_a_snapshot, Order.jump_to_a_snapshot, Order.grow_old,
)  # fmt: skip


def fault(loader: Loader, at: int) -> None:
    """A batch that does not follow is refused, and changes nothing of what is in force."""
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
    raise AssertionError("somebody was answered while the gate was shut")


PROMISE = Promise("interleavings", "an order of events, and the image that it leads to", unit)
