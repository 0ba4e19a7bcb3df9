"""docs/reference/field-bugs.md names a test for each number, and each test of this folder."""

from __future__ import annotations

import ast
import re

from tests.support.kafka.cases import REPOSITORY

PAGE = (REPOSITORY / "docs" / "reference" / "field-bugs.md").read_text()
NAMED = set(re.findall(r"`(tests/[\w/.-]+\.py)::(test_\w+)`", PAGE))
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ") and "|---" not in line]
OF_THE_TESTS = {"test_the_exchange_of_these_tests_lets_alice_in"}
"""Marks a helper that only supports a test."""


def names_in(file: str) -> set[str]:
    parsed = ast.parse((REPOSITORY / file).read_text())
    made = {
        target.id
        for each in parsed.body
        if isinstance(each, ast.Assign)
        for target in each.targets
        if isinstance(target, ast.Name)
    }
    return made | {
        each.name
        for each in ast.walk(parsed)
        if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef))
    }


def test_each_test_that_is_named_is_there() -> None:
    known = {file: names_in(file) for file, _ in NAMED}
    assert not {(file, name) for file, name in NAMED if name not in known[file]}


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
