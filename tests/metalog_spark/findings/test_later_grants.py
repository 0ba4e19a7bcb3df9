"""The least set, and grants that were added after the window."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from metalog_spark.findings.least_privilege import least_set
from metalog_spark.findings.windows.window import window_of
from tests.support.spark.small_pipeline import Ask, World, life
from tests.support.spark.small_shop import BOB, READ, WRITE
from tests.support.worlds.small_acls import allow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_what_was_granted_after_the_window_stays(spark: SparkSession, tmp_path: Path) -> None:
    """No audit line of the window can show whether it is needed."""
    used, idle = allow("orders", READ, BOB), allow("idle", READ, BOB)
    new, again = allow("new", WRITE, "User:new"), allow("again", READ, BOB)
    lifetimes = (life(1, used), life(2, idle), life(3, new, 20), life(4, again, end=2))
    world = World((*lifetimes, life(5, again, 21)), (Ask(BOB, READ, "orders"),))
    tables = world.folder(spark, tmp_path / "later")
    least = least_set(tables, window_of(tables, None, "2026-01-01T12:00Z"))
    assert set(least.acls) == {used, new, again}
    assert [each.plan.steps for each in least.proposals if each.principal == "User:new"] == [()]
