"""The output of ``metalog pipeline unused``, ``least-privilege`` and ``what-if``."""

from __future__ import annotations

import json
import shlex
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from authorizer.analysis.remedies.commands import CONNECTION
from metalog.acl import WILDCARD, Acl, Operation
from metalog.ids import uuid_text
from metalog_sources.formats.document import AclEntry, Document
from metalog_sources.formats.yaml import read_yaml, write_yaml
from metalog_sources.targets.plan import make_plan, saved, write_saved
from metalog_spark.store.tables import ACL_CHANGELOG, CONFIGURATION
from tests.support.command.help_examples import as_printed
from tests.support.command.runs import run_here
from tests.support.spark.followed_world import WrittenLog
from tests.support.spark.small_pipeline import Ask, World, life
from tests.support.spark.small_shop import (
    AGAINST_DAVE,
    BOB,
    CAROL,
    EVERY_TOPIC,
    LIFETIMES,
    MALLORY,
    POWERS,
    READ,
    SHOP,
    WRITE,
)
from tests.support.worlds.small_acls import allow, deny

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import SparkSession

    from metalog_spark.store.table_store import Tables

Captured = pytest.CaptureFixture[str]


def written(path: Path, acls: Iterable[Acl]) -> Path:
    path.write_text(write_yaml(Document(tuple(map(AclEntry, acls)))))
    return path


def without(*gone: Acl) -> list[Acl]:
    return [each.acl for each in LIFETIMES if each.acl not in gone]


def test_unused_in_text(tables: Tables, capsys: Captured) -> None:
    example = as_printed("metalog pipeline unused DIR --from -90d", {"DIR": tables.path})
    done = run_here(capsys, *example)
    assert done.returncode == 1
    first, *rest = done.stdout.splitlines()
    assert first == (
        "2 of 8 grants were used; 5 can go without changing any of 1,528 answers; the use of 1 "
        "more is unknown."
    )
    assert "Another ACL decided every matching request (1)" in rest
    assert any("12 requests, decided by ALLOW User:bob READ on topic *" in line for line in rest)
    assert done.stderr == (
        "note: the audit logs begin at 2026-01-01T00:00:00.000Z: -90d is before that\n"
        "note: requests of 2026-01-01T00:00:00.000Z to 2026-01-02T00:00:00.000Z\n"
    )
    [led] = [
        line for line in rest if "Requests of ALLOW User:bob READ on topic shop.orders" in line
    ]
    command = shlex.split(led[led.index("metalog pipeline") :])
    rows = run_here(capsys, *command[1:], "--json").stdout.splitlines()
    asked = [(row["principal"], row["resourceName"]) for row in map(json.loads, rows)]
    assert asked == [(BOB, "shop.orders")] * 12


@pytest.mark.parametrize(
    ("verb", "more"),
    [("unused", ["# Not known: whether 1 grant is used."]), ("least-privilege", [])],
)
def test_commands_say_what_they_are_based_on(
    spark: SparkSession, tmp_path: Path, capsys: Captured, verb: str, more: list[str]
) -> None:
    """The file's reader has not seen the warnings beside it."""
    dark = SHOP._replace(dark=frozenset({("1", 7)})).folder(spark, tmp_path / "it's\ndark").path
    words = ("--to", "2026-01-02", "--tolerate", "5%", "-o", "commands")
    done = run_here(capsys, "pipeline", verb, dark, *words)
    lines = done.stdout.splitlines()
    assert list(takewhile(lambda line: not line.startswith("kafka-acls "), lines)) == [
        "# Basis: 1,528 answers of 2026-01-01T00:00:00.000Z to 2026-01-02T00:00:00.000Z, in the"
        f' tables of "{tmp_path}/it\'s\\u000adark".',
        "# Tolerated: 5% of the brokers' hours may be without allowed lines.",
        "# Not known: in 1 of 24 broker-hours no line certainly shows an allowed request (broker 1:"
        " 1), which --tolerate accepts.",
        *more,
    ]


