"""The observer's socket: what it does without a leader, and what it reports to whom. A controller
here is a thread with the codec; tests/compat has real ones."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from threading import Thread
from typing import Any
from uuid import UUID

import pytest
from kio.schema.errors import ErrorCode as KafkaErrorCode

from metalog.errors import ErrorCode, InvalidSource
from metalog.hosts.host_port import parse_addresses
from metalog.ids import SnapshotId
from metalog.loader import Ready
from metalog.log.quorum import controller_connection, observer
from metalog.log.quorum.controller_connection import ControllerConnection
from metalog.log.quorum.observer import QuorumLog
from metalog.log.quorum.observer_state import Follower
from metalog.ports import Appended, HighWatermark, LogEvent, SnapshotNeeded, Truncated
from metalog.records.batch import Batch, encode_batch
from metalog.replica.replica import Replica
from metalog.wire.client.sasl import AuthenticationFailed
from metalog.wire.client.security import PLAINTEXT, client_settings
from metalog.wire.fetch import EpochLeader, Fetched
from metalog.wire.frames import FrameReader, framed
from metalog.wire.messages import WireRequest, read_request, write_response
from metalog.wire.schema import response_parts
from metalog.wire.versions import VersionRange, Versions, versions_response
from metalog_sources.replay import replay_source
from metalog_sources.source import open_source
from shell.main import main
from shell.tasks.follow.changes import follow
from tests.support.disk.tiny_log import ace, batch, leader_change, snapshot, values
from tests.support.suite.waiting import eventually

CONTROLLERS_APIS: Versions = {
    1: VersionRange(0, 18),
    18: VersionRange(0, 4),
    59: VersionRange(0, 1),
}
BROKERS_APIS: Versions = {1: VersionRange(4, 18), 18: VersionRange(0, 4)}
LOG = [leader_change(0, 1), batch(1, ace(1)), batch(2, ace(2))]
Answer = Callable[[Any], Any]


@contextmanager
def controller(answer: Answer, apis: Versions = CONTROLLERS_APIS) -> Iterator[str]:
    """HOST:PORT of a controller that sends ``answer`` to each Fetch, one connection at a time, and
    closes at the end."""

    def respond(request: WireRequest) -> bytes:
        if request.head.api_key == 18:
            body = versions_response(request.head.version, ErrorCode.NONE, apis)
        else:
            body = answer(request.body)
        return framed(write_response(body, request.head.correlation_id))

    def talk(peer: socket.socket) -> None:
        frames = FrameReader()
        while data := peer.recv(1 << 16):
            for frame in frames.feed(data):
                peer.sendall(respond(read_request(frame)))

    def serve() -> None:
        with suppress(OSError):
            while True:
                peer, _ = listener.accept()
                peers.append(peer)
                with peer, suppress(OSError):
                    talk(peer)

    peers: list[socket.socket] = []
    listener = socket.create_server(("127.0.0.1", 0))
    thread = Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for peer in peers:
            with suppress(OSError):
                peer.shutdown(socket.SHUT_RDWR)
        thread.join(timeout=10)


def fetched(
    code: int = 0, *, leader: int = 1, mark: int = -1, records: bytes = b"", snapshot: int = -1
) -> Any:
    parts = response_parts(1, 18)
    named = {"end_offset": snapshot, "epoch": 1} if snapshot >= 0 else {}
    partition = parts.PartitionData(
        partition_index=0,
        error_code=KafkaErrorCode(code),
        high_watermark=mark,
        log_start_offset=0,
        current_leader=parts.LeaderIdAndEpoch(leader_id=leader, leader_epoch=1),
        snapshot_id=parts.SnapshotId(**named),
        aborted_transactions=None,
        records=records,
    )
    topic = parts.FetchableTopicResponse(topic_id=UUID(int=1), partitions=(partition,))
    return parts.FetchResponse(
        throttle_time=timedelta(), error_code=KafkaErrorCode.none, responses=(topic,)
    )


def leading(mark: int, log: Sequence[Batch] = LOG) -> Answer:
    """A leader of ``log``, committed below ``mark``."""

    def answer(asked: Any) -> Any:
        place = asked.topics[0].partitions[0]
        if place.current_leader_epoch != 1:
            return fetched(74)
        sent = b"".join(
            encode_batch(each) for each in log if each.base_offset >= place.fetch_offset
        )
        return fetched(mark=mark, records=sent)

    return answer


SNAPSHOT = b"".join(map(encode_batch, snapshot(ace(1), ace(2))))


def leading_with_snapshot(asked: Any) -> Any:
    """A leader of all of LOG and of a snapshot, to which it directs a Fetch of offset 0."""
    place = asked.topics[0].partitions[0]
    if hasattr(place, "position"):
        parts = response_parts(59, 1)
        partition = parts.PartitionSnapshot(
            index=0,
            error_code=KafkaErrorCode.none,
            snapshot_id=parts.SnapshotId(end_offset=3, epoch=1),
            current_leader=parts.LeaderIdAndEpoch(leader_id=1, leader_epoch=1),
            size=len(SNAPSHOT),
            position=0,
            unaligned_records=SNAPSHOT,
        )
        topic = parts.TopicSnapshot(name="__cluster_metadata", partitions=(partition,))
        return parts.FetchSnapshotResponse(
            throttle_time=timedelta(), error_code=KafkaErrorCode.none, topics=(topic,)
        )
    if place.fetch_offset == 0 and place.current_leader_epoch == 1:
        return fetched(mark=3, snapshot=3)
    return leading(3)(asked)


@pytest.fixture(autouse=True)
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observer, "PATIENCE_S", 0.3)
    monkeypatch.setattr(observer, "_PAUSE_S", 0.01)


def test_reading_stops_at_the_high_water_mark_and_polling_goes_on() -> None:
    with controller(leading(2)) as address, closing(QuorumLog(address)) as log:
        assert log.bounds()[:4] == (0, 2, 1, 2)
        assert log.cluster_id is None
        read = list(log.read(0))
        assert read[0] == HighWatermark(2)
        assert [each.batch.base_offset for each in read if isinstance(each, Appended)] == [0, 1]
        [rest] = log.poll(1.0)
        assert isinstance(rest, Appended)
        assert rest.batch.base_offset == 2
        assert log.poll(0.05) == ()


def test_what_is_read_again_is_compared_with_the_leaders_log() -> None:
    """The epoch of the last record shows a leader whether it has the record."""
    asked_epochs: list[tuple[int, int]] = []
    lead = leading(3, [leader_change(0, 0), batch(1, ace(1), epoch=0), batch(2, ace(2), epoch=0)])

    def answer(asked: Any) -> Any:
        place = asked.topics[0].partitions[0]
        asked_epochs.append((place.fetch_offset, place.last_fetched_epoch))
        return lead(asked)

    with controller(answer) as address, closing(QuorumLog(address)) as log:
        assert len([*log.read(0)]) == len([*log.read(2)]) + 2
        assert asked_epochs[-1] == (2, 0)


@pytest.mark.parametrize(("epoch", "first"), [(0, HighWatermark(3)), (1, Truncated(1))])
def test_below_a_snapshot_the_reader_compares_the_record_before(
    epoch: int, first: LogEvent
) -> None:
    """To an old epoch, Kafka would send the snapshot in place of records that it has."""
    old = [leader_change(0, 0), batch(1, ace(1), epoch=0), batch(2, ace(2), epoch=0)]
    lead, asked_epochs = leading(3, old), []

    def answer(asked: Any) -> Any:
        place = asked.topics[0].partitions[0]
        asked_epochs.append((place.fetch_offset, place.last_fetched_epoch))
        return lead(asked)

    def with_snapshot(asked: Any) -> Any:
        place = asked.topics[0].partitions[0]
        if place.fetch_offset == 0 and place.current_leader_epoch == 1:
            return fetched(mark=3, snapshot=3)
        return leading(3, LOG if epoch else old)(asked)

    with controller(answer) as address, closing(QuorumLog(address)) as log:
        assert list(log.read(0))
        lead = with_snapshot
        for _ in range(2 - epoch):
            read = list(log.read(2))
            assert (read[0], len(read)) == (first, 2 - epoch)
        assert {each for each in asked_epochs[-2:] if each[0]} <= {(1, 1), (2, 1)}


def test_a_snapshot_that_cannot_be_loaded_leaves_the_epochs_before_it_known() -> None:
    """Otherwise the next attempt would read on in a log that lost the records before."""
    follower = Follower(parse_addresses("a:1"))
    sent = encode_batch(LOG[0]) + encode_batch(LOG[1])
    leader = EpochLeader(1, 4)
    [*_, last] = follower.read(follower.target, Fetched(0, leader, {}, 2, 0, None, None, sent))
    assert isinstance(last, Appended)
    named = Fetched(0, leader, {}, 2, 0, None, SnapshotId(2, 4))
    assert SnapshotNeeded(SnapshotId(2, 4)) in follower.read(follower.target, named)
    assert follower.epoch_before(2) == 1
    follower.read(follower.target, Fetched(0, leader, {}, 2, 0))
    assert follower.epoch_before(2) == 4
    named = named._replace(high_watermark=9, snapshot=SnapshotId(9, 4))
    assert SnapshotNeeded(SnapshotId(9, 4)) in follower.read(follower.target, named)
    assert follower.epoch_before(9) == 4


def test_reading_stops_at_the_mark_of_a_leader_that_lost_records() -> None:
    """The archive must not get what the new leader has not committed."""
    answers = [lambda _: fetched(74), leading(3), leading(-1), leading(2)]

    def answer(asked: Any) -> Any:
        return (answers.pop(0) if len(answers) > 1 else answers[0])(asked)

    with controller(answer) as address, closing(QuorumLog(address)) as log:
        read = log.read(0)
        assert next(read) == HighWatermark(2)
        assert [each.batch.base_offset for each in read if isinstance(each, Appended)] == [0, 1]


@pytest.mark.parametrize("begin", ["0", "-1h", "1970-01-01"])
def test_a_history_goes_back_beyond_the_leaders_snapshot(
    begin: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Kafka refuses offset 0 once there is a snapshot; the records after the snapshot are there."""
    with controller(leading_with_snapshot) as address:
        assert main(["history", f"quorum://{address}", "--from", begin, "--json"]) == 0
        assert '"at":2,' in capsys.readouterr().out
        question = ("User:a", "Read", "topic:t")
        assert main(["history", f"quorum://{address}", *question, "--from", begin]) == 0
        assert main(["explain", f"quorum://{address}", *question]) == 0


