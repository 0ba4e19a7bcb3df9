"""A log in a topic of a real Kafka: whole transactions or none, one writer, one order."""

from __future__ import annotations

import json
import random
import re
import shlex
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from metalog import Loader, MetadataImage, Replica, TopicLog, WritableTopicLog
from metalog.controller.result import ControllerResult
from metalog.disk.files import LOCAL_FILES
from metalog.errors import CorruptLog, InvalidSource, InvalidTarget, LogFenced
from metalog.ids import SnapshotId
from metalog.loader import Ready, feed
from metalog.log.topic import cluster
from metalog.log.topic.address import parse_address
from metalog.log.topic.writer import MAX_RECORD_BYTES, NEW_TOPIC
from metalog.ports import MAX_BATCH_BYTES, Appended, Gap, HighWatermark
from metalog.records.batch import Batch
from metalog.records.messages import UserScramCredentialRecord
from metalog_sources.live.client_file import topic_client_settings
from shell.main import main
from snapshot.writer import write_snapshot
from tests.support.disk.killed_runs import check, run_and_kill
from tests.support.disk.tiny_log import ace, ids
from tests.support.kafka.cases import REPOSITORY
from tests.support.kafka.new_topic import make_topic
from tests.support.kafka.scram import PASSWORDS, ScramKafka
from tests.support.kafka.tools import RealKafka
from tests.support.kafka.topic_logs import new_address, producer
from tests.support.suite.waiting import eventually

pytestmark = pytest.mark.xdist_group("real-kafka")

KILLED_RUNS = 4
RACING_WRITERS = 3
APPENDS_OF_A_RACER = 18
APPENDS_OF_A_CLAIM = 6


@pytest.fixture
def address(real_kafka: RealKafka) -> str:
    return new_address(real_kafka.bootstrap)


def write(address: str, *numbers: int, **options: Any) -> int:
    with closing(WritableTopicLog(address, **options)) as log:
        epoch = log.claim()
        return [log.append(epoch, [(ace(number), 0)]) for number in numbers][-1]


def read(address: str, **options: Any) -> MetadataImage:
    loader = Loader()
    log = TopicLog(address, **options)
    feed(loader, log, log.read(0))
    assert isinstance(loader.state, Ready)
    return loader.image


def batches(address: str) -> list[Batch]:
    return [each.batch for each in TopicLog(address).read(0) if isinstance(each, Appended)]


def make_log(address: str, partitions: int = 1, **settings: str) -> None:
    servers, topic, _ = parse_address(address)
    admin = AdminClient({"bootstrap.servers": servers})
    config = {**NEW_TOPIC, **{key.replace("_", "."): value for key, value in settings.items()}}
    make_topic(admin, NewTopic(topic, partitions, config=config))


def unfinished(address: str, count: int) -> Any:
    """Leaves a transaction of ``count`` records open, with the writer's own producer id."""
    place = parse_address(address)
    writer = producer(address, transactional_id=place.transactional_id)
    writer.init_transactions(60)
    writer.begin_transaction()
    for _ in range(count):
        writer.produce(place.topic, b"never committed", partition=0)
    writer.flush(60)
    return writer


def write_otherwise(address: str) -> None:
    """A message by a producer that does not know this log."""
    other = producer(address)
    other.produce(parse_address(address).topic, b"hello", partition=0)
    other.flush(60)


def test_a_writer_killed_in_the_middle_loses_nothing_that_it_acknowledged(address: str) -> None:
    chance = random.Random(KILLED_RUNS)
    said: list[str] = []
    for run in range(KILLED_RUNS):
        said += run_and_kill(address, run, chance)
        check(read(address), said)
    with closing(WritableTopicLog(address)) as log:
        assert log.claim() == KILLED_RUNS + 1
    check(read(address), said)


