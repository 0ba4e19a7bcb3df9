"""Audit lines in a topic of a real Kafka: each record once, and deleted records are reported."""

from __future__ import annotations

import json
import pickle
import re
import time
from operator import itemgetter
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from authorizer.audit.layouts import Zone
from metalog.errors import InvalidSource
from metalog.log.topic.partitions import PartitionedTopic
from metalog_spark.follow.topic import AuditTopicReader, Span, opened_topic, records_in
from metalog_spark.ingest.audit_splits import read_records
from tests.support.kafka.followed_topic import AuditTopic
from tests.support.kafka.tools import RealKafka
from tests.support.spark.followed_world import line

pytestmark = [pytest.mark.xdist_group("real-kafka"), pytest.mark.once]

ALL = ReadAllAvailable()


def rows(topic: PartitionedTopic, *spans: Span, broker: str | None = None) -> list[dict[str, Any]]:
    pattern = None if broker is None else re.compile(broker)
    sent = [pickle.loads(pickle.dumps((topic, span, pattern))) for span in spans]
    read = (read_records(records_in(*each), Zone("UTC")) for each in sent)
    return [row for batches in read for batch in batches for row in batch.to_pylist()]


def places(found: list[dict[str, Any]], *columns: str) -> list[tuple[Any, ...]]:
    named = (*columns, "file", "line")
    return [tuple(str(row[name]).rpartition("audit-")[2] for name in named) for row in found]


def test_lines_of_a_topic_are_rows(real_kafka: RealKafka) -> None:
    """Rows of one record, of several, and of none; lines of an aborted transaction are missing."""
    sent = AuditTopic(real_kafka.bootstrap, partitions=2)
    number = sent.name.removeprefix("audit-")
    wrapped = {"message": line(3, "User:json", allowed=True), "host": {"name": "kafka-7"}}
    sent.send(line(1, "User:plain", allowed=True).rstrip("\n"))
    sent.send(json.dumps(wrapped), None, headers={"shipper": b"s-1"})
    sent.abort(line(4, "User:aborted", allowed=True))
    sent.send(line(5, "User:one", allowed=False) + line(5, "User:two", allowed=False), "b2")
    sent.send(None)
    sent.send("hello")
    sent.send(line(6, "User:other", allowed=True), "b9", partition=1)
    topic = opened_topic(sent.address, None)
    topic.check()
    assert {each: ends.start for each, ends in topic.ends().items()} == {0: 0, 1: 0}
    spans = [Span(each, 0, ends.stable) for each, ends in topic.ends().items()]
    found = rows(topic, *spans)
    accepted = [row for row in found if row["reason"] is None and row["possible"] is None]
    assert sorted(places(accepted, "principal", "broker", "ambiguous")) == [
        ("User:json", sent.name.removeprefix("audit-"), "False", f"{number}/0", "1"),
        ("User:one", "b2", "True", f"{number}/0/4", "1"),
        ("User:other", "b9", "False", f"{number}/1", "0"),
        ("User:plain", "b1", "False", f"{number}/0", "0"),
        ("User:two", "b2", "True", f"{number}/0/4", "2"),
    ]
    rejected = [row for row in found if row["reason"] is not None]
    assert places(rejected, "text") == [("", f"{number}/0", "5"), ("hello", f"{number}/0", "6")]

    json_alone = Span(0, 1, 2)
    for broker, named in (
        (r"host\.name=(.*)", "kafka-7"),
        ("shipper=(.*)", "s-1"),
        ("Principal", sent.name),
    ):
        [row] = rows(topic, json_alone, broker=broker)
        assert (row["broker"], row["principal"]) == (named, "User:json")
    pieces = [piece for span in spans for piece in span.pieces(0, 2)]
    assert sorted(places(rows(topic, *pieces), "text")) == sorted(places(found, "text"))


