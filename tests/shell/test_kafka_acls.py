"""``metalog kafka-acls`` on a stopped node's folder; tests/compat compares it with Kafka's own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from shell.main import main
from tests.support.command.terminal import at_a_terminal

ADD = ("--add", "--allow-principal", "User:a", "--operation", "Read", "--topic", "t")


@pytest.fixture
def folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["format", str(tmp_path / "node")]) == 0
    capsys.readouterr()
    return str(tmp_path / "node")


def listed(folder: str, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    assert main(["kafka-acls", folder, "--list"]) == 0
    return capsys.readouterr().out


def test_what_is_added_is_listed_and_removed(
    folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    resource = "`ResourcePattern(resourceType=TOPIC, name=t, patternType=LITERAL)`"
    entry = "\t(principal=User:a, host=*, operation=READ, permissionType=ALLOW)\n"
    assert main(["kafka-acls", folder, *ADD]) == 0
    assert capsys.readouterr().out == f"Adding ACLs for resource {resource}: \n {entry}\n"
    assert listed(folder, capsys) == f"Current ACLs for resource {resource}:\n{entry}\n"
    assert main(["kafka-acls", folder, *ADD]) == 0
    assert capsys.readouterr().out.endswith(f"entry={entry.strip()}) already exists.\n")
    assert main(["kafka-acls", folder, "--remove", "--force", *ADD[1:]]) == 0
    assert capsys.readouterr() == ("", "note: removed 1 ACL\n")
    assert listed(folder, capsys) == ""
    assert main(["kafka-acls", folder, "--remove", "--force", *ADD[1:]]) == 0
    assert capsys.readouterr() == ("", "note: no ACL matched\n")


@pytest.mark.once
def test_it_asks_before_it_removes(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kafka-acls", folder, *ADD, "--topic", "u"]) == 0
    before = listed(folder, capsys)
    remove = ("--remove", "--topic", "t", "--topic", "u")
    assert main(["kafka-acls", folder, *remove]) == 2
    assert capsys.readouterr().err == "metalog: not a terminal: to skip the prompt, pass --force\n"
    command = [sys.executable, "-m", "shell.main", "kafka-acls", folder, *remove]
    printed, code = at_a_terminal(command, typed="n\n\n", environment={"NO_COLOR": "1"})
    assert (printed.count("? (y/n)\n"), printed.count("removed"), code) == (2, 0, 0)
    assert listed(folder, capsys) == before
    printed, code = at_a_terminal(command, typed="n\nY\n", environment={"NO_COLOR": "1"})
    assert (printed.count("removed 1 ACL"), code) == (1, 0)
    assert "name=t" in listed(folder, capsys)
    assert "name=u" not in listed(folder, capsys)


def test_a_removal_that_would_take_more_than_it_says_is_refused(
    folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Kafka's own removes all ACLs of the topic here."""
    assert main(["kafka-acls", folder, *ADD]) == 0
    before = listed(folder, capsys)
    remove = ("--remove", "--force", "--topic", "t", "--operation", "Write")
    assert main(["kafka-acls", folder, *remove]) == 2
    assert "--remove with --operation and no principal" in capsys.readouterr().err
    assert listed(folder, capsys) == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--list"], "name a cluster or folder: metalog kafka-acls cluster://HOST:PORT …"),
        (
            ["--list", "--bootstrap-server", "b:9092"],
            "--bootstrap-server is not supported; type metalog kafka-acls cluster://b:9092 …",
        ),
        (
            ["--list", "--bootstrap-controller", "c:9093"],
            "--bootstrap-controller is not supported; type metalog kafka-acls cluster://c:9093 …",
        ),
        (
            ["--list", "--authorizer-properties", "zookeeper.connect=z:2181"],
            "type metalog kafka-acls zookeeper://z:2181 …",
        ),
        (["x", "--add", "--topic", "t", "--resource-pattern-type", "match"], "of 'MATCH' is not"),
        (["x", "--list", "--consumer"], 'Option "[list]" can\'t be used with option "[consumer]"'),
        (["x", "--add", "--principal", "User:a"], "--principal option is only available if --list"),
        (["x", "--add", "--idempotent"], "--idempotent option is only available if --producer"),
        (
            ["x", "--add", "--consumer", "--topic", "t"],
            "With --consumer you must specify a --topic",
        ),
        (["x", "--add", "--producer"], "With --producer you must specify a --topic"),
        (
            ["x", "--add", "--allow-principal", "a", "--topic", "t"],
            "expected a string in format principalType:principalName but got a",
        ),
        (
            ["x", "--add", "--allow-principal", "U:a", "--operation", "Write", "--group", "g"],
            "ResourceType GROUP only supports operations All, Read, Delete, Describe",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_is_refused(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["kafka-acls", *arguments]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1


ALTER = ("--operation", "Alter", "--cluster", "--allow-principal", "User:admin")


def test_the_last_right_to_alter_acls_is_kept_until_it_is_told_otherwise(
    folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["kafka-acls", folder, "--add", *ALTER]) == 0
    before = listed(folder, capsys)
    remove = ["kafka-acls", folder, "--remove", "--yes", *ALTER]
    assert main([*remove, "--super-users", ""]) == 2
    assert "this takes from everyone the right to alter ACLs" in capsys.readouterr().err
    root = ("--super-users", "User:root")
    assert main([*remove, *root, "--caller", "User:admin"]) == 2
    assert "this takes from User:admin (the caller) the right" in capsys.readouterr().err
    deny = ("--operation", "All", "--cluster", "--deny-principal", "User:*")
    assert main(["kafka-acls", folder, "--add", *deny, "--super-users", ""]) == 2
    assert listed(folder, capsys) == before
    assert main([*remove, *root, "--caller", "User:root"]) == 0
    assert listed(folder, capsys) == ""
    assert main(["kafka-acls", folder, "--add", *ALTER]) == 0
    assert main([*remove, "--super-users", "", "--allow-lockout"]) == 0


def test_assumed_settings_are_named_once(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kafka-acls", folder, "--add", *ALTER]) == 0
    assert capsys.readouterr().err.count("server.properties, assumed super.users=") == 1


def test_first_and_last_acls_are_warned_of_as_by_plan(
    folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With an allowing default, the first ACL on a name denies all others there."""
    a_file = tmp_path / "a.jsonl"
    a_file.write_text(
        '{"principal":"User:a","operation":"READ","resourceType":"TOPIC","resourceName":"t"}'
    )
    default = ("--allow-everyone", "--super-users", "")
    saved = ("--save", str(tmp_path / "plan.json"))
    assert main(["plan", folder, str(a_file), *saved, *default, "-q"]) == 0
    first = capsys.readouterr().err
    assert first.startswith("warning: ALLOW User:a READ on topic t from any host: the first ACL")
    assert main(["apply", folder, str(tmp_path / "plan.json"), "-q"]) == 0
    assert capsys.readouterr().err == first
    remove = ("--remove", "--force", *ADD[1:])
    assert main(["kafka-acls", folder, *remove, *default, "-q"]) == 0
    last = "without the last ACL on the name, allow.everyone.if.no.acl.found lets everyone in"
    said = f"warning: ALLOW User:a READ on topic t from any host: {last}\n"
    assert capsys.readouterr().err == said
    assert main(["kafka-acls", folder, *ADD, *default, "-q"]) == 0
    assert capsys.readouterr().err == first
    assert main(["kafka-acls", folder, *ADD, "--operation", "Write", *default, "-q"]) == 0
    assert main(["kafka-acls", folder, *remove, *default, "-q"]) == 0
    assert main(["kafka-acls", folder, "--add", *ALTER, "--super-users", "", "-q"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.once
def test_the_last_acl_is_warned_of_before_the_question(
    folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["kafka-acls", folder, *ADD]) == 0
    remove = ("--remove", "--topic", "t", "--allow-everyone")
    command = [sys.executable, "-m", "shell.main", "kafka-acls", folder, *remove]
    printed, code = at_a_terminal(command, typed="n\n", environment={"NO_COLOR": "1"})
    assert code == 0
    words = " ".join(printed.split())
    assert words.index("without the last ACL on the name") < words.index("(y/n)")
    assert "name=t" in listed(folder, capsys)