def test_every_grant_that_is_not_used_has_its_command_or_its_reason(
    tables: Tables, capsys: Captured
) -> None:
    rows = run_here(capsys, "pipeline", "unused", tables.path, "--json").stdout.splitlines()
    grants = [row for row in map(json.loads, rows) if row["alive"]]
    grants = [row for row in grants if row["permissionType"] == "ALLOW" and row["state"] != "USED"]
    example = "metalog pipeline unused DIR -o commands > remove.sh"
    done = run_here(capsys, *as_printed(example, {"DIR": tables.path})).stdout
    commands = [line for line in done.splitlines() if line.startswith("kafka-acls ")]
    kept = [line for line in done.splitlines() if line.startswith("# kept: ALLOW ")]
    assert len(commands) == sum(row["canGo"] for row in grants) > 0
    assert len(kept) == sum(row["state"] == "UNKNOWN" for row in grants) > 0
    assert len(commands) + len(kept) == len(grants)
    assert all(": not known: " in line for line in kept)


def test_unused_in_json_has_every_acl(tables: Tables, capsys: Captured) -> None:
    done = run_here(capsys, "pipeline", "unused", tables.path, "--json")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 1, done.stderr
    assert {line["id"] for line in lines} == {uuid_text(each.id) for each in LIFETIMES}
    wide = next(line for line in lines if line["resourceName"] == WILDCARD)
    assert (wide["state"], wide["requests"], wide["lastUse"], wide["canGo"]) == (
        "USED",
        20,
        "2026-01-01T05:30:00.000Z",
        False,
    )


def test_what_is_accepted_stays_with_its_reason_and_does_not_count(
    tables: Tables, tmp_path: Path, capsys: Captured
) -> None:
    """As in a report: by the words of a row, until a day. Rows lead to their requests."""
    never = '"until": "9999-12-31"'
    entries = [
        f'{{"section": "unused", "name": "{name}", "reason": "a plan", {never}}}'
        for name in {life.acl.resource_name for life in LIFETIMES}
    ]
    entries.append(f'{{"section": "least", "principal": "{BOB}", "reason": "his", {never}}}')
    entries.append(f'{{"section": "what-if", "principal": "{BOB}", "reason": "his", {never}}}')
    entries.append(f'{{"section": "what-if", "principal": "User:x", "reason": "r", {never}}}')
    accepted = tmp_path / "accepted.yaml"
    accepted.write_text("".join(f"- {entry}\n" for entry in entries))
    words = ("--accepted", accepted, "-o")
    done = run_here(capsys, "pipeline", "unused", tables.path, *words, "json")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, done.stderr
    going = [row for row in rows if row["canGo"]]
    assert {row["accepted"]["reason"] for row in going} == {"a plan"}
    used = next(row for row in rows if row["requests"])
    assert used["command"].startswith(f"metalog pipeline requests {tables.path} --from ")
    assert used["command"].endswith(f" --acl {used['id']}")

    done = run_here(capsys, "pipeline", "least-privilege", tables.path, *words, "commands")
    assert f"# Kept: {BOB}: accepted until 9999-12-31: his." in done.stdout.splitlines()
    assert f"--allow-principal {BOB}" not in done.stdout

    written(tmp_path / "acls.yaml", without(EVERY_TOPIC))
    plan = ("pipeline", "what-if", tables.path, tmp_path / "acls.yaml")
    done = run_here(capsys, *plan, *words, "text")
    assert done.returncode == 0, done.stdout
    assert "0 of 1,528 requests would get another answer, not counting" in done.stdout
    assert f"{BOB} READ on topic shop.carts: accepted until 9999-12-31: his" in done.stdout
    assert "no finding of what-if matches; remove or correct the entry" in done.stderr


