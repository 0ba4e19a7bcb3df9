"""A real Kafka is driven by its own tools, and our answers equal its answers."""

import json
from pathlib import Path

import pytest

from tests.support.command.runs import Run
from tests.support.kafka.made_now import MadeNow

pytestmark = pytest.mark.xdist_group("real-kafka")


@pytest.mark.parametrize(
    ("verb", "expected", "key"),
    [
        ("acls", "acls.json", lambda acl: acl["id"]),
        ("users", "scram.json", lambda user: (user["user"], user["mechanism"])),
        ("dump", "records.jsonl", lambda record: record["offset"]),
    ],
)
def test_we_find_in_it_what_kafka_said(
    made_now: MadeNow, verb: str, expected: str, key: object, run: Run
) -> None:
    case = made_now.case
    found = [json.loads(line) for line in lines(run, verb, case.log_dir)]
    read = case.json_lines if expected.endswith("l") else case.json
    assert sorted(found, key=key) == read(expected)


def test_each_moment_of_it_is_as_it_was(made_now: MadeNow, run: Run) -> None:
    moments = made_now.case.json("acls-at.json")
    assert len(moments) > 3
    for offset, ids in moments.items():
        found = lines(run, "acls", made_now.case.log_dir, "--at", offset)
        assert sorted(json.loads(line)["id"] for line in found) == ids


def lines(run: Run, verb: str, log_dir: Path, *options: str) -> list[str]:
    done = run(verb, log_dir, "--json", *options)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
