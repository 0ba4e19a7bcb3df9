"""A replica follows its log on its own thread, and no fault ends it."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence

import pytest

from authorizer import Action, Operation, RequestContext, StandardAuthorizer, topic
from metalog import DirectoryLog, Replica
from metalog.errors import AuthorizerNotReady, ConfigException, CorruptLog, LoadTimeout, Unanswered
from metalog.ids import SnapshotId
from metalog.loader import Loader, Loading, Ready, Stale
from metalog.log.memory import MemoryLog
from metalog.ports import Appended, HighWatermark, LogBounds, LogEvent, Split, Truncated
from metalog.records.batch import Batch
from metalog.records.messages import FeatureLevelRecord, RemoveAccessControlEntryRecord
from metalog.replica import log_follower
from tests.support.disk.tiny_log import Recorder, ace, batch, ids, snapshot, uuid, values
from tests.support.kafka.cases import kafka_case
from tests.support.suite.waiting import eventually


@pytest.fixture(autouse=True)
def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_follower, "POLL_S", 0.01)
    monkeypatch.setattr(log_follower, "MIN_BACKOFF_S", 0.001)


class Live:
    """A log in memory that grows while it is followed, and fails on demand."""

    def __init__(self, *batches: Batch) -> None:
        self.batches = list(batches)
        self.news: deque[LogEvent] = deque()
        self.broken: Exception | None = None

    def bounds(self) -> LogBounds:
        return MemoryLog(self.batches).bounds()

    def read(self, start: int) -> Iterator[LogEvent]:
        if self.broken is not None:
            raise self.broken
        self.news.clear()
        yield from MemoryLog(self.batches).read(start)

    def poll(self, timeout_s: float) -> Sequence[LogEvent]:
        if self.broken is not None:
            raise self.broken
        if not self.news:
            time.sleep(timeout_s)
        events = tuple(self.news)
        self.news.clear()
        return events

    def grow(self, grown: Batch) -> None:
        self.batches.append(grown)
        self.news.extend((HighWatermark(grown.next_offset), Appended(grown)))

    def splits(self) -> Sequence[Split]:
        return ()

    def snapshots(self) -> Sequence[SnapshotId]:
        return ()

    def open_snapshot(self, id: SnapshotId) -> Iterator[Batch]:
        raise KeyError(id)


def test_a_log_that_does_not_live_is_read_once() -> None:
    log = MemoryLog([batch(10, ace(6))], snapshots={SnapshotId(10, 1): snapshot(ace(2))})
    with Replica(log) as following:
        assert eventually(lambda: following.state == Ready(11))
        assert ids(following.image) == {2, 6}


def test_a_log_that_lives_is_followed() -> None:
    log, recorder = Live(batch(0, ace(1))), Recorder()
    with Replica(log, [recorder]) as following:
        assert eventually(lambda: following.state == Ready(1))
        log.grow(batch(1, ace(2)))
        assert eventually(lambda: ids(following.image) == {1, 2})
    assert recorder.offsets == [1, 2]
    log.grow(batch(2, ace(3)))
    assert recorder.offsets == [1, 2], "closed"


def test_what_of_another_kafka_is_in_its_log_is_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """In the words of every verb, and once for a growing log."""
    unknown, newer = bytes((1, 99, 0)), FeatureLevelRecord("metadata.version", 99)
    log = Live(batch(0, newer, ace(1)), values(2, unknown))
    with Replica(log) as following:
        assert eventually(lambda: following.state == Ready(3))
        log.grow(values(3, unknown))
        log.grow(values(4, bytes((1, 98, 0))))
        assert eventually(lambda: following.state == Ready(5))
        assert eventually(lambda: len(caplog.messages) == 3)
    begun = "Kafka 4.4 would not load this log: "
    assert [each.removeprefix(begun).partition(",")[0] for each in caplog.messages] == [
        "metadata.version 99 is not between 7 and 34",
        *(
            f"offset {offset}: a record was left out: record type {kind} is unknown: "
            "perhaps a newer Kafka wrote the log"
            for offset, kind in ((2, 99), (4, 98))
        ),
    ]
    caplog.clear()


@pytest.mark.parametrize(
    ("kafka", "level", "is_loaded"),
    [
        ("4.3", 31, True),
        ("4.3", 32, False),
        ("4.4", 34, True),
        ("4.4", 35, False),
        ("4.4", 6, False),
        (None, 35, True),
    ],
)
def test_a_log_that_its_kafka_does_not_load_is_refused(
    kafka: str | None, level: int, is_loaded: bool
) -> None:
    """Kafka 4.3.1 ended at such a log with "Valid feature levels are from 7 to 31."."""
    seen = Recorder()
    log = Live(batch(0, FeatureLevelRecord("metadata.version", level)))
    with Replica(log, publishers=[seen], kafka=kafka) as following:
        if is_loaded:
            following.wait_until_loaded(20)
            return
        newest = {"4.3": 31, "4.4": 34}[str(kafka)]
        refusal = f"kafka.version={kafka}: metadata.version {level} is not between 7 and {newest}"
        with pytest.raises(ConfigException, match=refusal):
            following.wait_until_loaded(20)
        assert not seen.got


@pytest.mark.parametrize("kafka", ["", "4", "4.2", "4.10", "4.4.0"])
def test_a_kafka_that_is_not_known_is_refused_before_the_log_is_read(kafka: str) -> None:
    with pytest.raises(ConfigException, match=f"^kafka.version={kafka}: supported .* 4.3 or 4.4$"):
        Replica(Live(), kafka=kafka)


def test_a_level_that_its_kafka_does_not_load_leaves_the_image_of_before() -> None:
    log = Live(batch(0, FeatureLevelRecord("metadata.version", 31), ace(1)))
    with Replica(log, kafka="4.3") as following:
        following.wait_until_loaded(20)
        log.grow(batch(2, FeatureLevelRecord("metadata.version", 32), ace(2)))
        assert eventually(lambda: isinstance(following.state, Stale))
        assert isinstance(following.state, Stale)
        assert "Kafka 4.3 refuses the log" in str(following.state.fault)
        assert len(following.image.acls) == 1


def test_publishers_are_called_on_one_thread_which_is_not_ours() -> None:
    threads: set[int] = set()

    class Noting(Recorder):
        def publish(self, *args: object) -> None:
            threads.add(threading.get_ident())

    log = Live(batch(0, ace(1)))
    with Replica(log, [Noting()]) as following:
        assert eventually(lambda: following.state == Ready(1))
        log.grow(batch(1, ace(2)))
        assert eventually(lambda: following.state == Ready(2))
    assert len(threads) == 1
    assert threading.get_ident() not in threads


@pytest.mark.parametrize(
    "broken", [OSError("no disk"), CorruptLog("torn"), ZeroDivisionError("a bug")]
)
def test_it_goes_on_after_faults_with_the_last_good_image(broken: Exception) -> None:
    log = Live(batch(0, ace(1)))
    with Replica(log) as following:
        assert eventually(lambda: following.state == Ready(1))
        log.broken = broken
        assert eventually(lambda: isinstance(following.state, Stale))
        assert ids(following.image) == {1}
        log.grow(batch(1, ace(2)))
        log.broken = None
        assert eventually(lambda: following.state == Ready(2))
        assert ids(following.image) == {1, 2}


def test_a_log_that_takes_back_what_was_committed_is_read_anew() -> None:
    log = Live(batch(0, ace(1)), batch(1, ace(2)))
    with Replica(log) as following:
        assert eventually(lambda: following.state == Ready(2))
        log.batches[1:] = [batch(1, ace(3))]
        log.news.append(Truncated(1))
        assert eventually(lambda: ids(following.image) == {1, 3})
        assert eventually(lambda: following.state == Ready(2))


def test_a_first_load_that_fails_is_tried_again_and_opens_no_gate() -> None:
    log = Live(batch(0, ace(1)), batch(1, RemoveAccessControlEntryRecord(uuid(9))))
    gate = Gate()
    with Replica(log, [gate]) as following:
        assert eventually(
            lambda: isinstance(following.state, Loading) and bool(following.state.fault)
        )
        assert not gate.is_open
        log.batches[1:] = [batch(1, ace(3))]
        assert eventually(lambda: following.state == Ready(2))
        assert gate.is_open


def test_who_waits_for_a_damaged_log_is_told_file_offset_and_what_to_do_at_once() -> None:
    log = Live(batch(0, ace(1)))
    log.broken = CorruptLog("bad CRC", file="a.log", offset=7, byte=9, advice="use a copy")
    authorizer = StandardAuthorizer()
    [endpoint] = authorizer.start({"CLIENT": "127.0.0.1:9092"}).values()
    with Replica(log, [authorizer]) as following:
        for wait in (endpoint.result, following.loaded.result, following.wait_until_loaded):
            with pytest.raises(CorruptLog, match=r"a\.log, offset 7, byte 9: bad CRC; use a copy"):
                wait()  # without a limit: it would hang if it waited for the future
        assert not endpoint.done(), "it is tried again"
        log.broken = None
        assert eventually(endpoint.done)
        assert endpoint.result() is None
        assert endpoint.exception() is None
        assert ids(following.wait_until_loaded(0)) == {1}


def test_who_waits_too_short_is_told_the_last_fault() -> None:
    log = Live(batch(0, ace(1)))
    log.broken = Unanswered("quorum://127.0.0.1:1: no controller answers")
    authorizer = StandardAuthorizer()
    [endpoint] = authorizer.start({"CLIENT": "127.0.0.1:9092"}).values()
    with pytest.raises(TimeoutError, match="was the Replica started"):
        endpoint.result(timeout=0)
    with Replica(log, [authorizer]) as following:
        assert eventually(lambda: bool(getattr(following.state, "fault", None)))
        for wait in (endpoint.result, endpoint.exception, following.wait_until_loaded):
            with pytest.raises(
                LoadTimeout, match=r"after 0\.01 s: quorum://.*no controller"
            ) as told:
                wait(0.01)
            assert told.value.__cause__ is log.broken
    with pytest.raises(AuthorizerNotReady, match="replica was closed before"):
        endpoint.result()


def test_a_publishers_own_fault_is_told_to_who_waits_for_it() -> None:
    class Clumsy(StandardAuthorizer):
        def publish(self, *args: object) -> None:
            raise ZeroDivisionError("a bug")

    clumsy = Clumsy()
    [endpoint] = clumsy.start({"CLIENT": "127.0.0.1:9092"}).values()
    with Replica(Live(batch(0, ace(1))), [clumsy]) as following:
        following.wait_until_loaded(30)
        with pytest.raises(LoadTimeout, match="a bug"):
            endpoint.result(0)


def test_a_damaged_snapshot_is_no_reason_to_give_up_while_an_older_one_may_help() -> None:
    authorizer = StandardAuthorizer()
    [endpoint] = authorizer.start({"CLIENT": "127.0.0.1:9092"}).values()
    with pytest.raises(CorruptLog):
        Loader([authorizer]).load_snapshot(SnapshotId(2, 1), iter(()))
    with pytest.raises(LoadTimeout):
        endpoint.result(0)


class Gate(Recorder):
    is_open = False
    stale_for_ms = -1

    def complete_initial_load(self) -> None:
        self.is_open = True

    def note_staleness(self, for_ms: int) -> None:
        self.stale_for_ms = for_ms


class Silent(Live):
    """Its peer may fall silent without an error, in the middle of a poll."""

    def __init__(self, *batches: Batch) -> None:
        super().__init__(*batches)
        self.silent_for_s: float | None = 0.1
        self.answers = threading.Event()
        self.answers.set()

    def poll(self, timeout_s: float) -> Sequence[LogEvent]:
        self.answers.wait(30)
        return super().poll(timeout_s)


def test_a_gate_shuts_by_a_clock_of_its_own_where_nothing_is_heard() -> None:
    """The last sign of life counts, while the replica's thread waits for an answer."""
    log, gate = Silent(batch(0, ace(1))), Gate()
    with Replica(log, [gate]) as following:
        assert eventually(lambda: following.state == Ready(1))
        log.answers.clear()
        log.silent_for_s = 7.0
        assert eventually(lambda: gate.stale_for_ms == 7000)
        state = following.state
        assert isinstance(state, Stale)
        assert str(state.fault) == "no answer from the log for 7 s"
        assert following.failing_for_s == 7.0
        log.silent_for_s = 0.1
        assert eventually(lambda: gate.stale_for_ms == 0)
        assert (following.state, following.failing_for_s) == (Ready(1), None)
        log.silent_for_s = 9.0
        log.broken = OSError("gone")
        log.answers.set()
        assert eventually(lambda: isinstance(following.state, Stale) and following.failing_for_s)
        assert (following.failing_for_s or 0) >= 9.0, "since it was heard, not since the error"


