"""``cluster://`` before a request, and with a node of ours. ``tests/compat/test_cluster.py`` has
Kafka."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from itertools import product
from pathlib import Path

import pytest
from kio.schema.errors import ErrorCode as KafkaErrorCode

from metalog.acl import CLUSTER_NAME, Operation, PatternType, ResourcePatternFilter, ResourceType
from metalog.errors import InvalidSource, InvalidTarget
from metalog.image.state.features import METADATA_VERSION
from metalog.wire.schema import response_parts
from metalog.wire.versions import Features, VersionRange
from metalog_sources.live.cluster import ClusterStore
from metalog_sources.source import open_source
from metalog_sources.targets.plan import ChangeKind, PlanStep
from metalog_sources.targets.target import carry_out
from tests.support.command.runs import Run, run_here
from tests.support.disk.written_log import formatted
from tests.support.node.running import running_in
from tests.support.wire import peers
from tests.support.wire.peers import SPOKEN, answering
from tests.support.worlds.small_acls import BOB, allow, deny

SETTINGS = (
    "bootstrap.servers=elsewhere:1\n"
    "security.protocol=SASL_SSL\n"
    "sasl.mechanism=SCRAM-SHA-512\n"
    "sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \\\n"
    '  username="app" password="top-secret";\n'
)


def opened(url: str, folder: Path, settings: str | None = None) -> ClusterStore:
    file = None
    if settings is not None:
        file = folder / "client.properties"
        file.write_text(settings)
    store = open_source(url, environ={}, cwd=folder, command_config=file).store
    assert isinstance(store, ClusterStore)
    return store


def test_opening_connects_to_nothing(tmp_path: Path) -> None:
    store = opened("cluster://a:9092,b:9092", tmp_path, SETTINGS)
    assert (store.url, store.caller) == ("cluster://a:9092,b:9092", "User:app")
    assert "top-secret" not in repr(store)
    assert opened("cluster://a:9092", tmp_path).caller is None


def test_by_name_with_its_own_settings(tmp_path: Path) -> None:
    (tmp_path / "c.properties").write_text(SETTINGS)
    (tmp_path / "metalog.toml").write_text(
        '[sources.prod]\nurl = "cluster://a:9092"\ncommand-config = "c.properties"\n'
    )
    assert opened("@prod", tmp_path).caller == "User:app"
    assert opened("@prod", tmp_path, SETTINGS.replace("app", "me")).caller == "User:me"


@pytest.mark.parametrize(
    ("url", "settings", "said"),
    [
        ("cluster://", None, "cluster://: '' is not HOST:PORT; give cluster://HOST:PORT"),
        ("cluster://a:1/t", None, "'a:1/t' is not HOST:PORT; give cluster://HOST:PORT"),
        ("cluster://a:1", "ssl.x=secret", "client.properties: ssl.x is not supported"),
        ("cluster://a:1", "a=\\u12", "client.properties: line 1: "),
        ("cluster://a:1", "security.protocol=nonsense", "client.properties: security.protocol: "),
    ],
)
def test_what_is_refused(tmp_path: Path, url: str, settings: str | None, said: str) -> None:
    with pytest.raises(InvalidSource) as raised:
        opened(url, tmp_path, settings)
    assert said in str(raised.value)
    assert "secret" not in str(raised.value)


ACL = allow("payments")
OF_EACH_KIND = (
    ACL,
    deny("payments", Operation.WRITE),
    allow("pay", prefixed=True),
    allow("billing", kind=ResourceType.GROUP),
    allow(CLUSTER_NAME, Operation.IDEMPOTENT_WRITE, kind=ResourceType.CLUSTER),
    allow("tx", Operation.TWO_PHASE_COMMIT, kind=ResourceType.TRANSACTIONAL_ID),
    allow("token", Operation.DESCRIBE, kind=ResourceType.DELEGATION_TOKEN),
    allow("User:other", Operation.CREATE_TOKENS, kind=ResourceType.USER),
)
"""All of Kafka's resource types."""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ClusterStore]:
    """A node of ours with an ACL of each resource type."""
    with running_in(formatted(tmp_path)) as node:
        store = opened(f"cluster://{node.addresses['PLAINTEXT']}", tmp_path)
        store.delete(store.state().document.acls)
        store.create(OF_EACH_KIND)
        yield store
        store.close()


