"""The reading verbs print for every log of Kafka what Kafka prints."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from metalog.errors import CorruptLog
from metalog_sources.moment import AtOffset
from metalog_sources.replay import replay_source
from metalog_sources.source import open_source
from shell.main import main
from tests.support.kafka.cases import KafkaCase, kafka_case

Lines = list[dict[str, Any]]


class Answer(list[Any]):
    """One command's JSON lines, exit code and stderr."""

    code: int
    err: str


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Any:
    def asked(*arguments: str | Path) -> Answer:
        code = main([*map(str, arguments), "--json"])
        printed = capsys.readouterr()
        answer = Answer(json.loads(line) for line in printed.out.split("\n") if line)
        answer.code, answer.err = code, printed.err
        return answer

    return asked


def expected_state(case: KafkaCase, what: str) -> Lines | None:
    """The state of the whole log as a tolerant reader shows it. None for two cases: Kafka does not
    define a record that contradicts the state."""
    for name in (f"{what}-whole-log.json", f"{what}-if-skipped.json", f"{what}.json"):
        if case.expects(name):
            return list(case.json(name))
    return None


def answered(case: KafkaCase, ask: Any, *arguments: str) -> Answer:
    """The answer; where a strict loader stops, with ``--salvage`` and without ``missing``."""
    verb, *others = arguments
    found: Answer = ask(verb, case.log_dir, *others)
    at = int(others[-1]) if others else None
    if case.is_invalid or is_certain(case, None) or is_certain(case, at):
        return found
    assert (found, found.code) == ([], 2)
    assert "--salvage" in found.err
    salvaged: Answer = ask(verb, case.log_dir, *others, "--salvage")
    assert "missing in the output" in salvaged.err
    assert all(record.pop("missing") for record in salvaged)
    salvaged[:] = filter(None, salvaged)
    return salvaged


@cache
def is_certain(case: KafkaCase, at: int | None) -> bool:
    """If the whole log is there, so is every beginning of it."""
    source = open_source(str(case.log_dir), environ={})
    try:
        replay_source(source, at=None if at is None else AtOffset(at))
    except CorruptLog:
        return False
    return True


def check_state(case: KafkaCase, what: str, found: Answer) -> None:
    if case.is_invalid:
        problem, _, offset = case.json("error.json")["error"].rpartition(" at ")
        assert (found, found.code) == ([], 2)
        assert problem in found.err
        assert offset in found.err
        return
    expected = expected_state(case, what)
    assert found.code == 0
    if expected is None:
        assert "a record was left out" in found.err
    else:
        assert found == expected


def without_reason(record: dict[str, Any]) -> dict[str, Any]:
    """The reason for an undecodable record has our words, not Kafka's."""
    return record | {"undecodable": "undecodable" in record}


@pytest.mark.shows_credentials
def test_dump_has_every_record(kafka_case: KafkaCase, ask: Any) -> None:
    found = ask("dump", kafka_case.log_dir)
    assert found.code == 0
    assert list(map(without_reason, found)) == list(
        map(without_reason, kafka_case.json_lines("records.jsonl"))
    )


def test_dump_ends_at_the_moment_inside_a_batch_too(ask: Any) -> None:
    case = kafka_case("basic-4.3")
    batches = case.json_lines("batches.jsonl")
    large = next(batch for batch in batches if batch["lastOffset"] - batch["baseOffset"] > 1)
    found = ask("dump", case.log_dir, "--at", str(large["baseOffset"] + 1))
    assert found[-1]["offset"] == large["baseOffset"]


@pytest.mark.shows_credentials
def test_dump_of_a_snapshot_has_every_record(kafka_case: KafkaCase, ask: Any) -> None:
    for expected in kafka_case.expected.glob("snapshot-*.records.jsonl"):
        name = expected.name.removeprefix("snapshot-").removesuffix(".records.jsonl")
        found = ask("dump", kafka_case.metadata_dir / f"{name}.checkpoint")
        assert found == kafka_case.json_lines(expected.name)


@pytest.mark.shows_credentials
def test_dump_of_the_bootstrap_records(kafka_case: KafkaCase, ask: Any) -> None:
    if kafka_case.expects("bootstrap.records.jsonl"):
        found = ask("dump", kafka_case.log_dir / "bootstrap.checkpoint")
        assert found == kafka_case.json_lines("bootstrap.records.jsonl")


def test_acls(kafka_case: KafkaCase, ask: Any) -> None:
    check_state(kafka_case, "acls", answered(kafka_case, ask, "acls"))


def test_users(kafka_case: KafkaCase, ask: Any) -> None:
    check_state(kafka_case, "scram", answered(kafka_case, ask, "users"))


def test_acls_at_a_moment(kafka_case: KafkaCase, ask: Any) -> None:
    for name in ("acls-at.json", "acls-at-if-skipped.json"):
        if kafka_case.is_invalid or not kafka_case.expects(name):
            continue
        moments = sorted(kafka_case.json(name).items(), key=lambda pair: int(pair[0]))
        for offset, ids in moments[:: max(1, len(moments) // 12)]:
            found = answered(kafka_case, ask, "acls", "--at", offset)
            assert [acl["id"] for acl in found] == ids, offset


def test_what_three_voters_agree_on_is_committed(ask: Any) -> None:
    uncommitted = kafka_case("quorum-4.3/node-12-uncommitted")
    nodes = [kafka_case(f"quorum-4.3/node-{node}").log_dir for node in (11, 13)]
    folders = "+".join(map(str, [*nodes, uncommitted.log_dir]))
    assert ask("acls", folders) == kafka_case("quorum-4.3/node-11").json("acls.json")