def race(address: str, racer: int, acknowledged: list[int], fenced: list[int]) -> None:
    """Appends to the log, and claims it now and then, whoever has claimed it meanwhile."""
    number, last = 1000 * racer, 1000 * racer + APPENDS_OF_A_RACER
    while number < last:
        try:
            with closing(WritableTopicLog(address)) as log:
                epoch = log.claim()
                for _ in range(APPENDS_OF_A_CLAIM):
                    number += 1
                    log.append(epoch, [(ace(number), 0), (ace(number + 500), 0)])
                    acknowledged.append(number)
        except LogFenced:
            fenced.append(number)


def test_writers_that_race_write_one_order_for_everyone(address: str) -> None:
    acknowledged: list[int] = []
    fenced: list[int] = []
    write(address, 1)
    with closing(TopicLog(address)) as live:
        seen = [event.batch for event in live.read(0) if isinstance(event, Appended)]
        racers = [
            threading.Thread(target=race, args=(address, racer, acknowledged, fenced), daemon=True)
            for racer in range(1, 1 + RACING_WRITERS)
        ]
        for racer in racers:
            racer.start()
        while any(racer.is_alive() for racer in racers):
            seen += [event.batch for event in live.poll(0.2) if isinstance(event, Appended)]
        end = TopicLog(address).bounds().end
        while (events := live.poll(0.5)) or seen[-1].next_offset + 1 < end:
            seen += [event.batch for event in events if isinstance(event, Appended)]
    assert seen == batches(address), "a reader that followed saw another order"
    written = Counter(
        int.from_bytes(message.id, "big")
        for batch in seen
        if not batch.is_control
        for message in batch.messages()
    )
    assert set(written.values()) == {1}, "doubled"
    assert set(acknowledged) <= written.keys(), "acknowledged and lost"
    assert {number + 500 for number in written if number >= 1000 and number % 1000 < 500} == {
        number for number in written if number % 1000 >= 500
    }, "an append is half there"
    epochs = [batch.epoch for batch in seen]
    assert epochs == sorted(epochs)
    assert fenced, "there was no race"


def test_a_controller_that_is_fenced_stops_and_reads_no_more_into_it(address: str) -> None:
    def submit(replica: Replica, number: int) -> None:
        records = [(ace(number), 0)]
        replica.submit(lambda image: ControllerResult(records, None)).result(60)

    with Replica(WritableTopicLog(address, node_id=1)) as first:
        submit(first, 1)
        with Replica(WritableTopicLog(address, node_id=2)) as second:
            submit(second, 2)
            for number in (3, 4):
                with pytest.raises(LogFenced):
                    submit(first, number)
            submit(second, 5)
            assert ids(second.image) == {1, 2, 5}
        assert ids(first.image) == {1}
    assert ids(read(address)) == {1, 2, 5}