def test_least_privilege_in_text(tables: Tables, capsys: Captured) -> None:
    example = "metalog pipeline least-privilege DIR --principal User:app"
    done = run_here(capsys, *as_printed(example, {"DIR": tables.path, "User:app": BOB}))
    assert done.returncode == 1
    assert done.stdout.splitlines()[:3] == [
        "1 ALLOW would be enough; today there are 2.",
        "Replayed 1,528 requests of all principals: the least set allows all 21 that were allowed "
        "and that today's ACLs allow, and none that is denied today. Not compared: 2 of super "
        "users, who need no ACL.",
        "",
    ]
    assert done.stdout.splitlines()[-3:] == [
        "+  ALLOW User:bob READ on topic names that begin with shop. from any host",
        "-  ALLOW User:bob READ on topic * from any host",
        "-  ALLOW User:bob READ on topic shop.orders from any host",
    ]


def test_least_privilege_says_why_everyones_grants_have_no_use(
    spark: SparkSession, tmp_path: Path, capsys: Captured
) -> None:
    acls = (life(1, allow("*", READ, "User:*")), life(2, allow("t", WRITE, BOB)))
    for lives, is_said in ((acls, True), (acls[1:], False)):
        folder = World(lives, (Ask(BOB, WRITE, "t"),)).folder(spark, tmp_path / f"of{len(lives)}")
        done = run_here(capsys, "pipeline", "least-privilege", folder.path)
        assert done.returncode == is_said, done.stderr
        assert ("nobody connects as User:*" in " ".join(done.stdout.split())) is is_said


def test_the_yaml_of_the_least_set_is_a_plan_that_breaks_nobody(
    tables: Tables, tmp_path: Path, capsys: Captured
) -> None:
    example = "metalog pipeline least-privilege DIR -o yaml > least.yaml"
    done = run_here(capsys, *as_printed(example, {"DIR": tables.path}))
    document = read_yaml(done.stdout, "out")
    today = {each.acl for each in LIFETIMES}
    plan = make_plan(today, document, prune=True)
    assert not plan.unowned
    assert set(document.acls) >= {AGAINST_DAVE, POWERS[0]}
    (tmp_path / "least.yaml").write_text(done.stdout)
    places = {"DIR": tables.path, "least.yaml": tmp_path / "least.yaml"}
    example = "metalog pipeline what-if DIR least.yaml"
    asked = run_here(capsys, *as_printed(example, places))
    assert asked.returncode == 0
    assert asked.stdout == "0 of 1,528 requests would get another answer.\n"


def test_what_if_in_text(tables: Tables, tmp_path: Path, capsys: Captured) -> None:
    written(tmp_path / "acls.yaml", without(EVERY_TOPIC, AGAINST_DAVE))
    example = "metalog pipeline what-if DIR acls/ --from -30d"
    done = run_here(capsys, *as_printed(example, {"DIR": tables.path, "acls/": tmp_path}))
    assert done.returncode == 1
    assert done.stdout.splitlines()[0] == (
        "12 of 1,528 requests would get another answer: 8 denied instead of allowed (User:bob), "
        "4 allowed instead of denied (User:dave)."
    )
    assert " ".join(done.stdout.splitlines()[2].split()) == (
        "5 ALLOWED -> DENIED User:bob READ on topic shop.carts without ALLOW User:bob READ on "
        "topic * from any host"
    )


def test_what_if_takes_a_saved_plan_and_what_files_own(
    tables: Tables, tmp_path: Path, capsys: Captured
) -> None:
    today = [each.acl for each in LIFETIMES]
    own = "owns:\n  - principal: User:bob\nacls: []\n"
    plan = make_plan(today, read_yaml(own, "own"), prune=True)
    (tmp_path / "plan.json").write_text(write_saved(saved("prod", (), today, plan)))
    (tmp_path / "own.yaml").write_text(own)
    answers = []
    for name in ("plan.json", "own.yaml"):
        places = {"DIR": tables.path, "plan.json": tmp_path / name}
        example = "metalog pipeline what-if DIR plan.json"
        done = run_here(capsys, *as_printed(example, places))
        answers.append(done.stdout)
        assert done.stdout.startswith("20 of 1,528 requests would get another answer")
    assert answers[0] == answers[1]
    assert "7 other ACLs stay as they are" in done.stderr


