"""``cluster://`` against a real Kafka with SASL SCRAM: read, planned and applied."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scram_kafka import PASSWORDS, ScramKafka

from shell.main import main

pytestmark = pytest.mark.xdist_group("real-kafka")


@pytest.fixture(scope="module")
def cluster(scram_cluster: ScramKafka) -> ScramKafka:
    scram_cluster.kafka_acls(
        *("--add", "--allow-principal", "User:app", "--operation", "Read"),
        *("--topic", "payments", "--topic", "orders"),
    )
    scram_cluster.kafka_acls(
        *("--add", "--deny-principal", "User:app", "--deny-host", "10.0.0.9"),
        *("--operation", "All", "--group", "pay", "--resource-pattern-type", "prefixed"),
    )
    scram_cluster.kafka_acls(
        *("--add", "--allow-principal", "User:app", "--operation", "DescribeTokens"),
        *("--user-principal", "User:other"),
    )
    scram_cluster.kafka_acls(
        *("--add", "--allow-principal", "User:reader", "--operation", "Describe", "--cluster")
    )
    return scram_cluster


Lines = list[dict[str, str]]


def run(
    cluster: ScramKafka, capsys: pytest.CaptureFixture[str], verb: str, *arguments: str | Path
) -> tuple[int, Lines, str]:
    """The verb on the cluster as admin: exit code, JSON lines, and what it said."""
    settings = ("--command-config", str(cluster.settings()))
    code = main([verb, cluster.url, *map(str, arguments), *settings])
    printed = capsys.readouterr()
    assert not any(password in printed.out + printed.err for password in PASSWORDS.values())
    lines = [json.loads(line) for line in printed.out.splitlines() if line.startswith("{")]
    return code, lines, printed.err


def test_reading(cluster: ScramKafka, capsys: pytest.CaptureFixture[str]) -> None:
    code, lines, err = run(cluster, capsys, "acls", "--principal", "User:app", "--json")
    assert code == 0
    assert [tuple(line.values())[1:] for line in lines] == [
        ("TOPIC", "orders", "LITERAL", "User:app", "*", "READ", "ALLOW"),
        ("TOPIC", "payments", "LITERAL", "User:app", "*", "READ", "ALLOW"),
        ("GROUP", "pay", "PREFIXED", "User:app", "10.0.0.9", "ALL", "DENY"),
    ]
    assert "1 ACLs were left out, which confluent-kafka cannot read" in err
    code, lines, _ = run(cluster, capsys, "users", "--json")
    assert [(line["user"], line["mechanism"]) for line in lines] == [
        *((user, "SCRAM_SHA_256") for user in ("admin", "nobody", "reader"))
    ]
    asked = ("User:app", "Read", "topic:orders", "--super-users", "User:admin", "--json")
    code, lines, _ = run(cluster, capsys, "can", *asked)
    assert (code, lines[0]["result"]) == (0, "ALLOWED")


def test_who_cannot_log_in_is_told_so(
    cluster: ScramKafka, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = cluster.settings("nobody", "wrong-password")
    assert main(["acls", cluster.url, "--command-config", str(settings)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"metalog: {cluster.url}: cannot list ACLs: ")
    assert "authentication" in said.lower()
    assert said.count("\n") == 1
    assert "wrong-password" not in said


def test_a_cluster_that_does_not_answer(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("snapshot.exchange.cluster._TIMEOUT_S", 1.0)
    assert main(["acls", "cluster://127.0.0.1:1"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("metalog: cluster://127.0.0.1:1: cannot list ACLs: 127.0.0.1:1/")
    assert "Connection refused" in said


@pytest.mark.parametrize("verb", ["acls", "users"])
def test_who_may_not_list_is_told_so(
    cluster: ScramKafka, verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Never an empty list, which would read as a cluster without ACLs."""
    settings = cluster.settings("nobody")
    assert main([verb, cluster.url, "--command-config", str(settings)]) == 2
    assert capsys.readouterr().err == (
        f"metalog: {cluster.url}: cannot list ACLs: User:nobody may not DESCRIBE Cluster\n"
    )


WANTED = """\
owns:
  - {resourceType: Topic, resourceName: team-, patternType: prefixed}
acls:
  - principal: [User:a, User:b]
    operation: [Read, Write]
    resourceType: Topic
    resourceName: team-x
  - principal: User:a
    permissionType: deny
    operation: All
    resourceType: Topic
    resourceName: team-
    patternType: prefixed
    host: 10.0.0.9
"""
SUPER = ("--super-users", "User:admin")


