"""docs/reference/field-bugs.md names a test for each number, and each test of this folder."""

from __future__ import annotations

import re

from tests.support.kafka.cases import REPOSITORY
from tests.support.pages.named_tests import missing_of, named_in, names_in

PAGE = (REPOSITORY / "docs" / "reference" / "field-bugs.md").read_text()
NAMED = named_in(PAGE)
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ") and "|---" not in line]
OF_THE_TESTS = {"test_the_exchange_of_these_tests_lets_alice_in"}
"""Marks a helper that only supports a test."""


def test_each_test_that_is_named_is_there() -> None:
    assert not missing_of(PAGE)


def test_each_row_names_a_test() -> None:
    rows = [row for row in ROWS if not row.endswith("| our test |")]
    assert len(rows) > 40
    assert not [row for row in rows if not re.search(r"\.py::test_\w+`", row)]


def test_each_test_of_this_folder_is_on_the_page() -> None:
    here = REPOSITORY / "tests" / "field"
    for file in here.glob("test_*.py"):
        if file.name != "test_page.py":
            name = file.relative_to(REPOSITORY).as_posix()
            found = {each for each in names_in(name) if each.startswith("test_")}
            assert found - OF_THE_TESTS <= {test for where, test in NAMED if where == name}
