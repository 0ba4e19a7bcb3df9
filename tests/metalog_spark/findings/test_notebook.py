"""The notebook of the examples runs from its first cell to its last, and its output is correct."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from metalog.acl import PermissionType
from metalog_spark.store.tables import TABLES
from tests.support.kafka.cases import REPOSITORY
from tests.support.spark.small_shop import ASKS, LIFETIMES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from metalog_spark.store.table_store import Tables

NOTEBOOK = REPOSITORY / "examples" / "audit.ipynb"


def test_the_notebook_walks_through_an_audit(
    spark: SparkSession, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plain runner of its cells: they have no magic, and the file keeps no output."""
    monkeypatch.setenv("METALOG_TABLES", str(tables.path))
    notebook = json.loads(NOTEBOOK.read_text())
    cells = [each for each in notebook["cells"] if each["cell_type"] == "code"]
    assert all(each["outputs"] == [] and each["execution_count"] is None for each in cells)
    names: dict[str, Any] = {}
    for cell in cells:
        exec("".join(cell["source"]), names)
    worst = names["worst"]
    asked = Counter({(each.principal, each.name): 0 for each in ASKS})
    asked.update({(each.principal, each.name): each.times for each in ASKS})
    [(most, times)] = asked.most_common(1)
    assert ((worst.principal, worst.resource_name), worst.denials) == (most, times)
    assert names["behind"].count() == 10
    assert names["disagreements"].count() == 0
    assert names["dangers"].count() > 0
    assert {row.state for row in names["coverage"].collect()} == {"BOTH"}
    allows = sum(each.acl.permission_type is PermissionType.ALLOW for each in LIFETIMES)
    assert 0 < names["candidates"].count() < allows
    for table in TABLES:
        spark.catalog.dropTempView(f"audit_{table}")
