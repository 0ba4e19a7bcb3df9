"""``cluster://`` against a real Kafka with SASL SCRAM: read, planned and applied."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any, cast

import pytest
from confluent_kafka import TopicCollection
from confluent_kafka.admin import AdminClient, NewTopic

from metalog.acl import (
    Acl,
    Operation,
    PatternType,
    PermissionType,
    ResourcePatternFilter,
    ResourceType,
)
from metalog.disk.files import LOCAL_FILES
from metalog_sources.live.client_file import topic_client_settings
from metalog_sources.live.cluster import ClusterStore
from metalog_sources.source import open_source
from shell.main import main
from tests.support.kafka.new_topic import make_topic
from tests.support.kafka.scram import PASSWORDS, ScramKafka
from tests.support.suite.waiting import eventually

pytestmark = pytest.mark.xdist_group("real-kafka")

ALLOW = PermissionType.ALLOW
FILTERS = (PatternType.ANY, PatternType.MATCH, PatternType.LITERAL, PatternType.PREFIXED)
OPERATION_NAMES = {
    "TwoPhaseCommit": "TWO_PHASE_COMMIT",
    "Describe": "DESCRIBE",
    "CreateTokens": "CREATE_TOKENS",
}


@pytest.fixture(scope="module")
def cluster(scram_cluster: ScramKafka) -> ScramKafka:
    scram_cluster.kafka_acls(
        "--add", "--allow-principal", "User:app", "--operation", "Read",
        "--topic", "payments", "--topic", "orders",
    )  # fmt: skip
    scram_cluster.kafka_acls(
        "--add", "--deny-principal", "User:app", "--deny-host", "10.0.0.9",
        "--operation", "All", "--group", "pay", "--resource-pattern-type", "prefixed",
    )  # fmt: skip
    scram_cluster.kafka_acls(
        "--add", "--allow-principal", "User:app", "--operation", "DescribeTokens",
        "--user-principal", "User:other",
    )  # fmt: skip
    scram_cluster.kafka_acls(
        "--add", "--allow-principal", "User:reader", "--operation", "Describe", "--cluster"
    )
    return scram_cluster


Lines = list[dict[str, str]]


def run(
    cluster: ScramKafka, capsys: pytest.CaptureFixture[str], verb: str, *arguments: str | Path
) -> tuple[int, Lines, str]:
    """The verb's exit code, JSON lines and stderr, on the cluster as admin."""
    settings = ("--command-config", str(cluster.settings()))
    code = main([verb, cluster.url, *map(str, arguments), *settings])
    printed = capsys.readouterr()
    assert not any(password in printed.out + printed.err for password in PASSWORDS.values())
    lines = [json.loads(line) for line in printed.out.splitlines() if line.startswith("{")]
    return code, lines, printed.err


def test_reading(cluster: ScramKafka, capsys: pytest.CaptureFixture[str]) -> None:
    code, lines, err = run(cluster, capsys, "acls", "--principal", "User:app", "--json")
    assert (code, err) == (0, "")
    assert [tuple(line.values())[1:] for line in lines] == [
        ("TOPIC", "orders", "LITERAL", "User:app", "*", "READ", "ALLOW"),
        ("TOPIC", "payments", "LITERAL", "User:app", "*", "READ", "ALLOW"),
        ("GROUP", "pay", "PREFIXED", "User:app", "10.0.0.9", "ALL", "DENY"),
        ("USER", "User:other", "LITERAL", "User:app", "*", "DESCRIBE_TOKENS", "ALLOW"),
    ]
    code, lines, _ = run(cluster, capsys, "users", "--json")
    listed = {(line["user"], line["mechanism"]) for line in lines}
    assert {(user, "SCRAM_SHA_256") for user in ("admin", "nobody", "reader")} <= listed
    asked = ("User:app", "Read", "topic:orders", "--super-users", "User:admin", "--json")
    code, lines, _ = run(cluster, capsys, "can", *asked)
    assert (code, lines[0]["result"]) == (0, "ALLOWED")