def test_what_if_the_acls_were_those_of_a_log(
    tables: Tables, tmp_path: Path, capsys: Captured
) -> None:
    log = WrittenLog(tmp_path / "log")
    for number, acl in enumerate(without(EVERY_TOPIC), 1):
        log.bind(number, number, acl)
    places = {"DIR": tables.path, "cluster://staging:9092": log.folder}
    example = "metalog pipeline what-if DIR cluster://staging:9092"
    done = run_here(capsys, *as_printed(example, places))
    assert done.returncode == 1
    assert done.stdout.startswith(
        "8 of 1,528 requests would get another answer: 8 denied instead of allowed (User:bob)."
    )


def test_drift_is_from_another_cluster_that_is_as_it_is_meant(
    spark: SparkSession, tables: Tables, tmp_path: Path, capsys: Captured
) -> None:
    """The cluster lacks a grant of frank's, and has a DENY that is missing here."""
    gone = deny("payments", WRITE, CAROL)
    acls = enumerate([*without(POWERS[0]), gone], 1)
    meant = World(tuple(life(number, acl) for number, acl in acls))
    staging = meant.folder(spark, tmp_path / "staging", ACL_CHANGELOG, CONFIGURATION).path
    options = ("--compare", staging, "--section", "drift")
    done = run_here(capsys, "pipeline", "report", tables.path, *options)
    assert done.returncode == 0, done.stderr
    first, _, _, *rows = (" ".join(line.split()) for line in done.stdout.splitlines())
    assert first == (
        f"2 ACLs came or went compared with {staging}, up to the log's end (2 January 2026, after"
        " this window); each remedy undoes one change. Super users in this table only: User:admin."
    )
    command = f"kafka-acls {CONNECTION}"
    assert rows == [
        f"warning removed User:carol DENY WRITE TOPIC payments {command} --add --deny-principal"
        " User:carol --operation Write --topic payments",
        f"warning added User:frank ALLOW ALTER CLUSTER kafka-cluster {command} --remove --force"
        " --allow-principal User:frank --operation Alter --cluster",
    ]


def test_what_if_proves_what_no_request_of_the_window_shows(
    tables: Tables, tmp_path: Path, capsys: Captured
) -> None:
    more = allow("shop.gifts", WRITE, CAROL)
    proposed = written(tmp_path / "acls.yaml", [*without(), more])
    example = "metalog pipeline what-if DIR acls/ --prove"
    words = as_printed(example, {"DIR": tables.path, "acls/": proposed})
    done = run_here(capsys, *words)
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "0 of 1,528 requests would get another answer.",
        "No answer in the window would change, but these answers would (8 cells):",
        "+  User:carol may WRITE and DESCRIBE topic shop.gifts",
        "  such as User:carol WRITE topic shop.gifts from 10.0.0.1",
    ]
    [record] = map(json.loads, run_here(capsys, *words, "--json").stdout.splitlines())
    assert (record["change"], record["resourceName"]) == ("gains", "shop.gifts")
    written(tmp_path / "acls.yaml", without())
    done = run_here(capsys, *words)
    assert done.returncode == 0
    assert "Nothing would change for any request: proven (0 cells)." in done.stdout
    done = run_here(capsys, *words, "--super-users", "User:mallory;User:root")
    assert "These answers would change, including those to the requests above" in done.stdout
    assert "+  User:mallory and User:root may " in done.stdout


