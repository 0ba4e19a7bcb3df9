"""Our replay of a log of Kafka equals the output of Kafka's own tools."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from metalog.errors import CorruptLog
from metalog.loader import Loader, Ready, feed
from metalog.log.folder.directory import DirectoryLog
from tests.support.disk.replaying import acl_rows, scram_rows, world_of
from tests.support.kafka.cases import KafkaCase

WHOLE_LOG = ("-whole-log", "-if-skipped", "")


def expected(case: KafkaCase, name: str) -> object:
    """The replay of all records in the files, and of the readable ones."""
    for variant in WHOLE_LOG:
        if case.expects(f"{name}{variant}.json"):
            return case.json(f"{name}{variant}.json")
    return None


def test_acls_and_users_at_the_end(
    kafka_case: KafkaCase, figure: Callable[[str, int], None]
) -> None:
    if kafka_case.is_invalid:
        return
    image = world_of(kafka_case).image()
    acls, users = expected(kafka_case, "acls"), expected(kafka_case, "scram")
    assert acls is None or acl_rows(image) == acls
    assert users is None or scram_rows(image) == users


def test_acls_at_every_listed_offset(kafka_case: KafkaCase) -> None:
    world = world_of(kafka_case)
    for offset, ids in (expected(kafka_case, "acls-at") or {}).items():
        if world.reaches(int(offset)):
            image = world.image_at(int(offset))
            assert [row["id"] for row in acl_rows(image)] == ids, f"at offset {offset}"


def test_a_transaction_that_no_controller_writes_is_refused_with_its_offset(
    kafka_case: KafkaCase,
) -> None:
    if not kafka_case.is_invalid:
        return
    error = kafka_case.json("error.json")["error"]
    offset = int(re.findall(r"offset (\d+)", error)[-1])
    for tolerant in (False, True):
        log = DirectoryLog(kafka_case.log_dir)
        loader = Loader(tolerant=tolerant)
        with pytest.raises(CorruptLog) as refused:
            feed(loader, log, log.read(0))
        assert refused.value.offset == offset
        assert not isinstance(loader.state, Ready)


STOPPED = {
    "acl-record-version-1": 23,
    "body-cut-short": 23,
    "empty-value": 23,
    "enum-codes-unknown": 22,
    "frame-version-0": 23,
    "frame-version-2": 23,
    "name-not-utf8": 22,
    "remove-acl-record-version-9": 23,
    "remove-of-absent-acl": 23,
    "timestamp-deltas": 23,
}


def test_a_strict_loader_stops_where_authorization_is_concerned_and_nowhere_else(
    kafka_case: KafkaCase,
) -> None:
    if kafka_case.is_invalid:
        return
    log = DirectoryLog(kafka_case.log_dir)
    loader = Loader()
    stop = STOPPED.get(kafka_case.name.removeprefix("frames-crafted/"))
    if stop is None:
        feed(loader, log, log.read(0))
        assert isinstance(loader.state, Ready)
        assert acl_rows(loader.image) == acl_rows(world_of(kafka_case).image())
        return
    with pytest.raises(CorruptLog) as stopped:
        feed(loader, log, log.read(0))
    assert stopped.value.offset == stop
    assert stopped.value.file is not None
    assert not isinstance(loader.state, Ready)
    assert len(loader.image.acls) == 0


def test_all_cases_that_stop_a_strict_loader_were_there(kafka_cases: tuple[KafkaCase, ...]) -> None:
    frames = {case.name for case in kafka_cases if case.name.startswith("frames-crafted/")}
    assert {f"frames-crafted/{name}" for name in STOPPED} <= frames or len(frames) < 18