def test_topics_with_their_acls(cluster: ScramKafka, capsys: pytest.CaptureFixture[str]) -> None:
    settings, _ = topic_client_settings(cluster.settings(), LOCAL_FILES)
    admin = AdminClient({"bootstrap.servers": cluster.url.removeprefix("cluster://"), **settings})
    make_topic(admin, NewTopic("payments", 3, 1))
    _, [line], _ = run(cluster, capsys, "topics", "--describe", "--topic", "payments", "--json")
    described = cast("dict[str, Any]", line)
    assert described["partitions"] == 3
    kafkas = admin.describe_topics(TopicCollection(["payments"]))["payments"].result(60)
    assert described["topicId"] == str(kafkas.topic_id).translate({ord("+"): "-", ord("/"): "_"})
    [acl] = described["acls"]
    assert (acl["principal"], acl["operation"]) == ("User:app", "READ")
    allowed = [each["principal"] for each in described["read"] if each["result"] == "ALLOWED"]
    assert allowed == ["User:app"]


def test_who_cannot_log_in_is_told_so(
    cluster: ScramKafka, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = cluster.settings("nobody", "wrong-password")
    assert main(["acls", cluster.url, "--command-config", str(settings)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"metalog: {cluster.url}: cannot list ACLs and SCRAM users: ")
    assert "the server refused the login: Authentication failed" in said
    assert said.count("\n") == 1
    assert "wrong-password" not in said


def test_a_listener_that_wants_a_login_is_told_apart(
    cluster: ScramKafka, capsys: pytest.CaptureFixture[str]
) -> None:
    """Kafka answers ApiVersions to a stranger, and closes at the first request after it."""
    dead = "127.0.0.1:1"
    assert main(["acls", f"cluster://{dead},{cluster.kafka.bootstrap}"]) == 2
    assert capsys.readouterr().err == (
        f"metalog: cluster://{dead},{cluster.kafka.bootstrap}: cannot list ACLs and SCRAM users: "
        f"{cluster.kafka.bootstrap}: it closed the connection at our first request; "
        "it may want a login by SASL: "
        "set security.protocol (the command takes it from --command-config FILE)\n"
    )


def test_a_dead_node_among_the_bootstrap_servers(
    cluster: ScramKafka, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"cluster://127.0.0.1:1,{cluster.kafka.bootstrap}"
    assert main(["acls", url, "--command-config", str(cluster.settings()), "--json"]) == 0
    assert "User:app" in capsys.readouterr().out


@pytest.mark.parametrize("verb", ["acls", "users"])
def test_who_may_not_list_is_told_so(
    cluster: ScramKafka, verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Never an empty list, which would look like a cluster without ACLs."""
    settings = cluster.settings("nobody")
    assert main([verb, cluster.url, "--command-config", str(settings)]) == 2
    assert capsys.readouterr().err == (
        f"metalog: {cluster.url}: cannot list ACLs: User:nobody may not DESCRIBE Cluster\n"
    )


UNKNOWN_TO_LIBRDKAFKA = {
    "transactional-id:tx": ("TwoPhaseCommit", ("--transactional-id", "tx")),
    "delegation-token:token": ("Describe", ("--delegation-token", "token")),
    "user:User:other": ("CreateTokens", ("--user-principal", "User:other")),
}
SUPER = ("--super-users", "User:admin")


@pytest.mark.parametrize("resource", UNKNOWN_TO_LIBRDKAFKA)
def test_acls_that_librdkafka_does_not_know(
    cluster: ScramKafka, resource: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """We read Kafka's and decide by them, and Kafka lists ours: no answer ignores them."""
    operation, on = UNKNOWN_TO_LIBRDKAFKA[resource]
    question = ("User:theirs", operation, resource, *SUPER)
    expected = tmp_path / "expectations.yaml"
    expected.write_text(
        f"deny:\n  - {{principal: User:theirs, operation: {operation}, resource: '{resource}'}}\n"
    )
    before = listed(cluster, capsys)
    kept = tmp_path / "before.yaml"
    assert run(cluster, capsys, "export", "--to", kept)[0] == 0
    assert run(cluster, capsys, "can", *question)[0] == 1
    assert run(cluster, capsys, "test", expected, *SUPER)[0] == 0
    assert run(cluster, capsys, "diff", kept, "--exit-code")[0] == 0

    grant = ("--add", "--operation", operation, *on)
    cluster.kafka_acls(*grant, "--allow-principal", "User:theirs")
    assert eventually(lambda: listed(cluster, capsys) != before)
    [theirs] = listed(cluster, capsys) - before
    assert theirs[3:] == ("User:theirs", "*", OPERATION_NAMES[operation], "ALLOW")
    assert run(cluster, capsys, "can", *question)[0] == 0
    assert run(cluster, capsys, "test", expected, *SUPER)[0] == 1
    assert run(cluster, capsys, "diff", kept, "--exit-code")[0] == 1

    assert run(cluster, capsys, "kafka-acls", *grant, "--allow-principal", "User:ours")[0] == 0
    assert "principal=User:ours" in cluster.kafka_acls("--list", *on)
    for principal in ("User:theirs", "User:ours"):
        gone = ("--remove", "--force", "--operation", operation, *on)
        code, _, _ = run(cluster, capsys, "kafka-acls", *gone, "--allow-principal", principal)
        assert code == 0
    assert eventually(lambda: listed(cluster, capsys) == before)


def test_some_of_the_acls_are_those_that_kafkas_filter_matches(cluster: ScramKafka) -> None:
    """So an answer about one resource may use them alone: see ``shell.tasks.narrow_source``."""
    store = open_source(cluster.url, environ={}, command_config=cluster.settings()).store
    assert isinstance(store, ClusterStore)
    assert store.acl_versions() == ("4.3", 30)
    with contextlib.closing(store):
        added = [
            Acl(ResourceType.GROUP, name, pattern_type, "User:odd", "*", Operation.READ, ALLOW)
            for name in ("*", "p", "pay", "payments", "pay*", "P")
            for pattern_type in (PatternType.LITERAL, PatternType.PREFIXED)
        ]
        before = set(store.state().document.acls)
        store.create(added)
        whole = before | set(added)
        assert eventually(lambda: set(store.state().document.acls) == whole)
        for name in ("payments", "pay", "p", "*", "**", "pay*x", "P", "other"):
            for kind in FILTERS:
                pattern = ResourcePatternFilter(ResourceType.GROUP, name, kind)
                found = store.state_about([pattern]).document.acls
                assert set(found) == set(filter(pattern.matches, whole)), (name, kind)
        found = store.state_about([pattern], ["User:app"]).document.acls
        assert {acl for acl in found if acl.principal == "User:app"} == (
            {acl for acl in whole if acl.principal == "User:app"}
        )
        store.delete(added)


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
    assert (code, [line["permissionType"] for line in lines]) == (0, ["DENY"] + ["ALLOW"] * 4)
    code, _, err = run(cluster, capsys, "apply", wanted, *SUPER)
    assert code == 2
    assert "not a terminal: to skip the prompt, pass --yes" in err
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
    assert run(cluster, capsys, "plan", wanted, *SUPER, "--save", plan)[0] == 0
    cluster.kafka_acls(
        "--add", "--allow-principal", "User:a", "--operation", "Read", "--topic", "team-x"
    )
    code, lines, _ = run(cluster, capsys, "apply", plan, *SUPER, "--json")
    assert (code, len(lines)) == (0, 4)
    code, lines, _ = run(cluster, capsys, "apply", plan, *SUPER, "--json")
    assert (code, lines) == (0, [])
    meddle = ("--add", "--allow-principal", "User:z", "--operation", "Read", "--topic")
    cluster.kafka_acls(*meddle, "other")
    assert run(cluster, capsys, "apply", plan, *SUPER)[0] == 0
    cluster.kafka_acls(*meddle, "team-x")
    code, _, err = run(cluster, capsys, "apply", plan, *SUPER)
    assert code == 2
    assert "the target has changed since this plan was made: ALLOW User:z" in err
    assert "on topic team-x from any host was added: the plan's files own it" in err
    wanted.write_text(WANTED.partition("acls:")[0])
    assert run(cluster, capsys, "apply", wanted, *SUPER, "--prune", "--yes")[0] == 0


def test_who_may_not_alter_changes_nothing(
    cluster: ScramKafka, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = tmp_path / "team.yaml"
    wanted.write_text(WANTED)
    arguments = ["--command-config", str(cluster.settings("reader")), *SUPER, "--yes"]
    before = listed(cluster, capsys)
    assert main(["apply", cluster.url, str(wanted), *arguments]) == 2
    said = capsys.readouterr().err
    assert "User:reader may not ALTER Cluster; 0 of 5 changes were made" in said
    assert listed(cluster, capsys) == before


def test_export_of_a_cluster(
    cluster: ScramKafka, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "a.yaml"
    assert run(cluster, capsys, "export", "--to", target)[0] == 0
    assert run(cluster, capsys, "plan", target, *SUPER)[0] == 0
    assert "SCRAM_SHA_256" in target.read_text()