def test_a_gate_hears_how_long_the_image_has_been_stale() -> None:
    log, gate, now = Live(batch(0, ace(1))), Gate(), [100.0]
    with Replica(log, [gate], monotonic_s=lambda: now[0]) as following:
        assert eventually(lambda: following.state == Ready(1))
        assert gate.stale_for_ms == -1
        log.broken = OSError("no disk")
        assert eventually(lambda: gate.stale_for_ms == 0)
        now[0] += 5
        assert eventually(lambda: gate.stale_for_ms == 5000)


def test_a_gate_hears_that_the_log_is_sound_again_though_nothing_is_new() -> None:
    log, gate, now = Live(batch(0, ace(1))), Gate(), [100.0]
    with Replica(log, [gate], monotonic_s=lambda: now[0]) as following:
        assert eventually(lambda: following.state == Ready(1))
        log.broken = OSError("no disk")
        assert eventually(lambda: gate.stale_for_ms == 0)
        now[0] += 5
        assert eventually(lambda: gate.stale_for_ms == 5000)
        log.broken = None
        assert eventually(lambda: following.state == Ready(1))
        assert eventually(lambda: gate.stale_for_ms == 0)
        now[0] += 3600
        gate.stale_for_ms = -1
        log.broken = OSError("no disk, an hour later")
        assert eventually(lambda: isinstance(following.state, Stale) and gate.stale_for_ms != -1)
        assert gate.stale_for_ms == 0