def test_a_turned_request_hides_no_statement_and_accepts_none(
    tables: Tables, tmp_path: Path, capsys: Captured
) -> None:
    """One topic that User:mallory reads, even an accepted one, does not stand for all topics, nor
    for another principal with the same grant."""
    both = [allow("*", Operation.READ, who) for who in (MALLORY, "User:new")]
    proposed = written(tmp_path / "acls.yaml", [*without(), *both])
    accepted = tmp_path / "accepted.yaml"
    entry = f'section: what-if, principal: "{MALLORY}", reason: his, until: "9999-12-31"'
    accepted.write_text(f"- {{{entry}}}\n")
    words = ("pipeline", "what-if", tables.path, proposed, "--prove", "--accepted", accepted)
    done = run_here(capsys, *words)
    assert done.returncode == 1
    assert f"{MALLORY} READ on topic payments: accepted until" in done.stdout
    assert "proven" not in done.stdout
    assert f"+  {MALLORY} and User:new may READ and DESCRIBE any topic" in done.stdout


def test_what_if_with_other_super_users(tables: Tables, tmp_path: Path, capsys: Captured) -> None:
    proposed = written(tmp_path / "acls.yaml", without())
    options = ("--super-users", "User:mallory", "--json")
    done = run_here(capsys, "pipeline", "what-if", tables.path, proposed, *options)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(line["requests"], line["before"], line["after"], line["rule"]) for line in lines] == [
        (2, "ALLOWED", "DENIED", "DefaultDeny"),
        (1500, "DENIED", "ALLOWED", "SuperUser"),
    ]


def test_a_hostile_name_stays_a_name(spark: SparkSession, tmp_path: Path, capsys: Captured) -> None:
    evil = "x\x1b[2J\n'; rm -rf / #"
    named = allow(evil, principal="User:\u202emoc.live")
    world = World((life(1, named), life(2, EVERY_TOPIC)), (Ask(BOB, EVERY_TOPIC.operation, evil),))
    folder = world.folder(spark, tmp_path / "evil").path
    proposed = written(tmp_path / "none.yaml", [])
    for words in (("unused", folder), ("what-if", folder, proposed)):
        done = run_here(capsys, "pipeline", *words)
        assert done.returncode == 1, done.stderr
        for text in (done.stdout, done.stderr):
            assert "\x1b" not in text
            assert "\u202e" not in text
            assert not any(line.startswith("'; rm") for line in text.splitlines())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["unused", "DIR", "--from", "soon"], "'soon' is not a moment"),
        (["what-if", "DIR", "acls.yaml", "--to", "1 day"], "'1 day' is not a moment"),
        (["what-if", "DIR", "/logs/prod*"], "/logs/prod*: a pattern, which only --log takes; name"),
        (["unused", "DIR", "--tolerate", "120%"], "--tolerate 120%: not a share up to 100%; write"),
        (
            ["unused", "DIR", "--tolerate", "1"],
            "--tolerate 1: can mean 1%; write a share such as 0.5% or 0.005",
        ),
        (["least-privilege", "DIR", "--prefix-from", "-1"], "--prefix-from -1: give a whole num"),
        (["unused", "DIR"], "DIR: not a pipeline's folder; metalog pipeline build makes"),
    ],
)
@pytest.mark.usefixtures("no_spark")
def test_what_cannot_be_asked_is_said_before_spark_starts(
    capsys: Captured, words: list[str], said: str
) -> None:
    done = run_here(capsys, "pipeline", *words)
    assert done.returncode == 2
    assert said in done.stderr.splitlines()[-1]


def test_a_principal_that_is_not_there_is_said_with_one_that_is(
    tables: Tables, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    """At once, because finding the least set takes long."""
    monkeypatch.delattr("metalog_spark.findings.least_privilege.classified_acls")
    done = run_here(capsys, "pipeline", "least-privilege", tables.path, "--principal", "bob")
    assert done.returncode == 2
    assert "; did you mean User:bob?" in done.stderr.splitlines()[-1]
