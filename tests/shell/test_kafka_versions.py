"""Which Kafka version decides: as configured or derived from the log, and reported if it
matters."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command.runs import run_here
from tests.support.disk.written_log import formatted
from tests.support.node.running import running_in

BLOCKS = """\
- {principal: "User:app", operation: READ, resourceType: TOPIC, resourceName: pay, host: 10.0.0.0/8}
- principal: User:app
  operation: READ
  resourceType: TOPIC
  resourceName: pay
  host: 10.1.0.0/16
  permissionType: DENY
- {principal: "User:app", operation: WRITE, resourceType: TOPIC, resourceName: "*"}
- principal: User:*
  operation: WRITE
  resourceType: TOPIC
  resourceName: audit-
  patternType: PREFIXED
  host: 2001:db8::/32
  permissionType: DENY
- {principal: "User:bob", operation: READ, resourceType: GROUP, resourceName: g, host: 10.0.0.0/33}
"""
ASKED = ("User:app", "Read", "topic:pay", "--host")


@pytest.fixture
def blocks(tmp_path: Path) -> Path:
    path = tmp_path / "acls.yaml"
    path.write_text(BLOCKS)
    return path


def test_the_version_that_is_told_decides(
    blocks: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    properties = tmp_path / "server.properties"
    properties.write_text("super.users=User:admin\nkafka.version=4.4\n")
    for options, code in (
        ((), 1),
        (("--kafka", "4.3"), 1),
        (("--kafka", "4.4"), 0),
        (("--config", properties), 0),
        (("--config", properties, "--kafka", "4.3"), 1),
    ):
        done = run_here(capsys, "can", blocks, *ASKED, "10.2.0.1", *options)
        assert done.returncode == code, options
        assert ("Kafka 4.4 would answer ALLOWED, by ALLOW User:app" in done.stderr) is (not options)


def test_a_version_that_is_not_supported_is_named_as_it_was_given(
    blocks: Path,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    known = "supported versions are Kafka 4.3 or 4.4\n"
    older = tmp_path / "older.properties"
    older.write_text("super.users=User:admin\nkafka.version=3.8\n")
    newer = tmp_path / "newer.properties"
    newer.write_text("super.users=User:admin\nkafka.version=4.4\n")
    names = tmp_path / "metalog" / "metalog.toml"
    names.parent.mkdir()
    names.write_text(
        f'[sources.mine]\nurl = "{blocks}"\nconfig = "{newer}"\nkafka.version = "3.7"\n'
    )
    for source, options, named in (
        (blocks, ("--kafka", "3.9"), "--kafka 3.9"),
        (blocks, ("--kafka", "3.9", "--config", newer), "--kafka 3.9"),
        (blocks, ("--kafka", "3.9", "--config", older), "--kafka 3.9"),
        (blocks, ("--config", older), f"{older}, line 2: kafka.version=3.8"),
        ("@mine", (), f"{names}: sources.mine: kafka.version=3.7"),
    ):
        done = run_here(capsys, "can", source, *ASKED, "10.2.0.1", *options)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == f"metalog: {named}: {known}"


def test_a_name_says_which_kafka_decides(
    blocks: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    home = blocks.parent / "home" / "metalog"
    home.mkdir(parents=True)
    (home / "metalog.toml").write_text(f'[sources.mine]\nurl = "{blocks}"\nkafka.version = "4.4"\n')
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home.parent))
    done = run_here(capsys, "can", "@mine", *ASKED, "10.2.0.1", "--json")
    answer = json.loads(done.stdout)
    assert (answer["result"], answer["kafkaVersion"]) == ("ALLOWED", "4.4")
    assert "kafka.version" not in " ".join(answer["assumed"])


def test_json_has_the_version_that_was_assumed(
    blocks: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for verb, *words in (
        ("can", *ASKED, "10.2.0.1"),
        ("explain", *ASKED, "10.2.0.1"),
        ("who-can", "Read", "topic:pay"),
        ("access", "User:app"),
    ):
        done = run_here(capsys, verb, blocks, *words, "--json")
        answer = json.loads(done.stdout.splitlines()[0])
        assert answer["kafkaVersion"] == "4.3"
        assert "kafka.version=4.3" in answer["assumed"]
        assert done.stderr.count("Kafka 4.4 would answer") == 1


def test_hosts_are_told_by_their_blocks(blocks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    newer = ("--kafka", "4.4")
    done = run_here(capsys, "can", blocks, *ASKED[:3], "--json", *newer)
    assert json.loads(done.stdout)["hosts"] == [
        {"host": "10.0.0.0/8", "result": "ALLOWED"},
        {"host": "10.1.0.0/16", "result": "DENIED"},
    ]
    assert run_here(capsys, "who-can", blocks, "Read", "topic:pay", *newer).stdout == (
        "READ on topic pay is allowed to\n"
        "  User:app  from 10.0.0.0/8 but 10.1.0.0/16  "
        "ALLOW User:app READ on topic pay from 10.0.0.0/8\n"
    )
    done = run_here(capsys, "explain", blocks, *ASKED, "11.0.0.1", *newer)
    assert "11.0.0.1 is just outside the ACL's block 10.0.0.0/8" in done.stdout
    done = run_here(capsys, "access", blocks, "User:app", *newer)
    assert "from 10.0.0.0/8, these permissions differ\n  topic pay  READ" in done.stdout


def test_lint_says_what_an_upgrade_turns(
    blocks: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log = tmp_path / "kafka-authorizer.log"
    line = "Principal = User:app is Denied operation = READ from host = {} on resource = "
    line += "Topic:LITERAL:pay for request = Fetch with resourceRefCount = 1 based on rule "
    line += "DefaultDeny\n"
    log.write_text("".join(map(line.format, ("10.2.0.1", "10.2.0.1", "10.1.0.1", "11.0.0.1"))))
    done = run_here(capsys, "lint", blocks, "--for", "4.4", "--audit", log)
    assert done.returncode == 1
    assert "starts to match: User:app gains READ on pay from 10.0.0.0/8" in done.stdout
    assert "everyone else loses" not in done.stdout
    loses = "User:app loses WRITE on names that begin with audit- from 2001:db8::/32"
    assert loses in done.stdout
    assert "starts to match, but changes no answer\n    DENY User:app READ" in done.stdout
    assert "its host is not a CIDR block: Value [33] not in range [0,32]" in done.stdout
    assert done.stdout.endswith("2 of 4 logged requests would get another answer.\n")
    records = run_here(capsys, "lint", blocks, "--for", "4.4", "--json").stdout.splitlines()
    [turned, *_] = json.loads(records[0])["turned"]
    assert turned == {
        "principal": "User:app",
        "hosts": "10.0.0.0/8",
        "host": "10.0.0.1",
        "resourceType": "TOPIC",
        "resourceName": "pay",
        "gains": ["READ"],
        "loses": [],
    }


def test_lint_for_a_version_gives_no_answer_over_an_unreadable_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    audit = tmp_path / "audit.txt"
    audit.write_text("not an audit line\n")
    done = run_here(capsys, "lint", "@demo", "--for", "4.4", "--audit", audit)
    assert done.returncode == 2
    assert f"{audit}, line 1: not an audit line of Kafka" in done.stderr


def test_lint_for_a_version_is_clean_where_nothing_turns(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "acls.yaml"
    path.write_text(BLOCKS.partition("- principal")[0].replace("10.0.0.0/8", "10.0.0.1"))
    assert run_here(capsys, "lint", path, "--for", "4.4").returncode == 0
    for options, said in (
        (("--for", "4.5"), "--for 4.5: supported versions are Kafka 4.3 or 4.4"),
        (("--for", "4.4", "--only", "redundant"), "--for has its own checks"),
        (("--audit", "x"), "--audit needs --for VERSION"),
    ):
        done = run_here(capsys, "lint", path, *options)
        assert done.returncode == 2
        assert said in done.stderr


def test_every_verb_that_answers_says_where_the_other_kafka_would_not(
    blocks: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log = formatted(tmp_path / "node")
    assert run_here(capsys, "apply", log, blocks, "--yes").returncode == 0
    questions = tmp_path / "questions.jsonl"
    asked = {"principal": "User:app", "operation": "READ", "resourceType": "TOPIC"}
    questions.write_text(json.dumps(asked | {"resourceName": "pay", "host": "10.2.0.1"}) + "\n")
    expected = tmp_path / "expected.yaml"
    words = 'principal: "User:app", operation: READ, resource: "topic:pay", host: 10.2.0.1'
    expected.write_text(f"deny:\n- {{{words}}}\n")
    for verb, *words_of in (
        ("can", *ASKED, "10.2.0.1"),
        ("can", "--requests", questions),
        ("explain", *ASKED, "10.2.0.1"),
        ("explain", "--requests", questions),
        ("explain", "User:app", "--consumer", "--topic", "pay", *ASKED[3:], "10.2.0.1"),
        ("who-can", "Read", "topic:pay"),
        ("access", "User:app"),
        ("topics", "--describe", "--topic", "pay"),
        ("test", expected),
        ("history", *ASKED, "10.2.0.1"),
        ("lint",),
        ("lint", "--only", "host-form"),
    ):
        done = run_here(capsys, verb, log, *words_of)
        assert done.stderr.count("Kafka 4.4 would answer") == 1, (verb, words_of)
        told = run_here(capsys, verb, log, *words_of, "--kafka", "4.3")
        assert "would answer" not in told.stderr, verb


def test_a_plan_says_where_the_other_kafka_makes_something_else_of_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def acl(host: str, principal: str = "User:app", permission: str = "ALLOW") -> str:
        words = "operation: READ, resourceType: TOPIC, resourceName: pay"
        return (
            f'- {{principal: "{principal}", {words}, host: {host}, permissionType: {permission}}}\n'
        )

    block, everywhere = acl("10.0.0.0/8"), acl('"*"')
    denied = acl("10.1.0.0/16", "User:b", "DENY")
    questions = tmp_path / "questions.jsonl"
    asked = {"principal": "User:app", "operation": "READ", "resourceType": "TOPIC"}
    questions.write_text(json.dumps(asked | {"resourceName": "pay", "host": "10.2.0.1"}) + "\n")
    held, wanted = tmp_path / "held.yaml", tmp_path / "wanted.yaml"
    by_block = (
        "Kafka 4.4 would answer differently, by ALLOW User:app READ on topic pay from 10.0.0.0/8"
    )
    for before, after, options, said in (
        ("", block, (), by_block),
        (block, "", ("--prune",), by_block),
        ("", acl("10.0.0.1"), (), ""),
        ("", everywhere + block, (), ""),
        ("", denied, (), ""),
        (block, everywhere + block, (), by_block),
        (everywhere, everywhere + block, (), ""),
        (block, everywhere + block, ("--requests", questions), by_block),
        (block, block + acl("10.2.0.1", "User:b"), ("--requests", questions), ""),
        (acl('"*"', "User:b"), acl('"*"', "User:b") + denied, (), "by DENY User:b READ on topic"),
        (block, block + acl("10.1.0.0/16", permission="DENY"), (), by_block),
    ):
        held.write_text(before)
        wanted.write_text(f"owns: [{{resourceType: ANY}}]\nacls:\n{after or ' []'}")
        for kafka in ((), ("--kafka", "4.3")):
            done = run_here(capsys, "plan", held, wanted, *options, *kafka)
            assert done.returncode == 0, done.stderr
            is_warned = bool(said) and not kafka
            assert ("would answer differently" in done.stderr) is is_warned, (
                before,
                after,
                options,
            )
            assert said in done.stderr or not is_warned
    log = formatted(tmp_path / "node")
    wanted.write_text(block)
    assert by_block in run_here(capsys, "apply", log, wanted, "--yes").stderr


@pytest.mark.parametrize(("kafka", "answer"), [("4.3", "DENIED"), ("4.4", "ALLOWED")])
def test_a_quorum_announces_which_kafka_decides(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, kafka: str, answer: str
) -> None:
    """4.4 applies stored blocks at any metadata.version."""
    log = formatted(tmp_path / "node")
    block = ("--add", "--allow-principal", "User:app", "--allow-host", "10.0.0.0/8")
    assert run_here(capsys, "kafka-acls", log, *block, "--topic", "pay").returncode == 0
    with running_in(log, **{"kafka.version": kafka}) as node:
        source = f"quorum://{node.addresses['CONTROLLER']}"
        done = run_here(capsys, "can", source, *ASKED, "10.2.0.1", "--json")
        told = json.loads(done.stdout)
        assert (told["result"], told["kafkaVersion"]) == (answer, kafka)
        assert f"kafka.version={kafka}" in told["assumed"]
        linted = run_here(capsys, "lint", source, "--for", "4.4")
        assert ("Kafka 4.4 is already in use" in linted.stderr) is (kafka == "4.4")


def test_a_command_to_go_on_with_keeps_the_kafka(
    blocks: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    expected = tmp_path / "expected.yaml"
    words = 'principal: "User:app", operation: READ, resource: "topic:pay", host: 11.0.0.1'
    expected.write_text(f"allow:\n- {{{words}}}\n")
    newer = ("--kafka", "4.4")
    done = run_here(capsys, "explain", blocks, "User:x", "Describe", "topic:pay", *newer)
    assert "--consumer --topic pay --kafka 4.4" in done.stdout
    done = run_here(capsys, "test", blocks, expected, *newer)
    assert done.stdout.splitlines()[3].endswith("--host 11.0.0.1 --kafka 4.4")


@pytest.mark.parametrize(("level", "offered"), [(31, False), (32, True)])
def test_a_block_is_offered_where_it_can_be_created(
    blocks: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, level: int, offered: bool
) -> None:
    """KIP-1276: metadata.version 4.4-IV1 allows the creation, and the software matches."""
    log = formatted(tmp_path / "node", level=level)
    blocks.write_text(BLOCKS.partition('- {principal: "User:bob"')[0])
    assert run_here(capsys, "apply", log, blocks, "--yes").returncode == 0
    done = run_here(capsys, "explain", log, *ASKED, "11.0.0.1", "--kafka", "4.4")
    assert "11.0.0.1 is just outside the ACL's block 10.0.0.0/8" in done.stdout
    assert ("--allow-host 11.0.0.0/8" in done.stdout) is offered
    done = run_here(capsys, "can", log, *ASKED, "10.2.0.1")
    block = "ALLOW User:app READ on topic pay from 10.0.0.0/8"
    why = f"ALLOWED, by {block}"
    if offered:
        why = f"DENIED, because it compares hosts as text: {block}"
    assert f"would answer {why}; Kafka {'4.4' if offered else '4.3'} is assumed" in done.stderr
    done = run_here(capsys, "lint", log, "--for", "4.4")
    assert ("Kafka 4.4 is already in use; the report compares it" in done.stderr) is offered


def test_plan_says_what_the_kafka_of_a_folder_refuses(
    blocks: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """As apply does, in Kafka 4.4's own words."""
    for level, code in ((31, 0), (32, 2)):
        log = formatted(tmp_path / str(level), level=level)
        for verb in ("plan", "apply"):
            done = run_here(capsys, verb, log, blocks, *(["--yes"] if verb == "apply" else []))
            assert done.returncode == code, (verb, done.stderr)
            said = "Invalid CIDR notation '10.0.0.0/33': Value [33] not in range [0,32]"
            assert (said in done.stderr) is (code == 2)