def test_a_gate_stays_shut_where_the_publisher_did_not_take_the_image(
    caplog: pytest.LogCaptureFixture,
) -> None:
    gate, log = Gate(), Live(batch(0, ace(1)))
    gate.fails = True
    with Replica(log, [gate]) as following:
        assert eventually(lambda: following.state == Ready(1))
        assert eventually(lambda: "Gate failed at the changes up to offset 1" in caplog.text)
        assert not gate.is_open
        gate.fails = False
        log.grow(batch(1, ace(2)))
        assert eventually(lambda: gate.is_open)
        assert following.publisher_faults[0].healed


def test_closing_twice_and_starting_twice() -> None:
    following = Replica(MemoryLog([]))
    following.close()
    following.start()
    with pytest.raises(RuntimeError):
        following.start()
    following.close()
    following.close()


def test_the_authorizer_follows_a_folder_of_kafkas() -> None:
    authorizer = StandardAuthorizer.configured({"super.users": "User:admin"})
    opened = authorizer.start({"CLIENT": "0.0.0.0:9092"})
    with Replica(DirectoryLog(kafka_case("basic-4.3").log_dir), publishers=[authorizer]):
        opened["CLIENT"].result(timeout=30)
        who = RequestContext(principal="User:app", host="10.0.0.1", listener="CLIENT")
        [result] = authorizer.authorize(who, [Action(Operation.WRITE, topic("payments"))])
        assert bool(result) == authorizer.is_allowed(
            who, Action(Operation.WRITE, topic("payments"))
        )
        assert authorizer.acl_count() == 377