def test_acls_of_each_kind_are_written_and_read(store: ClusterStore) -> None:
    state = store.state()
    assert set(state.document.acls) == set(OF_EACH_KIND)
    assert (state.problems, state.doubts) == ((), ())
    store.delete([*OF_EACH_KIND[1:], allow("not there")])
    assert store.state().document.acls == (ACL,)


def test_what_is_not_done_is_counted(store: ClusterStore) -> None:
    """Kafka creates the others of a request; if it answers for each, the count is exact."""
    wrong = ACL._replace(principal="nobody")
    added = PlanStep(ChangeKind.ADD, allow("more")), PlanStep(ChangeKind.ADD, wrong)
    with pytest.raises(InvalidTarget) as raised:
        carry_out(store, added)
    said = str(raised.value)
    assert said.startswith(f"{store.url}: cannot create ACLs: INVALID_")
    assert said.endswith("; 1 of 2 changes was made; run the command again to finish")
    assert allow("more") in store.state().document.acls


def test_what_was_acknowledged_before_an_unknown_outcome_is_counted(tmp_path: Path) -> None:
    """The second of two requests is sent once, without an answer."""
    parts = response_parts(30, 3)
    done = parts.AclCreationResult(error_code=KafkaErrorCode.none, error_message=None)
    answers = [parts.CreateAclsResponse(throttle_time=timedelta(), results=(done,) * 500), None]
    steps = [PlanStep(ChangeKind.ADD, allow(f"t-{number}")) for number in range(501)]
    with answering(lambda request: answers.pop(0)) as (address, asked):
        store = opened(f"cluster://{address}", tmp_path)
        with pytest.raises(InvalidTarget) as raised:
            carry_out(store, steps)
    assert asked == ["CreateAcls"] * 2
    assert str(raised.value) == (
        f"{store.url}: cannot create ACLs: {address}: it closed the connection; "
        "the change's outcome is unknown;"
        " 500 of 501 changes were made, perhaps more; run the command again to finish"
    )


