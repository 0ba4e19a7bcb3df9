"""``metalog diff``: two sources or two moments, without ids and without secrets."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from shell.main import main
from tests.support.kafka.cases import DEMO, kafka_case

LOG = str(DEMO / "log-dir")
Lines = list[dict[str, Any]]


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> Lines:
    assert main([*arguments, "--json", "-q"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def keyed(lines: Lines) -> set[tuple[Any, ...]]:
    """ACLs without their ids, which a diff ignores."""
    leave = ("id", "change")
    return {tuple(value for key, value in line.items() if key not in leave) for line in lines}


@pytest.mark.parametrize(("start", "end"), [("0", "130"), ("130", "179"), ("179", "130")])
def test_a_difference_leads_from_one_moment_to_the_other(
    start: str, end: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = [
        line
        for line in printed(capsys, "diff", LOG, "--from", start, "--to", end)
        if "resourceName" in line
    ]
    before = keyed(printed(capsys, "acls", LOG, "--at", start))
    after = keyed(printed(capsys, "acls", LOG, "--at", end))
    assert keyed([line for line in found if line["change"] == "add"]) == after - before
    assert keyed([line for line in found if line["change"] == "remove"]) == before - after


def test_users_are_compared_and_no_secret_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    users = [line for line in printed(capsys, "diff", LOG, "--from", "140") if "user" in line]
    assert [(each["change"], each["user"]) for each in users] == [
        ("change", "billing"),
        ("remove", "contractor"),
    ]
    assert set(users[0]) == {"change", "user", "mechanism", "iterationsBefore", "iterations"}


@pytest.mark.shows_credentials
def test_a_new_password_is_a_difference(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sources = []
    for number, key in enumerate(("c2FsdA==", "b3RoZXI=")):
        path = tmp_path / f"{number}.yaml"
        path.write_text(
            "users:\n  - {user: a, mechanism: SCRAM_SHA_512, iterations: 4096, "
            f"salt: {key}, storedKey: {key}, serverKey: {key}}}\n"
        )
        sources.append(str(path))
    assert main(["diff", *sources, "--exit-code"]) == 1
    out = capsys.readouterr().out
    assert "user a SCRAM-SHA-512: another password" in out
    assert "c2FsdA" not in out


def test_an_export_does_not_differ_from_its_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = str(kafka_case("basic-4.3").log_dir)
    assert main(["export", log, "-o", "yaml"]) == 0
    path = tmp_path / "all.yaml"
    path.write_text(capsys.readouterr().out)
    assert main(["diff", log, str(path), "--exit-code"]) == 0
    assert capsys.readouterr().out == "No difference.\n"
    assert main(["diff", str(path), log, "--from", "3"]) == 2


def test_commands_make_the_other_of_the_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Read by our reader of kafka-acls' command lines."""
    assert main(["diff", LOG, LOG, "--from", "0", "-o", "commands", "-q"]) == 0
    path = tmp_path / "acls.sh"
    path.write_text(capsys.readouterr().out)
    assert main(["diff", str(path), LOG, "--exit-code", "-q"]) == 0


def test_commands_take_nothing_away_that_they_cannot_give_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """kafka-acls trims its values, so it has no command for a name that begins with a blank. The
    broker's default is unknown: if it allows, a first ACL on a name shuts out everybody else."""
    texts = []
    for name in ("orders", " orders"):
        acl = (
            f"{{principal: User:app, operation: READ, resourceType: TOPIC, resourceName: '{name}'}}"
        )
        path = tmp_path / f"{len(name)}.yaml"
        path.write_text(f"acls:\n  - {acl}\n")
        texts.append(str(path))
    assert main(["diff", *texts, "-o", "commands"]) == 0
    done = capsys.readouterr()
    assert done.out == ""
    assert "no command can add ALLOW User:app READ on topic" in done.err
    assert "left out: 1 command: alone, they would remove" in done.err
    assert main(["diff", *reversed(texts), "-o", "commands"]) == 0
    done = capsys.readouterr()
    assert done.out == ""
    assert "no command can remove" in done.err
    assert "left out: 1 command: alone, they would remove" in done.err