def listed(cluster: ScramKafka, capsys: pytest.CaptureFixture[str]) -> set[tuple[str, ...]]:
    _, lines, _ = run(cluster, capsys, "acls", "--json")
    return {tuple(line.values())[1:] for line in lines}


def test_apply_and_prune(
    cluster: ScramKafka, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = tmp_path / "team.yaml"
    wanted.write_text(WANTED)
    before = listed(cluster, capsys)
    code, lines, _ = run(cluster, capsys, "plan", wanted, *SUPER, "--json")
    assert (code, [line["permissionType"] for line in lines]) == (1, ["DENY"] + ["ALLOW"] * 4)
    code, _, err = run(cluster, capsys, "apply", wanted, *SUPER)
    assert code == 2
    assert "nobody is there to be asked; give --yes" in err
    assert listed(cluster, capsys) == before
    code, lines, _ = run(cluster, capsys, "apply", wanted, *SUPER, "--yes", "--json")
    assert (code, len(lines)) == (0, 5)
    assert len(listed(cluster, capsys) - before) == 5
    assert "(principal=User:b, host=*, operation=WRITE, permissionType=ALLOW)" in (
        cluster.kafka_acls("--list", "--topic", "team-x")
    )
    assert run(cluster, capsys, "plan", wanted, *SUPER)[0] == 0
    wanted.write_text(WANTED.partition("acls:")[0])
    assert run(cluster, capsys, "plan", wanted, *SUPER)[0] == 0
    code, lines, _ = run(cluster, capsys, "apply", wanted, *SUPER, "--prune", "--yes", "--json")
    assert [line["permissionType"] for line in lines] == ["ALLOW"] * 4 + ["DENY"]
    assert listed(cluster, capsys) == before


def test_a_saved_plan_is_finished_and_then_refused(
    cluster: ScramKafka, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted, plan = tmp_path / "team.yaml", tmp_path / "plan.json"
    wanted.write_text(WANTED)
    assert run(cluster, capsys, "plan", wanted, *SUPER, "--save", plan)[0] == 1
    cluster.kafka_acls(
        *("--add", "--allow-principal", "User:a", "--operation", "Read", "--topic", "team-x")
    )
    code, lines, _ = run(cluster, capsys, "apply", plan, *SUPER, "--json")
    assert (code, len(lines)) == (0, 4)
    code, lines, _ = run(cluster, capsys, "apply", plan, *SUPER, "--json")
    assert (code, lines) == (0, [])
    cluster.kafka_acls(
        *("--add", "--allow-principal", "User:z", "--operation", "Read", "--topic", "other")
    )
    code, _, err = run(cluster, capsys, "apply", plan, *SUPER)
    assert code == 2
    assert "the target has changed since this plan was made" in err
    wanted.write_text(WANTED.partition("acls:")[0])
    assert run(cluster, capsys, "apply", wanted, *SUPER, "--prune", "--yes")[0] == 0


def test_what_the_library_cannot_say_is_refused_before_anything_is_done(
    cluster: ScramKafka, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = tmp_path / "team.yaml"
    wanted.write_text(
        WANTED + "  - {principal: User:a, operation: CreateTokens, resourceType: User, "
        "resourceName: User:b}\n"
    )
    before = listed(cluster, capsys)
    code, _, err = run(cluster, capsys, "apply", wanted, *SUPER, "--yes")
    assert code == 2
    assert "confluent-kafka knows no ACLs on USER; use Kafka's own kafka-acls" in err
    assert listed(cluster, capsys) == before


def test_who_may_not_alter_changes_nothing(
    cluster: ScramKafka, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = tmp_path / "team.yaml"
    wanted.write_text(WANTED)
    arguments = ["--command-config", str(cluster.settings("reader")), *SUPER, "--yes"]
    before = listed(cluster, capsys)
    assert main(["apply", cluster.url, str(wanted), *arguments]) == 2
    said = capsys.readouterr().err
    assert "User:reader may not ALTER Cluster; 0 of 5 changes were made before" in said
    assert listed(cluster, capsys) == before


def test_export_of_a_cluster(
    cluster: ScramKafka, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "a.yaml"
    assert run(cluster, capsys, "export", "--to", target)[0] == 0
    assert run(cluster, capsys, "plan", target, *SUPER)[0] == 0
    assert "SCRAM_SHA_256" in target.read_text()
