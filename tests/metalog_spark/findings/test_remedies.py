"""Pasted commands do exactly what they say, for any names."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from authorizer.analysis.remedies.commands import CommandKind
from metalog.acl import Acl, Operation
from metalog_sources.formats.yaml import read_yaml
from metalog_spark.findings.remedy import commands
from tests.support.command.help_examples import as_printed
from tests.support.command.runs import run_here
from tests.support.spark.small_pipeline import Ask, World, life
from tests.support.worlds.small_acls import BOB, allow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from metalog_spark.store.table_store import Tables

READ = Operation.READ
UNSAYABLE = allow(" begins with a blank")
EVERY_TOPIC = allow("*")
CAROL = "User:carol'; touch pwned; $(touch pwned) `touch pwned`\n\x1b[2J\u202e # x"
HOSTILE = allow("x\ntouch pwned", principal=CAROL)
EVERYBODYS = allow("wide.", principal="User:*", prefixed=True)
WORLD = World(
    (life(1, EVERY_TOPIC), life(2, HOSTILE), life(3, EVERYBODYS), life(4, allow("-x "))),
    (
        Ask(BOB, READ, UNSAYABLE.resource_name),
        Ask(BOB, READ, "wide.a"),
        Ask("User:dave", READ, "wide.a"),
        Ask(CAROL, READ, "wide.$(touch pwned)"),
    ),
)
Captured = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def hostile(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    return WORLD.folder(spark, tmp_path_factory.mktemp("remedies") / "hostile")


def pasted(script: str, folder: Path) -> list[list[str]]:
    """The arguments of each kafka-acls that bash runs; no other command can run."""
    bin_folder = folder / "bin"
    bin_folder.mkdir()
    asked = folder / "asked"
    tool = bin_folder / "kafka-acls"
    tool.write_text(f'#!/bin/bash\nprintf "%s\\0" "$@" "" >> {asked}\n')
    for name in ("metalog", "touch"):
        (bin_folder / name).write_text(f"#!/bin/bash\necho > {folder / 'pwned'}\n")
    for each in bin_folder.iterdir():
        each.chmod(0o755)
    given = {"PATH": f"{bin_folder}:/bin:/usr/bin", "BOOTSTRAP": "b:9092", "CLIENT_CONFIG": "c"}
    done = subprocess.run(
        ["/bin/bash", "-e"], input=script.encode(), env=given, cwd=folder, check=False
    )
    assert done.returncode == 0
    assert not (folder / "pwned").exists()
    told = asked.read_bytes().decode().split("\0\0") if asked.exists() else []
    return [each.split("\0") for each in told if each]


def test_nothing_is_removed_where_what_stands_in_cannot_be_added() -> None:
    changes = [
        (CommandKind.ADD, UNSAYABLE),
        (CommandKind.ADD, allow("a")),
        (CommandKind.REMOVE, EVERY_TOPIC),
    ]
    first, why, left_out = commands(changes).splitlines()
    assert "--add" in first
    assert why == (
        "# cannot add ALLOW User:bob READ on LITERAL TOPIC ' begins with a blank' from host '*':"
        " kafka-acls cuts the blanks at the ends of the resource name; metalog apply can"
    )
    assert left_out == "# left out: 1 command, unsafe without these changes; use metalog apply"
    assert "--remove" in commands(changes[1:])


def test_what_kafka_acls_cannot_say_is_a_comment(tmp_path: Path) -> None:
    assert pasted(commands([(CommandKind.REMOVE, UNSAYABLE)]), tmp_path) == []


def test_unused_as_commands(hostile: Tables, tmp_path: Path, capsys: Captured) -> None:
    done = run_here(capsys, "pipeline", "unused", hostile.path, "-o", "commands")
    assert done.returncode == 1
    assert "# cannot remove ALLOW User:bob READ on LITERAL TOPIC '-x ' from" in done.stdout
    [removal] = pasted(done.stdout, tmp_path)
    assert removal[4:] == [
        "--remove", "--force", "--allow-principal", CAROL, "--operation", "Read",
        "--topic", HOSTILE.resource_name,
    ]  # fmt: skip


def test_least_privilege_as_commands(hostile: Tables, tmp_path: Path, capsys: Captured) -> None:
    done = run_here(capsys, "pipeline", "least-privilege", hostile.path, "-o", "commands")
    assert done.returncode == 1
    changes = [words[4] for words in pasted(done.stdout, tmp_path)]
    assert changes
    assert set(changes) == {"--add"}
    assert "alone, they would remove access that should stay" in done.stderr


def test_least_privilege_of_everybody_is_added_before_the_wildcard_goes(
    spark: SparkSession, tmp_path: Path, capsys: Captured
) -> None:
    world = World((life(1, EVERYBODYS),), (Ask(BOB, READ, "wide.a"), Ask("User:x", READ, "wide.b")))
    tables = world.folder(spark, tmp_path / "tables")
    done = run_here(capsys, "pipeline", "least-privilege", tables.path, "-o", "commands")
    assert [words[4] for words in pasted(done.stdout, tmp_path)] == ["--add", "--add", "--remove"]


def test_the_yaml_of_hostile_names_says_them_as_they_are(
    hostile: Tables, tmp_path: Path, capsys: Captured
) -> None:
    done = run_here(capsys, "pipeline", "least-privilege", hostile.path, "-o", "yaml")
    wanted: set[Acl] = {
        UNSAYABLE,
        allow("wide.a"),
        allow("wide.a", principal="User:dave"),
        allow("wide.$(touch pwned)", principal=CAROL),
    }
    assert set(read_yaml(done.stdout, "least.yaml").acls) == wanted


def test_where_there_is_nothing_to_propose_that_is_said(
    spark: SparkSession, tmp_path: Path, capsys: Captured
) -> None:
    world = World((), (Ask("User:root", READ, "a"),), super_users=("User:root",))
    tables = world.folder(spark, tmp_path / "tables")
    example = "metalog pipeline least-privilege DIR --from -90d"
    done = run_here(capsys, *as_printed(example, {"DIR": tables.path}))
    assert done.returncode == 0
    assert done.stdout.startswith("0 ALLOWs would be enough; today there are 0.")