def test_a_stream_has_each_offset_once_and_no_more_at_a_time_than_asked(
    real_kafka: RealKafka,
) -> None:
    sent = AuditTopic(real_kafka.bootstrap, partitions=3)
    for number in range(7):
        sent.send("x", partition=number % 2)

    def reader() -> AuditTopicReader:
        return AuditTopicReader(opened_topic(sent.address, None), 5)

    def spans(stream: AuditTopicReader, start: dict[str, Any], end: dict[str, Any]) -> list[Span]:
        parts = [pickle.loads(pickle.dumps(each)) for each in stream.partitions(start, end)]
        return [span for part in parts for span in stream.read(part)]

    stream = reader()
    begin = stream.initialOffset()
    limit = stream.getDefaultReadLimit()
    assert limit == ReadMaxRows(5)
    first = stream.latestOffset(begin, limit)
    assert spans(stream, begin, first) == [(0, 0, 3), (1, 0, 2)]
    second = reader().latestOffset(first, limit)
    assert spans(reader(), first, second) == [(0, 3, 4), (1, 2, 3)]
    assert stream.latestOffset(second, limit) == second
    assert stream.latestOffset(begin, ALL) == second
    assert spans(stream, second, stream.latestOffset(second, ReadMaxRows(1))) == []

    once = reader()
    once.prepareForTriggerAvailableNow()
    sent.send("x", partition=2)
    assert once.latestOffset(second, limit) == second
    assert spans(stream, second, stream.latestOffset(second, ReadMaxRows(1))) == [(2, 0, 1)]


def ask_until_it_fails(topic: PartitionedTopic) -> None:
    """For a moment a broker still answers for a deleted topic."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        topic.ends()


def test_what_is_gone_is_told(real_kafka: RealKafka) -> None:
    """Records that were deleted before they were read, and deleted topics."""
    sent = AuditTopic(real_kafka.bootstrap)
    for second in range(6):
        sent.send(line(second, "User:app", allowed=True))
    topic = opened_topic(sent.address, None)
    stream = AuditTopicReader(topic, 100)
    begin = stream.initialOffset()
    sent.forget(4)
    assert stream.initialOffset() == begin | {"0": 4}
    [lost, *read] = sorted(rows(topic, Span(0, 1, 6)), key=itemgetter("line"))
    assert (lost["line"], lost["reason"]) == (1, "deleted unread: offsets 1 to 3")
    assert [row["line"] for row in read] == [4, 5]
    [lost] = rows(topic, Span(0, 0, 3))
    assert lost["reason"] == "deleted unread: offsets 0 to 2"
    at_once = AuditTopicReader(topic, 1).latestOffset(begin, ReadMaxRows(1))
    assert at_once == begin | {"0": 5}, "what is gone is passed at once"
    assert [*Span(0, 0, 6).pieces(4, 1)] == [(0, 0, 4), (0, 4, 5), (0, 5, 6)]
    assert [*Span(0, 0, 3).pieces(4)] == [(0, 0, 3)]
    with pytest.raises(InvalidSource, match="partition 0 ends at offset 6, and was read up to 7"):
        stream.latestOffset(begin | {"0": 7}, ALL)

    sent.delete()
    with pytest.raises(InvalidSource, match=f"{sent.address}: there is no such topic"):
        ask_until_it_fails(topic)
    sent.make(cleanup_policy="compact,delete")
    with pytest.raises(InvalidSource, match="the topic was deleted and created again"):
        stream.latestOffset(begin, ALL)
    with pytest.raises(InvalidSource, match="the topic is compacted, which removes records"):
        topic.check()


def test_a_cluster_that_does_not_answer_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metalog.log.topic.cluster.TIMEOUT_S", 1)
    with pytest.raises(InvalidSource, match=r"topic://127.0.0.1:1/audit: .*onnect"):
        opened_topic("topic://127.0.0.1:1/audit", None).check()
    with pytest.raises(InvalidSource, match=r"give topic://HOST:PORT\[,HOST:PORT\]/TOPIC"):
        opened_topic("topic://127.0.0.1:1/audit?from=0", None)
