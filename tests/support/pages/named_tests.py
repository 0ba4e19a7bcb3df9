"""The tests that a page names as ``tests/….py::test_…``, and those that a file has.

This module must not know what a page is about.
"""

from __future__ import annotations

import ast
import re

from tests.support.kafka.cases import REPOSITORY


def named_in(page: str) -> set[tuple[str, str]]:
    """Each file and test that the text of ``page`` names."""
    return set(re.findall(r"`(tests/[\w/.-]+\.py)::(test_\w+)`", page))


def missing_of(page: str) -> set[tuple[str, str]]:
    """The files and tests that ``page`` names and that do not exist."""
    named = named_in(page)
    known = {file: names_in(file) for file, _ in named}
    return {(file, name) for file, name in named if name not in known[file]}


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