def test_what_the_next_writer_wrote_before_an_append_returned_is_not_passed_over(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer sleeps behind its commit while another one claims the log."""
    wait_until_stable = cluster.Transactions._wait_until_stable

    def after_another(transactions: cluster.Transactions, end: int) -> int:
        monkeypatch.undo()
        write(address, 2)
        return wait_until_stable(transactions, end)

    loader = Loader()
    with closing(WritableTopicLog(address)) as log:
        epoch = log.claim()
        feed(loader, log, log.read(0))
        monkeypatch.setattr(cluster.Transactions, "_wait_until_stable", after_another)
        log.append(epoch, [(ace(1), 0)])
        feed(loader, log, log.poll(0))
        with pytest.raises(LogFenced):
            log.append(epoch, [(ace(3), 0)])
    follower = TopicLog(address)
    feed(loader, follower, follower.read(loader.position))
    assert ids(loader.image) == ids(read(address)) == {1, 2}


def test_a_log_that_ends_in_what_was_aborted_is_ready(address: str) -> None:
    write(address, 1)
    unfinished(address, 5).abort_transaction(60)
    assert ids(read(address)) == {1}
    log = TopicLog(address)
    [*_, last] = log.read(0)
    assert last == Gap(3, 10, lost=False)
    assert log.bounds()[1:4] == (10, 1, 10)
    write(address, 2)
    assert ids(read(address)) == {1, 2}


@pytest.mark.parametrize("is_polled", [True, False])
def test_a_topic_made_again_with_records_of_the_same_form_is_read_from_its_beginning(
    address: str, is_polled: bool
) -> None:
    servers, topic, _ = parse_address(address)
    write(address, 1, 2)
    loader = Loader()
    with closing(TopicLog(address)) as log:
        feed(loader, log, log.read(0))
        assert not (is_polled and log.poll(0))
        admin = AdminClient({"bootstrap.servers": servers})
        admin.delete_topics([topic])[topic].result(60)
        assert eventually(lambda: topic not in admin.list_topics(timeout=60).topics)
        write(address, 3, 4, 5, 6)
        faults: list[str] = []

        def is_new_one_read() -> bool:
            try:
                polls = is_polled and not faults
                feed(loader, log, log.poll(0.1) if polls else log.read(loader.position))
            except (CorruptLog, InvalidSource) as fault:
                faults.append(str(fault))
            return ids(loader.image) == {3, 4, 5, 6}

        assert eventually(is_new_one_read)
        assert "the log lost committed records" in faults[-1]


def test_an_empty_log_and_one_of_which_all_was_aborted_are_read_to_their_end(address: str) -> None:
    make_log(address)
    log = TopicLog(address)
    log.check()
    assert list(log.read(0)) == [HighWatermark(0)]
    unfinished(address, 3).abort_transaction(60)
    all_aborted = [HighWatermark(4), Gap(0, 4, lost=False)]
    assert eventually(lambda: list(log.read(0)) == all_aborted), "the marker comes soon"
    assert (log.bounds().epoch, log.encoding) == (0, None)
    write(address, 1)
    assert ids(read(address)) == {1}


def test_what_a_dead_writer_left_open_is_aborted_by_the_next(address: str) -> None:
    end = write(address, 1)
    left_open = unfinished(address, 3)
    assert TopicLog(address).bounds().end == end
    write(address, 2)
    assert TopicLog(address).bounds().end == end + 4 + 4
    assert ids(read(address)) == {1, 2}
    with pytest.raises(confluent_kafka.KafkaException, match="fenced"):
        left_open.commit_transaction(60)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"cleanup_policy": "compact"}, "the topic is compacted"),
        ({"cleanup_policy": "delete,compact"}, "the topic is compacted"),
        ({"retention_ms": "604800000"}, "its retention.ms is 604800000, which deletes records"),
        ({"retention_bytes": "1000000"}, "its retention.bytes is 1000000"),
        ({"partitions": 2}, "it has 2 partitions"),
    ],
)
def test_a_topic_that_loses_records_or_their_order_is_no_log(
    address: str, settings: Mapping[str, Any], problem: str
) -> None:
    make_log(address, **settings)
    with pytest.raises(InvalidSource, match=problem):
        TopicLog(address).check()
    with pytest.raises(InvalidTarget, match=problem):
        WritableTopicLog(address).claim()


def test_a_topic_that_takes_too_little_at_a_time_is_read_and_not_written(address: str) -> None:
    make_log(address, max_message_bytes="10000")
    TopicLog(address).check()
    with pytest.raises(InvalidTarget, match=r"its max.message.bytes is 10000; a writer needs"):
        WritableTopicLog(address).claim()


def test_the_largest_append_is_taken(address: str) -> None:
    large = UserScramCredentialRecord("u", 1, b"s" * (MAX_RECORD_BYTES - 20), b"", b"", 4096)
    with closing(WritableTopicLog(address)) as log:
        epoch = log.claim()
        log.append(epoch, [(large, 0)] * (MAX_BATCH_BYTES // MAX_RECORD_BYTES))
    assert batches(address)[-1].record_count == MAX_BATCH_BYTES // MAX_RECORD_BYTES


def test_the_topic_that_a_writer_makes_is_fit_and_a_reader_makes_none(address: str) -> None:
    with pytest.raises(InvalidSource, match="there is no such topic; the first writer of a log"):
        TopicLog(address).check()
    write(address, 1)
    TopicLog(address).check()


def test_one_topic_has_one_encoding(address: str) -> None:
    with closing(WritableTopicLog(address, encoding="avro")) as log:
        epoch = log.claim()
        with pytest.raises(InvalidTarget, match="its values are in avro, not in kraft"):
            WritableTopicLog(address, encoding="kraft").claim()
        log.append(epoch, [(ace(1), 0)])
    write(address, 2)
    assert TopicLog(address).encoding == "avro"
    assert ids(read(address)) == {1, 2}


def test_what_somebody_else_wrote_is_named(address: str) -> None:
    end = write(address, 1)
    write_otherwise(address)
    with pytest.raises(CorruptLog, match="without the header") as caught:
        list(TopicLog(address).read(0))
    assert caught.value.offset == end


def test_who_writes_meanwhile_fences_the_writer(address: str) -> None:
    with closing(WritableTopicLog(address)) as log:
        epoch = log.claim()
        write_otherwise(address)
        with pytest.raises(LogFenced, match="expected offset 2, but the topic returned 3"):
            log.append(epoch, [(ace(1), 0)])
        with pytest.raises(LogFenced, match="a write failed, and nothing more is written"):
            log.append(epoch, [(ace(1), 0)])


@pytest.mark.parametrize("suffix", ["checkpoint", "avro"])
def test_a_snapshot_and_the_topic_from_there_on(
    address: str, suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(address, 1, 2, 3)
    path = write_snapshot(read(address), tmp_path, timestamp=0, in_avro=suffix == "avro")
    assert path.name == f"{8:020d}-{1:010d}.{suffix}"
    write(address, 4)
    assert ids(read(address, snapshots=tmp_path)) == {1, 2, 3, 4}
    with closing(WritableTopicLog(address, snapshots=tmp_path)) as log:
        log.claim()
        log.trim(SnapshotId(8, 1))
    with pytest.raises(CorruptLog, match="begins at offset 8, and no snapshot has the"):
        TopicLog(address).check()
    assert ids(read(address, snapshots=tmp_path)) == {1, 2, 3, 4}
    assert main(["status", f"{address}?snapshots={tmp_path}", "--json"]) == 0
    status = json.loads(capsys.readouterr().out)
    assert (status["startOffset"], status["snapshotUsed"]) == (8, f"{8:020d}-{1:010d}")
    assert status["acls"] == 4
    assert main(["acls", address]) == 2
    assert "name the folder of its snapshots: ?snapshots=DIR" in capsys.readouterr().err


def test_splits_together_are_the_log(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metalog.log.topic.reader._SPLIT_OFFSETS", 3)
    with closing(WritableTopicLog(address)) as log:
        epoch = log.claim()
        for number in range(5):
            log.append(epoch, [(ace(10 * number + each), 0) for each in range(4)])
    splits = TopicLog(address).splits()
    assert len(splits) > 5
    assert [batch for split in splits for batch in split.read()] == batches(address)


@pytest.fixture(params=["kraft", "avro"])
def written(request: pytest.FixtureRequest, address: str) -> str:
    with Replica(WritableTopicLog(address, encoding=request.param)) as replica:
        for number in (1, 2):
            records = [(ace(number, f"topic-{number}"), 0)]
            replica.submit(lambda image, r=records: ControllerResult(r, None)).result(60)  # type: ignore[misc]
    return address


def test_every_reading_verb_reads_it(written: str, capsys: pytest.CaptureFixture[str]) -> None:
    def lines(*arguments: str) -> Iterator[dict[str, Any]]:
        assert main([*arguments, "--json"]) == 0
        return map(json.loads, capsys.readouterr().out.splitlines())

    [status] = lines("status", written)
    assert status["endOffset"] == status["highWatermark"] == 10
    assert "the last stable offset" in status["provenBy"]
    assert status["encoding"] in ("kraft", "avro")
    assert (status["leaderEpoch"], status["ready"], status["problems"]) == (1, True, [])
    assert [line["resourceName"] for line in lines("acls", written)] == ["topic-1", "topic-2"]
    dumped = [
        (line["offset"], line.get("type", line.get("control"))) for line in lines("dump", written)
    ]
    assert dumped[-2:] == [(6, "ACCESS_CONTROL_ENTRY_RECORD"), (8, "ACCESS_CONTROL_ENTRY_RECORD")]
    at = next(line["timestamp"] for line in lines("dump", written) if line["offset"] == 6)
    for moment in ("7", "8", f"@{at}"):
        found = [line["resourceName"] for line in lines("acls", written, "--at", moment)]
        assert found == ["topic-1"], moment
    [answer] = lines("can", written, "User:a", "Read", "topic:topic-2")
    assert answer["result"] == "ALLOWED"


def test_it_is_no_target(written: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["apply", written, written, "--yes"]) == 2
    assert "cannot be the first argument (TARGET); give cluster://" in capsys.readouterr().err


def test_a_cluster_that_does_not_answer_is_waited_for_so_long(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cluster, "TIMEOUT_S", 0.5)
    assert main(["acls", "topic://127.0.0.1:1/acls"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("metalog: topic://127.0.0.1:1/acls: 127.0.0.1:1: ")
    assert "connection refused" in said
    assert said.count("\n") == 1


@contextmanager
def reading_granted(address: str, settings: Mapping[str, str], principal: str) -> Iterator[None]:
    servers, topic, _ = parse_address(address)
    client = AdminClient({**settings, "bootstrap.servers": servers})
    place = (ResourceType.TOPIC, topic, ResourcePatternType.LITERAL, principal, "*")
    wanted = (AclOperation.READ, AclOperation.DESCRIBE_CONFIGS)
    acls = [AclBinding(*place, each, AclPermissionType.ALLOW) for each in wanted]
    for future in client.create_acls(acls).values():
        future.result(60)
    yield
    every = AclBindingFilter(*place, AclOperation.ANY, AclPermissionType.ANY)
    client.delete_acls([every])[every].result(60)


def test_who_logs_in_reads_it_and_who_may_not_is_told_so(
    scram_cluster: ScramKafka, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    address = new_address(scram_cluster.kafka.bootstrap)
    settings, _ = topic_client_settings(scram_cluster.settings(), LOCAL_FILES)
    write(address, 1, settings=settings)
    config = ["--command-config", str(scram_cluster.settings())]
    assert main(["acls", address, *config]) == 0
    assert "User:a" in capsys.readouterr().out
    with reading_granted(address, settings, "User:reader"):
        config = ["--command-config", str(scram_cluster.settings("reader"))]
        assert main(["acls", address, *config]) == 0, "no more than to read it was needed"
    monkeypatch.setattr(cluster, "TIMEOUT_S", 2.0)
    for user, password, problem in (
        ("nobody", None, "TOPIC_AUTHORIZATION_FAILED"),
        ("admin", "wrong-password", "uthentication failed"),
    ):
        config = ["--command-config", str(scram_cluster.settings(user, password))]
        assert main(["acls", address, *config]) == 2
        said = capsys.readouterr().err
        assert said.startswith(f"metalog: {address}: ")
        assert problem in said
        assert said.count("\n") == 1
        assert not any(secret in said for secret in ("wrong-password", *PASSWORDS.values()))


def test_what_the_guide_says_to_type(
    real_kafka: RealKafka,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("client.properties").write_text("security.protocol=PLAINTEXT\n")
    address = f"topic://{real_kafka.bootstrap}/acls-of-prod"
    hours_ago = (time.time_ns() // 1_000_000) - 8 * 3_600_000
    with Replica(WritableTopicLog(address, now_ms=lambda: hours_ago)) as replica:
        replica.submit(lambda image: ControllerResult([(ace(1), 0)], None)).result(60)
    write(address, 2)
    page = (REPOSITORY / "docs" / "guide" / "sources.md").read_text()
    commands = re.findall(r"^metalog .*topic://.*$", page, re.MULTILINE)
    assert len(commands) == 4
    for command in commands:
        typed = re.sub(r"topic://[^/]*", f"topic://{real_kafka.bootstrap}", command)
        assert main(shlex.split(typed)[1:]) == 0, command
    assert "snapshots" in capsys.readouterr().out
