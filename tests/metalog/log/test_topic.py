"""A log in a topic of librdkafka's mock cluster: what a reader gets, and what is refused.
Transactions need a real Kafka (``tests/compat/test_topic.py``)."""

from __future__ import annotations

import pickle
import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from metalog import Loader, MetadataImage, Replica
from metalog.controller.result import ControllerResult
from metalog.errors import CorruptLog, InvalidRequest, InvalidSource, LogFenced, Unanswered
from metalog.ids import SnapshotId
from metalog.loader import Ready, Stale, feed
from metalog.log.folder.layout import snapshot_name
from metalog.log.topic.address import TopicAddress, parse_address
from metalog.log.topic.cluster import TopicCluster, TopicFacts
from metalog.log.topic.reader import TopicLog, TopicSplit, why_unfit
from metalog.log.topic.writer import MAX_RECORD_BYTES, NEW_TOPIC, WritableTopicLog
from metalog.ports import Appended, Gap, HighWatermark, LiveLog, SnapshotNeeded, Truncated
from metalog.records.batch import Batch, batch_bytes
from metalog.records.messages import PartitionRecord
from shell.main import main
from snapshot.generator import SnapshotGenerator
from snapshot.writer import write_snapshot
from tests.support.disk.tiny_log import ace, snapshot
from tests.support.kafka.topic_logs import MockedCluster, mock_kafka, new_address
from tests.support.suite.waiting import eventually


@pytest.fixture(scope="module")
def broker() -> Iterator[str]:
    with mock_kafka() as bootstrap:
        yield bootstrap


@pytest.fixture
def cluster(broker: str) -> MockedCluster:
    return MockedCluster(new_address(broker))


@pytest.fixture
def writer(cluster: MockedCluster) -> Iterator[WritableTopicLog]:
    log = WritableTopicLog(str(cluster.address), cluster=cluster)
    log.claim()
    yield log
    log.close()


def reader(cluster: MockedCluster, snapshots: Path | None = None) -> TopicLog:
    return TopicLog(str(cluster.address), cluster=cluster, snapshots=snapshots)


def batches(log: TopicLog, start: int = 0) -> list[Batch]:
    return [event.batch for event in log.read(start) if isinstance(event, Appended)]


def test_what_is_read_begins_with_the_mark_and_ends_there(
    cluster: MockedCluster, writer: WritableTopicLog
) -> None:
    end = writer.append(1, [(ace(1), 0), (ace(2), 0)])
    mark, claim, marker, change, last = reader(cluster).read(0)
    assert mark == HighWatermark(end)
    assert isinstance(claim, Appended)
    assert isinstance(change, Appended)
    assert change.batch.messages() == [ace(1), ace(2)]
    assert marker == Gap(1, 2, lost=False)
    assert last == Gap(4, end, lost=False)


def test_an_append_comes_whole_from_inside_too(
    cluster: MockedCluster, writer: WritableTopicLog
) -> None:
    writer.append(1, [(ace(number), 0) for number in range(5)])
    log = reader(cluster)
    assert [batch.base_offset for batch in batches(log, 4)] == [2]
    assert batches(log, 4) == batches(log, 2)
    assert batches(log, 7) == []
    assert list(log.read(99)) == [Truncated(8), HighWatermark(8)]


def test_a_log_is_followed(cluster: MockedCluster, writer: WritableTopicLog) -> None:
    log = reader(cluster)
    assert isinstance(log, LiveLog)
    for begin in (lambda: log.poll(0.01), lambda: list(log.read(0))):
        begin()
        end = writer.append(1, [(ace(1), 0)])
        events = []
        while not any(isinstance(event, Gap) for event in events):
            events += log.poll(5)
        [batch] = [event.batch for event in events if isinstance(event, Appended)]
        assert (batch.messages(), events[-1]) == ([ace(1)], Gap(end - 1, end, lost=False))
    log.close()