def test_commands_that_nothing_checked_say_so(capsys: pytest.CaptureFixture[str]) -> None:
    unchecked = "note: not checked: whether these changes lock somebody out; metalog plan checks it"
    assert main(["diff", LOG, LOG, "--from", "0", "-o", "commands"]) == 0
    assert unchecked in capsys.readouterr().err
    assert main(["diff", LOG, LOG, "-o", "commands"]) == 0
    assert unchecked not in capsys.readouterr().err


def test_what_has_nothing_to_compare_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", LOG]) == 2
    assert "--from MOMENT" in capsys.readouterr().err


BEFORE = """
- {principal: User:b, operation: Read, resourceType: Topic, resourceName: [pay-eu, pay-us]}
- {principal: "User:*", operation: Write, resourceType: Topic, resourceName: log, host: 10.0.0.1}
"""
AFTER = """
- {principal: User:b, operation: Read, resourceType: Topic, resourceName: pay-,
   patternType: Prefixed}
- {principal: User:b, operation: All, resourceType: Topic, resourceName: pay-eu,
   permissionType: Deny}
- {principal: "User:*", operation: All, resourceType: Topic, resourceName: log, host: 10.0.0.1}
- {principal: User:c, operation: Alter, resourceType: Topic, resourceName: log,
   permissionType: Deny}
"""


@pytest.fixture
def sides(tmp_path: Path) -> tuple[str, str]:
    sides = []
    for name, acls in (("a.yaml", BEFORE), ("b.yaml", AFTER)):
        (tmp_path / name).write_text(f"acls:{acls}")
        sides.append(str(tmp_path / name))
    return sides[0], sides[1]


def test_a_difference_in_meaning_is_said_in_patterns(
    sides: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diff", *sides, "--meaning", "--exit-code", "-q"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if not line.startswith("  metalog")] == [
        "+  everybody may READ, CREATE, DELETE, ALTER, DESCRIBE_CONFIGS and ALTER_CONFIGS topic log"
        " from 10.0.0.1",
        "+  User:b may READ and DESCRIBE topics that begin with pay-, but no longer topic"
        " pay-eu, already allowed before: topic pay-us",
        "-  User:b may no longer READ and DESCRIBE topic pay-eu",
        "=  User:c still may not ALTER topic log from 10.0.0.1",
        "2 gains and 1 loss (48 cells).",
    ]


def test_each_witness_is_answered_by_the_second_source(
    sides: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    records = printed(capsys, "diff", *sides, "--meaning")
    assert records
    for record in records:
        words = shlex.split(record["explain"])[1:]
        main([*words, "--json", "-q"])
        [explained] = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert explained["result"] == record["after"]
        assert {key: explained[key] for key in record["witness"]} == record["witness"]


def test_sets_that_differ_in_texts_alone_have_no_difference_in_meaning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(
        "acls:\n- {principal: User:b, operation: [Read, Describe], resourceType: Topic,"
        " resourceName: t}\n"
    )
    one = tmp_path / "one.yaml"
    one.write_text(other.read_text().replace("[Read, Describe]", "Read"))
    assert main(["diff", str(one), str(other), "--meaning", "--exit-code"]) == 0
    said = "No difference in meaning, though 1 ACL differs (8 cells).\n"
    assert capsys.readouterr().out == said
    assert main(["diff", str(one), str(other), "--exit-code"]) == 1


@pytest.mark.parametrize(
    "options",
    [("--kafka", "4.3"), ("--config", "/nowhere"), ("--super-users", ""), ("--no-allow-everyone",)],
)
def test_a_configuration_is_refused_where_no_decisions_are_compared(
    options: tuple[str, ...], sides: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    for output in ((), ("--json",), ("-o", "commands"), ("--exit-code",)):
        assert main(["diff", *sides, *options, *output]) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.startswith(f"metalog: {options[0]}: ACLs do not depend on this option")


def test_configurations_that_differ_are_not_compared_under_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "acls.yaml").write_text("acls: []\n")
    toml = ""
    for name in ("one", "other"):
        (tmp_path / f"{name}.properties").write_text(f"super.users=User:{name}\n")
        toml += f'[sources.{name}]\nurl = "acls.yaml"\nconfig = "{name}.properties"\n'
    (tmp_path / "metalog.toml").write_text(toml)
    assert main(["diff", "@one", "@other", "--meaning"]) == 2
    assert "super users: A and B are configured differently; give --config" in (
        capsys.readouterr().err
    )
    assert main(["diff", "@one", "@other", "--meaning", "--super-users", "User:x"]) == 0
