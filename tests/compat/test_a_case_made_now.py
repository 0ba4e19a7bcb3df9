"""A real Kafka is driven by its own tools, and our answers are those that it gave."""

import json
from pathlib import Path

import pytest
from case_maker import make_case
from cases import KafkaCase
from command import run_metalog
from kafka_tools import KafkaTools, RealKafka


def story(kafka: RealKafka) -> None:
    """ACLs are added, of which one goes again; a user's password changes."""
    kafka.acls(
        *("--add", "--allow-principal", "User:app", "--consumer", "--group", "app"),
        *("--topic", "payments", "--resource-pattern-type", "prefixed"),
    )
    kafka.acls(
        *("--add", "--deny-principal", "User:app", "--operation", "Read"),
        *("--topic", "payments-internal", "--deny-host", "10.0.0.7"),
    )
    kafka.acls(
        *("--remove", "--force", "--allow-principal", "User:app", "--operation", "Describe"),
        *("--topic", "payments", "--resource-pattern-type", "prefixed"),
    )
    kafka.configs(
        *("--alter", "--entity-type", "users", "--entity-name", "app"),
        *("--add-config", "SCRAM-SHA-512=[iterations=8192,password=made-up]"),
    )


@pytest.fixture(scope="session")
def case(kafka_tools: KafkaTools, tmp_path_factory: pytest.TempPathFactory) -> KafkaCase:
    folder = tmp_path_factory.mktemp("made-now")
    make_case(
        kafka_tools,
        folder / "kafka",
        folder / "case",
        story,
        format_options=["--add-scram", "SCRAM-SHA-256=[name=app,password=made-up]"],
    )
    return KafkaCase("made-now", folder / "case" / "log-dir", folder / "case" / "expected")


@pytest.mark.xdist_group("made-now")
@pytest.mark.parametrize(
    ("verb", "expected", "key"),
    [
        ("acls", "acls.json", lambda acl: acl["id"]),
        ("users", "scram.json", lambda user: (user["user"], user["mechanism"])),
        ("dump", "records.jsonl", lambda record: record["offset"]),
    ],
)
def test_we_find_in_it_what_kafka_said(
    case: KafkaCase, verb: str, expected: str, key: object
) -> None:
    found = [json.loads(line) for line in lines(verb, case.log_dir)]
    read = case.json_lines if expected.endswith("l") else case.json
    assert sorted(found, key=key) == read(expected)


@pytest.mark.xdist_group("made-now")
def test_each_moment_of_it_is_as_it_was(case: KafkaCase) -> None:
    moments = case.json("acls-at.json")
    assert len(moments) > 3
    for offset, ids in moments.items():
        found = lines("acls", case.log_dir, "--at", offset)
        assert sorted(json.loads(line)["id"] for line in found) == ids


def lines(verb: str, log_dir: Path, *options: str) -> list[str]:
    done = run_metalog(verb, log_dir, "--json", *options)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
