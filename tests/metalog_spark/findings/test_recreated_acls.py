"""An ACL that was removed and created again has several ids; its uses under all are one row's.
A request is not a use if its broker decided otherwise, or if the ACLs of its time are unknown."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from metalog.ids import uuid_text
from metalog_spark.findings.windows.window import window_of
from metalog_spark.report.gather import Parts
from tests.support.command.runs import run_here
from tests.support.spark.small_pipeline import Ask, World, life
from tests.support.spark.small_shop import BOB, READ
from tests.support.worlds.small_acls import allow

if TYPE_CHECKING:
    import pytest
    from pyspark.sql import SparkSession


def test_a_rows_command_prints_as_many_requests_as_the_row_counts(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    acl, other = allow("*", READ, BOB), allow("*", READ, "User:other")
    own = life(1, acl, end=10), life(2, acl, 11, end=22), life(3, acl, 700)
    asks = Ask(BOB, READ, "orders", hour=2), Ask(BOB, READ, "orders", hour=20)
    no_uses = (
        Ask(BOB, READ, "orders", hour=3, result="DENIED"),
        Ask(BOB, READ, "orders", hour=4, known=False),
        Ask("User:other", READ, "orders", hour=3),
    )
    world = World((*own, life(4, other)), (*asks, *no_uses))
    tables = world.folder(spark, tmp_path / "again")
    parts = Parts(tables, window_of(tables), tolerated=0.0, desired=None)
    exposed = [row for row in parts.exposure if row["principal"] == BOB and row["requests"]]
    [used] = [row for row in parts.unused.rows if row["principal"] == BOB]
    assert exposed
    assert len(used["requests_first"]) == 2
    for row in used, *exposed:
        done = run_here(capsys, *shlex.split(row["command"])[1:], "--json")
        printed = [json.loads(line)["aclId"] for line in done.stdout.splitlines()]
        assert len(printed) == len(set(printed)) == row["requests"] == 2


def test_each_of_the_acls_that_had_an_id_in_turn_can_be_chosen(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """BOB's ACL had the first id, then another's; BOB's was created again with the second id."""
    acl, other = allow("*", READ, BOB), allow("*", READ, "User:other")
    lives = life(1, acl, end=2), life(1, other, 4), life(2, acl, 6)
    asks = tuple(Ask(each.principal, READ, "orders", at) for each in (acl, other) for at in (1, 8))
    folder = World(lives, asks).folder(spark, tmp_path / "turns").path
    first, second = (uuid_text(each.id) for each in lives[1:])

    def printed(*options: str) -> tuple[list[tuple[str, str]], str]:
        done = run_here(capsys, "pipeline", "requests", str(folder), *options, "--json")
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        return [(row["principal"], row["aclId"]) for row in rows], done.stderr

    bobs, others = (BOB, first), (other.principal, first)
    found, said = printed("--acl", first)
    assert found == [bobs, others]
    spans = re.findall(r": (\S+) to (\S+): ALLOW (\S+) ", said)
    assert [span[2] for span in spans] == [BOB, other.principal]
    [(_, until, _), (since, _, _)] = spans
    assert printed("--acl", first, "--to", until)[0] == [bobs]
    assert printed("--acl", first, "--from", since)[0] == [others]
    found, said = printed("--acl", second)
    assert found == [bobs, (BOB, second)]
    assert "in turn" not in said
