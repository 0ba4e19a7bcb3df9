"""What every writable log guarantees its writer, wherever its batches are stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from metalog import Replica, WritableDirectoryLog
from metalog.controller.result import ControllerResult
from metalog.errors import InvalidRequest, LogFenced
from metalog.ids import SnapshotId
from metalog.log.memory import WritableMemoryLog
from metalog.log.topic.writer import WritableTopicLog
from metalog.ports import Appended, Gap, HighWatermark, LogEvent, WritableLog
from metalog.records.batch import Batch
from metalog.records.messages import LeaderChangeMessage
from tests.support.disk.tiny_log import ace, ids
from tests.support.disk.written_log import formatted
from tests.support.kafka.topic_logs import MockedCluster, mock_kafka, new_address

Opened = Callable[[], WritableLog]


@pytest.fixture(scope="module")
def mock_broker() -> Iterator[str]:
    with mock_kafka() as bootstrap:
        yield bootstrap


@pytest.fixture(
    params=[
        "memory",
        "directory",
        "topic of a mock",
        pytest.param("topic", marks=[pytest.mark.xdist_group("real-kafka"), pytest.mark.once]),
    ]
)
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Opened:
    """Opens the same log as another writer."""
    if request.param == "directory":
        formatted(tmp_path / "node")
        return lambda: WritableDirectoryLog(tmp_path / "node")
    if request.param == "topic":
        address = new_address(request.getfixturevalue("real_kafka").bootstrap)
        return lambda: WritableTopicLog(address)
    if request.param == "topic of a mock":
        mocked = new_address(request.getfixturevalue("mock_broker"))
        return lambda: WritableTopicLog(mocked, cluster=MockedCluster(mocked))
    batches: list[Batch] = []

    def in_memory() -> WritableLog:
        log = WritableMemoryLog()
        log._batches = batches
        return log

    return in_memory


def appended(events: list[LogEvent]) -> list[Batch]:
    return [event.batch for event in events if isinstance(event, Appended)]


def test_it_is_a_writable_log(opened: Opened) -> None:
    assert isinstance(opened(), WritableLog)


def test_a_claim_begins_the_next_epoch_with_its_leader(opened: Opened) -> None:
    epochs = []
    for _ in range(3):
        log = opened()
        epochs.append(log.claim())
        [message, *_] = appended(list(log.read(0)))[-1].messages()
        assert isinstance(message, LeaderChangeMessage)
        log.close()
    assert epochs == sorted(set(epochs))


def test_what_is_appended_is_one_batch_read_and_polled(opened: Opened) -> None:
    log = opened()
    epoch = log.claim()
    before = list(log.read(0))
    end = log.append(epoch, [(ace(1), 0), (ace(2), 0)])
    mark, change, *marker = log.poll(0)
    assert mark == HighWatermark(end)
    [batch] = appended([change])
    assert batch.messages() == [ace(1), ace(2)]
    assert batch.epoch == epoch
    assert marker == ([Gap(batch.next_offset, end, lost=False)] if batch.next_offset < end else [])
    assert list(log.poll(0)) == []
    assert [*appended(before), batch] == [
        each._replace(file=None, position=0, crc=batch.crc)
        if each.epoch == epoch and not each.is_control
        else each
        for each in appended(list(log.read(0)))
    ]
    assert log.bounds()[1:4] == (end, epoch, end)


def test_only_the_last_claim_writes_and_nothing_after_close(opened: Opened) -> None:
    log = opened()
    with pytest.raises(LogFenced):
        log.append(0, [(ace(1), 0)])
    epoch = log.claim()
    with pytest.raises(LogFenced):
        log.append(epoch - 1, [(ace(1), 0)])
    log.close()
    with pytest.raises(LogFenced):
        log.append(epoch, [(ace(1), 0)])
    with pytest.raises(LogFenced):
        log.claim()


def test_nothing_is_trimmed_without_a_snapshot(opened: Opened) -> None:
    log = opened()
    log.claim()
    with pytest.raises(InvalidRequest):
        log.trim(SnapshotId(1, 1))


def test_a_replica_writes_it_and_the_next_one_goes_on(opened: Opened) -> None:
    for number in (11, 12):
        with Replica(opened()) as replica:
            records = [(ace(number), 0)]
            replica.submit(lambda image, r=records: ControllerResult(r, None)).result(60)  # type: ignore[misc]
            assert number in ids(replica.image)
    assert {11, 12} <= ids(replica.image)
    assert replica.image.features.metadata_version is not None
