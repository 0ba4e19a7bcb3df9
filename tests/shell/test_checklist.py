"""A checklist asks what Kafka would check, and counts what Kafka would refuse."""

from __future__ import annotations

import json
import shlex
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest

from authorizer.permissions.table import APIS
from metalog.acl import (
    ACL_KEYS,
    SUPPORTED_OPERATIONS,
    Acl,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
    words_of,
)
from shell.main import main
from tests.support.kafka.vectors import read_acl


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str]) -> Any:
    def checked(*arguments: str) -> tuple[int, dict[tuple[str, str, str | None], bool], str]:
        code = main(["can", "@demo", *arguments, "--json"])
        printed = capsys.readouterr()
        lines = map(json.loads, printed.out.splitlines())
        answers = {
            (each["operation"], each["resourceType"], each["resourceName"]): each["result"]
            == "ALLOWED"
            for each in lines
        }
        return code, answers, printed.err

    return checked


def test_a_consumer_in_a_group(check: Any) -> None:
    task = ("--consumer", "--topic", "payments", "--group", "fraud-check")
    code, answers, _ = check("User:fraud-check", *task)
    assert code == 0
    assert answers == {
        ("DESCRIBE", "TOPIC", "payments"): True,
        ("DESCRIBE", "GROUP", "fraud-check"): True,
        ("READ", "GROUP", "fraud-check"): True,
        ("READ", "TOPIC", "payments"): True,
    }
    code, answers, err = check("User:fraud-chek", *task)
    assert code == 1
    assert answers["READ", "TOPIC", "payments"] is False
    assert err.count("did you mean User:fraud-check?") == 1


def test_a_consumer_without_a_group(check: Any) -> None:
    code, answers, _ = check("User:fraud-check", "--consumer", "topic:payments")
    assert code == 0
    assert set(answers) == {("DESCRIBE", "TOPIC", "payments"), ("READ", "TOPIC", "payments")}


def test_an_idempotent_producer_may_write_to_any_topic_instead(check: Any) -> None:
    code, answers, _ = check("User:orders-service", "--producer", "--topic", "orders")
    assert code == 0
    assert answers["IDEMPOTENT_WRITE", "CLUSTER", "kafka-cluster"] is True
    code, answers, _ = check("User:payments-service", "--producer", "--topic", "payments")
    assert code == 0
    assert answers["WRITE", "TOPIC", None] is True


def test_a_transactional_producer(check: Any) -> None:
    task = ("--producer", "--topic", "payments", "--transactional-id")
    assert check("User:payments-service", *task, "payments-1")[0] == 0
    code, answers, _ = check("User:payments-service", *task, "other-1")
    assert code == 1
    assert answers["WRITE", "TRANSACTIONAL_ID", "other-1"] is False


def test_what_a_request_does_without_turns_nothing(check: Any) -> None:
    code, answers, _ = check("User:orders-service", "--api", "CreateTopics", "--topic", "orders")
    assert code == 0
    assert answers == {
        ("CREATE", "TOPIC", "orders"): True,
        ("DESCRIBE_CONFIGS", "TOPIC", "orders"): False,
    }


@pytest.mark.once
@pytest.mark.parametrize("api", APIS, ids=[api.name for api in APIS])
def test_every_api_has_a_checklist(api: Any, check: Any) -> None:
    resources = ("topic:t", "group:g", "transactional-id:x", "user:User:u", "delegation-token:d")
    code, answers, _ = check("User:admin", *resources, "--api", api.name)
    assert code == 0
    assert bool(answers) == bool(api.needs)
    assert check("User:admin", *resources, "--api", str(api.key))[1] == answers


def test_what_a_checklist_needs_is_said(check: Any) -> None:
    for arguments, said in [
        (("--consumer",), "give --topic"),
        (("READ", "topic:t", "--consumer"), "'READ' is an operation, not a resource such as"),
        (("--api", "OffsetCommit"), "give --group and --topic"),
        (
            ("--producer", "--consumer", "--topic", "t"),
            "give one of --producer, --consumer and --api",
        ),
        (("--producer", "--topic", "t", "--topic", "u"), "about one topic"),
    ]:
        code, answers, err = check("User:a", *arguments)
        assert (code, answers) == (2, {})
        assert said in err
    assert "a checklist needs a principal" in check("--producer", "--topic", "t")[2]


