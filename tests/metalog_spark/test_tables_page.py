"""The pages about tables list all of them, and docs/formats/tables.md their columns."""

from __future__ import annotations

import re

from metalog_spark.store.tables import TABLES
from tests.support.kafka.cases import REPOSITORY

PAGE = REPOSITORY / "docs" / "formats" / "tables.md"
GUIDE = REPOSITORY / "docs" / "guide" / "pipeline" / "build.md"
ROW = re.compile(r"^\| `(\w+)` \| .* \| (`.*) \|$", re.MULTILINE)
COLUMN = re.compile(r"`(\w+)` ([A-Z<>]+)")


def test_the_page_has_each_column_of_each_table() -> None:
    page = PAGE.read_text(encoding="utf-8")
    listed = {
        name: ", ".join(f"{column} {kind}" for column, kind in COLUMN.findall(columns))
        for name, columns in ROW.findall(page)
    }
    assert listed == {name: table.schema for name, table in TABLES.items()}


def test_the_guide_lists_each_table() -> None:
    listed = re.findall(r"^\| `(\w+)` \|", GUIDE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(TABLES)
