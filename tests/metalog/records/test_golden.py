"""Every log, snapshot and bootstrap file of Kafka, compared with the output of Kafka's tools."""

from base64 import b64decode
from functools import cache
from pathlib import Path

import pytest

from metalog.errors import CorruptLog
from metalog.records.batch import Batch, MessageEntry, encode_batch
from metalog.records.checkpoint import check_snapshot
from metalog.records.control import encode_control
from metalog.records.frame import Undecodable, encode_value
from metalog.records.masking import to_json
from metalog.records.message import ControlMessage
from tests.support.disk import batch_files
from tests.support.kafka.cases import KafkaCase, kafka_cases


@cache
def read_batches(path: Path) -> list[tuple[Batch, list[MessageEntry]]]:
    """With their entries, which most tests need: a file is decoded once."""
    return [(batch, list(batch.entries())) for batch in batch_files.read_batches(path)]


def log_files(case: KafkaCase) -> list[Path]:
    return sorted(case.metadata_dir.glob("*.log"))


def checkpoints(case: KafkaCase) -> list[Path]:
    bootstrap = case.log_dir / "bootstrap.checkpoint"
    return sorted(case.metadata_dir.glob("*.checkpoint")) + [bootstrap] * bootstrap.is_file()


def described(entry, batch):
    """An entry in the form of ``records.jsonl``, without Kafka's own words for a refusal."""
    line = {"offset": entry.offset, "epoch": batch.epoch, "timestamp": entry.timestamp}
    message = entry.message
    if isinstance(message, Undecodable) and message.lenient is not None:
        message = message.lenient
    if isinstance(message, Undecodable):
        return line | {"undecodable": message.value}
    data = {"data": to_json(message, entry.version)}
    if isinstance(message, ControlMessage):
        return line | {"control": message.TYPE_NAME} | data
    return line | {"type": message.TYPE_NAME, "version": entry.version} | data


def expected_lines(case, name):
    for line in case.json_lines(name):
        if "undecodable" in line:
            line["undecodable"] = b64decode(line.pop("value"))
        yield line


def test_batches_are_those_of_kafka(kafka_case):
    found = [
        {
            "file": path.name,
            "position": batch.position,
            "size": batch.size,
            "baseOffset": batch.base_offset,
            "lastOffset": batch.last_offset,
            "epoch": batch.epoch,
            "isControl": batch.is_control,
            "compression": batch.compression,
            "maxTimestamp": batch.max_timestamp,
            "crc": batch.crc,
        }
        for path in log_files(kafka_case)
        for batch, _ in read_batches(path)
    ]
    assert found == kafka_case.json_lines("batches.jsonl")


def test_records_are_those_of_kafka(kafka_case):
    found = [
        described(entry, batch)
        for path in log_files(kafka_case)
        for batch, entries in read_batches(path)
        for entry in entries
    ]
    assert found == list(expected_lines(kafka_case, "records.jsonl"))


def test_records_of_checkpoints_are_those_of_kafka(kafka_case):
    for path in checkpoints(kafka_case):
        stem = "bootstrap" if path.name.startswith("bootstrap") else f"snapshot-{path.stem}"
        name = f"{stem}.records.jsonl"
        if not kafka_case.expects(name):
            continue
        found = [
            described(entry, batch) for batch, entries in read_batches(path) for entry in entries
        ]
        assert found == list(expected_lines(kafka_case, name))


def test_every_batch_is_written_back_to_the_byte(kafka_case):
    for path in (*log_files(kafka_case), *checkpoints(kafka_case)):
        written = b"".join(encode_batch(batch) for batch, _ in read_batches(path))
        assert written == path.read_bytes()


def test_every_message_is_written_back_to_the_byte(kafka_case):
    for path in (*log_files(kafka_case), *checkpoints(kafka_case)):
        for batch, entries in read_batches(path):
            for record, entry in zip(batch.records(), entries, strict=True):
                message = entry.message
                if isinstance(message, Undecodable) or b"\xff" in (record.value or b""):
                    continue
                if isinstance(message, ControlMessage):
                    assert encode_control(message, entry.version) == (record.key, record.value)
                else:
                    assert encode_value(message, entry.version) == record.value


def test_messages_are_those_of_the_entries(kafka_case):
    for path in (*log_files(kafka_case), *checkpoints(kafka_case)):
        for batch, entries in read_batches(path):
            assert batch.messages() == [entry.message for entry in entries]
            assert [e.offset for e in entries] == list(range(batch.base_offset, batch.next_offset))
            assert {e.timestamp for e in entries} | {batch.max_timestamp} >= {batch.base_timestamp}


def test_every_checkpoint_of_kafka_is_whole(kafka_case):
    for path in checkpoints(kafka_case):
        read = [batch for batch, _ in read_batches(path)]
        data = [batch for batch in read if not batch.is_control]
        assert [b for b in check_snapshot(read) if not b.is_control] == data


def test_the_one_version_that_kafka_does_not_check_is_not_taken_for_known():
    case = next(c for c in kafka_cases() if c.name.endswith("remove-acl-record-version-9"))
    [path] = log_files(case)
    *_, last = [entry for _, entries in read_batches(path) for entry in entries]
    assert isinstance(last.message, Undecodable)
    assert (last.message.api_key, last.message.version) == (19, 9)
    assert last.message.lenient is not None


def test_damage_is_found_in_the_batch_that_has_it(damaged_case):
    facts = damaged_case.facts
    if facts["detectedBy"] not in ("length", "crc"):
        return
    path = damaged_case.log_dir.parents[1] / facts["file"]
    with pytest.raises(CorruptLog) as fault:
        list(batch_files.read_batches(path))
    assert (fault.value.file, fault.value.byte) == (path.name, facts["batchPosition"])
