"""Spark's workers read logs without a folder: a topic of a real Kafka, in both encodings, and its
quorum."""

from __future__ import annotations

import os
import pickle
from contextlib import closing
from typing import Any

import pytest
from pyspark.sql.datasource import Filter, GreaterThanOrEqual, InputPartition, LessThan
from pyspark.sql.streaming.datasource import ReadAllAvailable
from pyspark.sql.types import StructType

from metalog import TopicLog, WritableTopicLog
from metalog.ids import uuid_text
from metalog.ports import Appended
from metalog.records.frame import Undecodable
from metalog_sources.source import open_source
from metalog_spark.history.archive import Logs
from metalog_spark.history.archive_history import history_of, scan
from metalog_spark.history.datasource import LogReader, LogStreamReader, read_options
from metalog_spark.history.splits import LogSplit
from tests.support.disk.tiny_log import ace, uuid
from tests.support.kafka.tools import RealKafka
from tests.support.kafka.topic_logs import new_address

pytestmark = pytest.mark.xdist_group("real-kafka")

SCHEMA = (
    StructType()
    .add("offset", "long")
    .add("type", "string")
    .add("control", "string")
    .add("remove_access_control_entry", StructType().add("id", "string"))
)


def rows(source: str, *filters: Filter) -> list[dict[str, Any]]:
    reader = LogReader(read_options({"path": source}), SCHEMA)
    assert list(reader.pushFilters(list(filters))) == []
    return sent_away(reader, reader.partitions())


def sent_away(
    reader: LogReader | LogStreamReader, planned: list[InputPartition]
) -> list[dict[str, Any]]:
    parts = [pickle.loads(pickle.dumps(part)) for part in planned]
    return [row for part in parts for batch in reader.read(part) for row in batch.to_pylist()]


def entries(source: str) -> list[tuple[int, str]]:
    log = open_source(source, environ={}).log
    batches = [each.batch for each in log.read(log.bounds().start) if isinstance(each, Appended)]
    read = [entry for batch in batches for entry in batch.entries()]
    assert not any(isinstance(entry.message, Undecodable) for entry in read)
    return [(entry.offset, getattr(entry.message, "TYPE_NAME", "")) for entry in read]


def named(found: list[dict[str, Any]]) -> list[tuple[int, str]]:
    return [(row["offset"], row["type"] or row["control"]) for row in found]


@pytest.mark.parametrize("encoding", ["kraft", "avro"])
def test_a_topic(real_kafka: RealKafka, encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    address = new_address(real_kafka.bootstrap)
    with closing(WritableTopicLog(address, encoding=encoding)) as log:
        epoch = log.claim()
        for number in range(4):
            log.append(epoch, [(ace(10 * number + each), 0) for each in range(3)])
    assert TopicLog(address).encoding == encoding
    monkeypatch.setattr("metalog.log.topic.reader._SPLIT_OFFSETS", 4)
    found = rows(address)
    assert named(found) == entries(address)
    for begin in range(0, 10, 3):
        asked = rows(address, GreaterThanOrEqual(("offset",), begin), LessThan(("offset",), 9))
        assert asked == [row for row in found if begin <= row["offset"] < 9]
    assert sum(row["type"] == "ACCESS_CONTROL_ENTRY_RECORD" for row in found) == 12
    archive = Logs(address, environ=os.environ).look()
    pieces = dict(enumerate(archive.parts))
    assert len(pieces) > 3
    scanned = {number: scan(part) for number, part in pieces.items() if isinstance(part, LogSplit)}
    history = history_of(archive, scanned, skip_damaged=False)
    assert [each.kind for each in history.ranges] == ["KNOWN"]
    assert {uuid_text(life.id) for life in history.lifetimes} == {
        uuid_text(uuid(10 * number + each)) for number in range(4) for each in range(3)
    }


def test_a_stream_of_a_topic(real_kafka: RealKafka) -> None:
    """Batches of few offsets split appends while the log grows; each record is read once."""
    address = new_address(real_kafka.bootstrap)
    found = []
    with closing(WritableTopicLog(address)) as log:
        epoch = log.claim()
        log.append(epoch, [(ace(number), 0) for number in range(7)])
        options = read_options({"path": address, "maxOffsetsPerTrigger": "3"})
        reader = LogStreamReader(options, SCHEMA)
        reached = reader.initialOffset()
        assert reached == {"offset": 0}
        for number in range(7, 10):
            end = reader.latestOffset(reached, reader.getDefaultReadLimit())
            found += sent_away(reader, reader.partitions(reached, end))
            assert end["offset"] == reached["offset"] + 3
            log.append(epoch, [(ace(number), 0)])
            reached = end
        end = reader.latestOffset(reached, ReadAllAvailable())
        found += sent_away(reader, reader.partitions(reached, end))
        reader.stop()
    assert reader.latestOffset(end, ReadAllAvailable()) == end
    assert named(found) == entries(address)


def test_a_quorum(real_kafka: RealKafka) -> None:
    """Up to the end at planning time, while the quorum goes on writing."""
    source = f"quorum://127.0.0.1:{real_kafka.controller_port}"
    found = named(rows(source))
    assert found
    assert found == entries(source)[: len(found)]