@pytest.mark.parametrize(
    "words",
    [
        "can SOURCE User:a Read topic:t",
        "explain SOURCE User:a Read topic:t",
        "who-can SOURCE Read topic:t",
        "access SOURCE User:a",
        "acls SOURCE -o json",
        "history SOURCE",
        "lint SOURCE --only redundant",
        "export SOURCE -o csv",
        "diff SOURCE SOURCE",
        "plan SOURCE SOURCE",
    ],
)
def test_no_verb_answers_where_a_record_of_a_quorum_cannot_be_read(
    words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = [*LOG, values(3, bytes((1, 18, 9))), batch(4, ace(4))]
    with controller(leading(5, odd)) as address:
        assert main(words.replace("SOURCE", f"quorum://{address}").split()) == 2
        said = capsys.readouterr()
        assert (said.out, "offset 3" in said.err.splitlines()[-1]) == ("", True)


def test_a_fault_that_keeps_a_log_from_being_followed_is_told() -> None:
    """Otherwise the follower would wait without a sign."""
    answers = [leading(3)]

    def tell(fault: Exception) -> None:
        raise fault

    with controller(lambda asked: answers[-1](asked)) as address:
        replayed = replay_source(open_source(f"quorum://{address}", environ={}))
        answers.append(lambda asked: fetched(31))
        with pytest.raises(InvalidSource, match="needs CLUSTER_ACTION"):
            next(follow(replayed, tell))


def test_a_poll_without_news_takes_its_time_and_no_more() -> None:
    """The leader is asked to wait for the remaining time."""
    waits, lead = [], leading(3)

    def answer(asked: Any) -> Any:
        waits.append(asked.max_wait)
        return lead(asked)

    with controller(answer) as address, closing(QuorumLog(address)) as log:
        list(log.read(0))
        waits.clear()
        begin = observer.time.monotonic()
        assert log.poll(0.2) == ()
        assert observer.time.monotonic() - begin >= 0.2
    assert max(waits) <= timedelta(seconds=0.2)


def test_while_nobody_leads_it_waits_and_then_says_so() -> None:
    with (
        controller(lambda _: fetched(6, leader=-1)) as address,
        closing(QuorumLog(address)) as log,
        pytest.raises(InvalidSource) as raised,
    ):
        log.bounds()
    assert str(raised.value) == f"quorum://{address}: {observer.NOBODY_LEADS}"


def test_a_leader_that_has_committed_nothing_is_no_source() -> None:
    with (
        controller(leading(-1)) as address,
        closing(QuorumLog(address)) as log,
        pytest.raises(InvalidSource, match="its leader has committed nothing yet"),
    ):
        log.bounds()


def test_who_is_not_there_is_passed_over() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as nobody:
        gone = f"127.0.0.1:{nobody.getsockname()[1]}"
    with controller(leading(3)) as address, closing(QuorumLog(f"{gone},{address}")) as log:
        assert log.bounds().end == 3
    with pytest.raises(
        InvalidSource,
        match=f"^quorum://{gone}: {gone}: connection refused: nothing listens there; check",
    ):
        QuorumLog(gone).bounds()


@pytest.mark.parametrize(
    ("code", "said"),
    [(31, "needs CLUSTER_ACTION"), (104, "is of another cluster"), (100, "UNKNOWN_TOPIC_ID")],
)
def test_a_refusal_is_one_line(code: int, said: str) -> None:
    with (
        controller(lambda _: fetched(code)) as address,
        closing(QuorumLog(address)) as log,
        pytest.raises(InvalidSource, match=said) as raised,
    ):
        log.bounds()
    assert str(raised.value).startswith(f"quorum://{address}: {address}")


def test_a_broker_is_told_from_a_controller() -> None:
    with (
        controller(leading(3), BROKERS_APIS) as address,
        closing(QuorumLog(address)) as log,
        pytest.raises(InvalidSource, match="is a broker's listener; give a controller's"),
    ):
        log.bounds()


def test_a_replica_goes_on_with_its_image_when_the_quorum_is_gone() -> None:
    with controller(leading(3)) as address, closing(QuorumLog(address)) as log:
        replica = Replica(log)
        replica.start()
        assert eventually(lambda: isinstance(replica.state, Ready))
    assert eventually(lambda: not isinstance(replica.state, Ready))
    replica.close()
    assert len(replica.image.acls) == 2


def test_after_a_failed_request_the_clusters_id_is_requested_again() -> None:
    """Without it, a later request could not detect another cluster at an old address."""
    lead, failures = leading(3), [True]

    def answer(asked: Any) -> Any:
        if not hasattr(asked, "endpoint_type"):
            return lead(asked)
        if failures and failures.pop():
            raise ConnectionResetError
        return response_parts(60, 1).DescribeClusterResponse(
            throttle_time=timedelta(),
            error_code=KafkaErrorCode.none,
            error_message=None,
            cluster_id="the-id",
            brokers=(),
        )

    apis = CONTROLLERS_APIS | {60: VersionRange(0, 1)}
    with controller(answer, apis) as address, closing(QuorumLog(address)) as log:
        with pytest.raises(InvalidSource):
            _ = log.cluster_id
        assert log.cluster_id == "the-id"


def test_the_clusters_id_is_asked_for_where_it_is_wanted_alone() -> None:
    """Controllers log a request for it by a client without permission."""
    described: list[Any] = []
    lead = leading(3)

    def answer(asked: Any) -> Any:
        if not hasattr(asked, "endpoint_type"):
            return lead(asked)
        described.append(asked)
        parts = response_parts(60, 1)
        return parts.DescribeClusterResponse(
            throttle_time=timedelta(),
            error_code=KafkaErrorCode.cluster_authorization_failed,
            error_message=None,
            cluster_id="",
            brokers=(),
        )

    apis = CONTROLLERS_APIS | {60: VersionRange(0, 1)}
    with controller(answer, apis) as address:
        assert main(["acls", f"quorum://{address}", "-q"]) == 0
        assert described == []
        with closing(QuorumLog(address)) as log:
            assert (log.cluster_id, log.cluster_id) == (None, None)
            assert len(described) == 1
        with closing(QuorumLog(address, identifies=True)) as log:
            list(log.read(0))
            assert (log.known_cluster_id, len(described)) == (None, 2)


def test_after_a_loss_silent_controllers_do_not_hold_up_those_after_them() -> None:
    """Asked in sequence, each would take the time of a connection."""
    settings = client_settings({"socket.connection.setup.timeout.ms": "60000"})
    with ExitStack() as stack:
        silent = [
            stack.enter_context(closing(socket.create_server(("127.0.0.1", 0)))).getsockname()[1]
            for _ in range(2)
        ]
        rest = stack.enter_context(controller(leading(3)))
        with controller(leading(3)) as first:
            among = ",".join([first, *(f"127.0.0.1:{port}" for port in silent), rest])
            log = stack.enter_context(closing(QuorumLog(among, settings)))
            assert log.bounds().end == 3
        assert len([each for each in log.read(0) if isinstance(each, Appended)]) == len(LOG)


def test_a_loss_is_one_failure_of_the_lost_controller(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second one would pass over the next controller."""

    def refuse(*_: object, **__: object) -> None:
        raise AuthenticationFailed("b:9093: the login failed")

    monkeypatch.setattr(controller_connection, "first_connection", refuse)
    lost, other, third = parse_addresses("a:9093,b:9093,c:9093")
    follower = Follower([lost, other, third])
    connection = ControllerConnection("quorum://a", follower, PLAINTEXT, identifies=False)
    with pytest.raises(InvalidSource, match="b:9093: the login failed"):
        connection.after_loss(lost, "gone")
    assert follower.target == other


def test_an_archive_asks_once_for_the_id_that_controllers_do_not_tell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """After that each Fetch carries it, so that another cluster's controller refuses."""
    told: list[str | None] = []
    lead = leading(3)

    def answer(asked: Any) -> Any:
        told.append(asked.cluster_id)
        return lead(asked)

    target = tmp_path / "archive"
    with controller(answer) as address:
        words = ["archive", f"quorum://{address}", str(target)]
        assert main(words) == 2
        assert "give --cluster-id" in capsys.readouterr().err
        assert not target.exists()
        assert main([*words, "--cluster-id", "prod"]) == 0
        assert told[-1] == "prod"
        told.clear()
        assert main(words) == 0
        assert told[-1] == "prod"
        assert main([*words, "--cluster-id", "other"]) == 2
    assert "the archive of another cluster, prod" in capsys.readouterr().err