@pytest.mark.parametrize("damaged", [snapshot(ace(1))[:-1], snapshot(ace(1), epoch=2), ()])
def test_an_older_snapshot_and_the_log_stand_in_for_a_damaged_one(
    damaged: Sequence[Batch], caplog: pytest.LogCaptureFixture
) -> None:
    snapshots = {
        SnapshotId(2, 1): snapshot(ace(9)),
        SnapshotId(3, 1): snapshot(ace(1), ace(2)),
        SnapshotId(4, 1): damaged,
        SnapshotId(5, 1): damaged,
    }
    log = MemoryLog([batch(at, ace(at)) for at in range(3, 7)], snapshots=snapshots)
    with Replica(log) as following:
        assert eventually(lambda: following.state == Ready(7))
    assert ids(following.image) == {1, 2, 3, 4, 5, 6}
    assert "an older snapshot and the log were used instead" in caplog.text


def test_no_older_snapshot_from_which_the_log_does_not_go_on() -> None:
    snapshots = {SnapshotId(2, 1): snapshot(ace(9)), SnapshotId(5, 1): snapshot(ace(1))[:-1]}
    log = MemoryLog([batch(at, ace(at)) for at in range(3, 7)], snapshots=snapshots)
    with Replica(log) as following:
        assert eventually(
            lambda: isinstance(following.state, Loading) and bool(following.state.fault)
        )
        assert len(following.image.acls) == 0