def test_after_a_close_polling_continues_after_the_last_poll(
    cluster: MockedCluster, writer: WritableTopicLog
) -> None:
    log = reader(cluster)
    list(log.read(0))
    writer.append(1, [(ace(1), 0)])
    seen: list[int] = []

    def has(count: int) -> bool:
        seen.extend(at.batch.base_offset for at in log.poll(0.1) if isinstance(at, Appended))
        return len(seen) == count

    with closing(log):
        assert eventually(lambda: has(1))
        log.close()
        end = writer.append(1, [(ace(2), 0)])
        log.refresh()
        assert eventually(lambda: has(2))
    assert seen == [2, end - 2]


def test_parts_are_read_where_they_were_sent(
    cluster: MockedCluster, writer: WritableTopicLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metalog.log.topic.reader._SPLIT_OFFSETS", 3)
    for number in range(4):
        writer.append(1, [(ace(10 * number + each), 0) for each in range(4)])
    sent = [pickle.loads(pickle.dumps(split)) for split in reader(cluster).splits()]
    assert len(sent) == 8
    assert [batch for split in sent for batch in split.read()] == batches(reader(cluster))


def test_snapshots_lie_in_a_folder_beside_it(
    cluster: MockedCluster, writer: WritableTopicLog, tmp_path: Path
) -> None:
    end = writer.append(1, [(ace(1), 0)])
    for offset in (end, end + 5):
        whole = b"".join(map(batch_bytes, snapshot(ace(1))))
        (tmp_path / snapshot_name(SnapshotId(offset, 1))).write_bytes(whole)
    (tmp_path / "notes.txt").touch()
    log = reader(cluster, tmp_path)
    assert log.snapshots() == [SnapshotId(end, 1)]
    assert list(log.open_snapshot(SnapshotId(end, 1)))[1].messages() == [ace(1)]
    [problem] = log.problems
    assert f"{SnapshotId(end + 5, 1)} ends past the topic's end at {end}" in problem
    with pytest.raises(InvalidSource, match="no folder of snapshots"):
        reader(cluster).open_snapshot(SnapshotId(end, 1))
    with pytest.raises(InvalidSource, match=f"there is no snapshot {SnapshotId(1, 1)}"):
        log.open_snapshot(SnapshotId(1, 1))
    with pytest.raises(InvalidSource, match="gone"):
        reader(cluster, tmp_path / "gone").snapshots()


@pytest.mark.parametrize("in_avro", [False, True])
def test_snapshots_that_a_controller_makes_are_begun_from(
    cluster: MockedCluster, tmp_path: Path, in_avro: bool
) -> None:
    def written(image: MetadataImage) -> Path:
        return write_snapshot(image, tmp_path, timestamp=0, in_avro=in_avro)

    log = WritableTopicLog(str(cluster.address), cluster=cluster)
    with Replica(log, publishers=[SnapshotGenerator(written, max_records=5)]) as replica:
        for number in range(1, 12):
            records = [(ace(number), 0)]
            replica.submit(lambda image, r=records: ControllerResult(r, None)).result(60)  # type: ignore[misc]
        whole = replica.image
    assert len(reader(cluster, tmp_path).snapshots()) > 1
    for known in reader(cluster, tmp_path).snapshots():
        loader = Loader()
        loader.load_snapshot(known, reader(cluster, tmp_path).open_snapshot(known))
        feed(loader, log, reader(cluster).read(loader.position))
        assert loader.image == whole
    for_state = TopicLog(
        str(cluster.address), cluster=cluster, snapshots=tmp_path, is_for_state=True
    )
    assert next(iter(for_state.read(0))) == SnapshotNeeded(known)
    loader = Loader()
    feed(loader, for_state, for_state.read(0))
    assert loader.image == whole


def test_a_cluster_that_stops_answering_during_a_claim_may_answer_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("metalog.log.topic.cluster.TIMEOUT_S", 1.0)
    with pytest.raises(Unanswered, match=r"topic://127\.0\.0\.1:1/acls: not claimed: "):
        MockedCluster("topic://127.0.0.1:1/acls").claim()


def test_a_start_that_nothing_reaches_is_damage(
    cluster: MockedCluster,
    writer: WritableTopicLog,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """A snapshot that ends before the topic's start does not help: records between are gone."""
    (tmp_path / snapshot_name(SnapshotId(1, 1))).write_bytes(b"")
    ends = cluster.ends()
    monkeypatch.setattr(cluster, "ends", lambda: ends._replace(start=2))
    for log in (reader(cluster), reader(cluster, tmp_path)):
        with pytest.raises(CorruptLog, match="begins at offset 2, and no snapshot has the ear"):
            log.check()
        with pytest.raises(CorruptLog, match="begins at offset 2"):
            list(log.read(0))
    monkeypatch.setattr(cluster, "ends", lambda: ends._replace(start=1))
    reader(cluster, tmp_path).check()


def test_what_is_too_large_is_refused_and_fences_nobody(writer: WritableTopicLog) -> None:
    large = PartitionRecord(replicas=(0,) * (MAX_RECORD_BYTES // 4 + 1))
    with pytest.raises(InvalidRequest, match=rf"one record at most {MAX_RECORD_BYTES}$") as caught:
        writer.append(1, [(large, 0)])
    assert not isinstance(caught.value, LogFenced)
    writer.append(1, [(ace(1), 0)])


@pytest.mark.parametrize(
    ("partitions", "changed", "problem"),
    [
        (1, {}, None),
        (1, {"cleanup.policy": ""}, None),
        (1, {"cleanup.policy": "", "retention.ms": "1000"}, None),
        (1, {"retention.ms": "9223372036854775807"}, None),
        (3, {}, "it has 3 partitions"),
        (1, {"cleanup.policy": "compact"}, "the topic is compacted"),
        (1, {"cleanup.policy": "compact, delete"}, "the topic is compacted"),
        (1, {"retention.ms": "1000"}, "its retention.ms is 1000"),
        (1, {"retention.bytes": "1000"}, "its retention.bytes is 1000"),
    ],
)
def test_which_topics_can_be_logs(
    partitions: int, changed: Mapping[str, str], problem: str | None
) -> None:
    why = why_unfit(TopicFacts(partitions, {**NEW_TOPIC, **changed}))
    assert why == problem if problem is None else why is not None and why.startswith(problem)


def test_addresses() -> None:
    text = "topic://a:9092,b:9093/acls.of-prod_1"
    assert parse_address(text) == TopicAddress("a:9092,b:9093", "acls.of-prod_1")
    assert str(parse_address(text)) == text


def test_settings_are_in_no_repr() -> None:
    cluster = TopicCluster(parse_address("topic://a:9092/acls"), {"sasl.password": "secret"})
    assert "secret" not in repr(TopicSplit(cluster, 0, 1, 1))


def test_a_cluster_that_is_gone_is_noticed_by_its_silence() -> None:
    """By every follower, whatever librdkafka reports last."""
    with ExitStack() as held, ExitStack() as running:
        bootstrap = running.enter_context(mock_kafka())
        made = MockedCluster(new_address(bootstrap))
        writing = WritableTopicLog(str(made.address), cluster=made)
        writing.append(writing.claim(), [(ace(1), 0)])
        writing.close()
        logs = [
            held.enter_context(closing(reader(MockedCluster(str(made.address))))) for _ in range(4)
        ]
        replicas = [held.enter_context(Replica(log)) for log in logs]
        assert eventually(lambda: all(isinstance(each.state, Ready) for each in replicas))
        assert eventually(lambda: all((log.silent_for_s or 9) < 1 for log in logs))
        running.close()
        assert eventually(lambda: all(isinstance(each.state, Stale) for each in replicas))
        assert all((each.failing_for_s or 0) >= 2 for each in replicas)


def test_a_topic_without_a_cluster_says_what_a_cluster_does(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In our own client's words, not librdkafka's, and as soon."""
    with closing(socket.create_server(("127.0.0.1", 0))) as nobody:
        gone = f"127.0.0.1:{nobody.getsockname()[1]}"
    said = []
    for url in (f"cluster://{gone}", f"topic://{gone}/acls"):
        assert main(["acls", url]) == 2
        said.append(capsys.readouterr().err.rstrip().rpartition(f"{gone}: ")[2])
    assert (
        said == ["connection refused: nothing listens there; check the address and the server"] * 2
    )