def test_what_an_older_broker_does_not_know_is_said_when_planning(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """KIP-373 came with version 3 of CreateAcls, in Kafka 3.3."""
    wanted = tmp_path / "wanted.yaml"
    words = "principal: User:a, operation: {}, resourceType: {}, resourceName: n"
    none = response_parts(29, 2).DescribeAclsResponse(
        throttle_time=timedelta(), error_code=KafkaErrorCode.none, error_message=None, resources=()
    )
    refused = (("CreateTokens", "User"), ("DescribeTokens", "User"))
    for operation, kind in (*refused, ("Read", "Topic")):
        wanted.write_text(f"- {{{words.format(operation, kind)}}}\n")
        for newest in (2, 3):
            monkeypatch.setitem(SPOKEN, 30, VersionRange(1, newest))
            monkeypatch.setitem(SPOKEN, 29, VersionRange(1, 2))
            with answering(lambda request: none) as (address, asked):
                done = run("plan", f"cluster://{address}", wanted, "-q")
            assert set(asked) <= {"DescribeAcls", "DescribeUserScramCredentials"}
            is_refused = newest == 2 and kind == "User"
            assert done.returncode == (2 if is_refused else 0), done.stderr
            assert ("is older than Kafka 3.3" in done.stderr) is is_refused


def test_where_nothing_answers_the_error_names_all_that_was_to_be_listed(tmp_path: Path) -> None:
    with pytest.raises(InvalidSource, match="cannot list ACLs and SCRAM users: "):
        opened("cluster://127.0.0.1:1", tmp_path).state()


@pytest.mark.parametrize("newest", [None, 25, 26], ids=["3.9 on ZooKeeper", "4.0", "4.1"])
def test_two_phase_commit_is_refused_for_an_older_broker_when_planning(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, newest: int | None
) -> None:
    """kafka-clients 4.0.0 does not have operation 15, 4.1.0 has; 4.1 begins at level 26."""
    wanted = tmp_path / "wanted.yaml"
    words = "principal: User:a, operation: TwoPhaseCommit, resourceType: TransactionalId"
    wanted.write_text(f"- {{{words}, resourceName: n}}\n")
    none = response_parts(29, 3).DescribeAclsResponse(
        throttle_time=timedelta(), error_code=KafkaErrorCode.none, error_message=None, resources=()
    )
    supported = {} if newest is None else {METADATA_VERSION: VersionRange(1, newest)}
    monkeypatch.setattr(peers, "FEATURES", Features(supported, {}, 0))
    with answering(lambda request: none) as (address, _):
        done = run("plan", f"cluster://{address}", wanted, "-q")
    assert done.returncode == (0 if newest == 26 else 2), done.stderr
    is_refused = "is older than Kafka 4.1, which brought TWO_PHASE_COMMIT" in done.stderr
    assert is_refused is (newest != 26)


def test_some_of_the_acls(store: ClusterStore) -> None:
    """Equal to the whole state, filtered here."""
    for acl, kind in product(OF_EACH_KIND, PatternType):
        if kind is PatternType.UNKNOWN:
            continue
        pattern = ResourcePatternFilter(acl.resource_type, acl.resource_name, kind)
        found = store.state_about([pattern]).document.acls
        assert set(found) == set(filter(pattern.matches, OF_EACH_KIND))
    topic = ResourcePatternFilter(ResourceType.TOPIC, "elsewhere", PatternType.MATCH)
    assert set(store.state_about([topic], [BOB]).document.acls) == set(OF_EACH_KIND)
    assert store.state_about([topic], ["User:nobody"]).document.acls == ()


def test_an_acl_that_cannot_be_read_is_a_doubt(tmp_path: Path, run: Run) -> None:
    """A verb that would answer without it gives no answer."""
    parts = response_parts(29, 3)
    entry = parts.AclDescription(principal="User:a", host="*", operation=16, permission_type=2)
    resource = parts.DescribeAclsResource(
        resource_type=2, resource_name="payments", pattern_type=3, acls=(entry,)
    )
    answer = parts.DescribeAclsResponse(
        throttle_time=timedelta(),
        error_code=KafkaErrorCode.none,
        error_message=None,
        resources=(resource,),
    )
    wanted = tmp_path / "acls.yaml"
    wanted.write_text("acls: []\n")
    with answering(lambda request: answer) as (address, _):
        url = f"cluster://{address}"
        asked = {
            verb: run(verb, url, *rest)
            for verb, rest in {
                "can": ("User:a", "Read", "topic:payments"),
                "acls": (),
                "plan": (str(wanted),),
                "lint": (),
                "kafka-acls": ("--list", "--topic", "payments"),
                "export": (),
            }.items()
        }
        salvaged = run("can", url, "User:a", "Read", "topic:payments", "--salvage")
    said = f"{url}: an ACL cannot be read: operation 16 is unknown"
    for verb, done in asked.items():
        assert (done.returncode, done.stdout) == (2, ""), verb
        assert said in done.stderr, verb
    assert (salvaged.returncode, said in salvaged.stderr) == (1, True)


@pytest.mark.parametrize(("newest", "kafka"), [(30, "4.3"), (33, "4.4")])
def test_a_cluster_announces_which_kafka_decides(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    newest: int,
    kafka: str,
) -> None:
    """4.4 applies stored blocks at any metadata.version, and supports levels up to 33."""
    parts = response_parts(29, 3)
    entry = parts.AclDescription(
        principal="User:a", host="10.0.0.0/8", operation=3, permission_type=3
    )
    resource = parts.DescribeAclsResource(
        resource_type=2, resource_name="payments", pattern_type=3, acls=(entry,)
    )
    answer = parts.DescribeAclsResponse(
        throttle_time=timedelta(),
        error_code=KafkaErrorCode.none,
        error_message=None,
        resources=(resource,),
    )
    supported = {METADATA_VERSION: VersionRange(7, newest)}
    monkeypatch.setattr(
        "tests.support.wire.peers.FEATURES", Features(supported, {METADATA_VERSION: 30}, 0)
    )
    question = ("User:a", "Read", "topic:payments", "--host", "10.1.1.1", "--json")
    with answering(lambda request: answer) as (address, _):
        done = run_here(capsys, "can", f"cluster://{address}", *question)
        linted = run_here(capsys, "lint", f"cluster://{address}", "--only", "host-form")
        upgraded = run_here(capsys, "lint", f"cluster://{address}", "--for", "4.4")
    said = json.loads(done.stdout)
    is_allowed = kafka == "4.4"
    assert (said["result"] == "ALLOWED", said["kafkaVersion"]) == (is_allowed, kafka)
    assert f"kafka.version={kafka}" in said["assumed"]
    assert f"would answer {'DENIED' if is_allowed else 'ALLOWED'}" in done.stderr
    assert (linted.returncode == 0) is is_allowed, linted.stderr + linted.stdout
    assert "would answer differently" in linted.stderr
    turned_already = "note: Kafka 4.4 is already in use; the report compares it with 4.3"
    assert (turned_already in upgraded.stderr) is is_allowed
    assert "a downgrade is impossible" not in upgraded.stderr