@pytest.mark.parametrize(
    "words",
    [
        ("User:billing", "--consumer", "--topic", "payments-eu", "--group", "a b"),
        ("User:o'neil", "read", "topic:payments", "--host", "10.0.0.1"),
    ],
    ids=" ".join,
)
def test_what_is_denied_names_the_command_that_says_what_would_allow_it(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["can", "@demo", *words]) == 1
    said, command = capsys.readouterr().out.splitlines()[-2:]
    assert said == "why, and how to allow it:"
    metalog, *arguments = shlex.split(command)
    assert (metalog, arguments) == ("metalog", ["explain", "@demo", *words])
    assert main(arguments) == 0
    assert "\nto allow  " in capsys.readouterr().out


@pytest.mark.parametrize("name", ["orders", "-o'neil"])
def test_a_look_up_that_is_denied_leads_to_the_checklists_commands(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """After those for clients that read or write the topic, and before those that only allow the
    look-up."""
    empty = tmp_path / "no acls.yaml"
    empty.write_text("acls: []\n")
    words = ["User:app", "Describe", f"topic:{name}", "--host", "10.0.0.1", "--super-users", ""]
    assert main(["explain", str(empty), *words]) == 0
    lines = capsys.readouterr().out.splitlines()
    at = next(at for at, line in enumerate(lines) if line.endswith("of a consumer or a producer:"))
    before, after = "\n".join(lines[:at]), "\n".join(lines[at:])
    assert "--operation Read" in before
    assert "--operation Write" in before
    assert "--operation Describe" in after
    for command, kind in zip(lines[at + 1 : at + 3], ("--consumer", "--producer"), strict=True):
        metalog, *words = shlex.split(command)
        assert (metalog, words[3]) == ("metalog", kind)
        assert main(words) == 0
        assert " the whole checklist passes after these changes:" in capsys.readouterr().out


TASKS = (
    ("--consumer", "--topic", "a", "--group", "ab"),
    ("--consumer", "--topic", "abb"),
    ("--producer", "--topic", "ab"),
    ("--producer", "--topic", "a", "--transactional-id", "t"),
    ("--api", "CreateTopics", "--topic", "new"),
    ("--api", "DeleteTopics", "--topic", "a"),
    ("--api", "CreateAcls"),
)


NEAR = [
    Acl(kind, name, pattern_type, principal, "*", operation, permission)
    for kind, name, pattern_type, principal, operation, permission in product(
        (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID),
        ("*", "a", "ab", "abb", "t"),
        (PatternType.LITERAL, PatternType.PREFIXED),
        ("User:a", "User:*", "User:b"),
        (Operation.ALL, Operation.READ, Operation.WRITE, Operation.DESCRIBE),
        (PermissionType.ALLOW, PermissionType.DENY),
    )
    if operation is Operation.ALL or operation in SUPPORTED_OPERATIONS[kind]
]


@pytest.mark.parametrize("task", TASKS, ids=" ".join)
def test_the_commands_for_a_whole_checklist_make_it_pass(
    task: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On random ACLs; and no command makes a super user if another one is enough."""
    random = Random(" ".join(task))
    for number in range(8):
        acls = {random.choice(NEAR) for _ in range(1 + random.randrange(8))}
        config = ("--allow-everyone", "--super-users", "") if number % 2 else ()
        source = _written(acls, tmp_path / f"{number}.jsonl")
        asked = ("User:a", *task, *config, "-o", "json")
        main(["explain", source, *asked])
        remedy = json.loads(capsys.readouterr().out.splitlines()[0])["remedy"]
        was_denied = main(["can", source, *asked])
        capsys.readouterr()
        assert bool(remedy) is bool(was_denied)
        if remedy:
            assert bool(remedy["powers"]) is ("CreateAcls" in task)
            assert remedy["commands"]
            removed = {read_acl(each) for each in remedy["remove"]}
            changed = (acls - removed) | {read_acl(each) for each in remedy["add"]}
            after = _written(changed, tmp_path / f"{number}-after.jsonl")
            assert main(["can", after, *asked]) == 0
            capsys.readouterr()


def _written(acls: set[Acl], path: Path) -> str:
    path.write_text(
        "".join(f"{json.dumps(dict(zip(ACL_KEYS, words_of(acl), strict=True)))}\n" for acl in acls)
    )
    return str(path)
