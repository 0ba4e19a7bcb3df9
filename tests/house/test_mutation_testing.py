"""docs/reference/mutation-testing.md is what the results say, and the groups name files."""

from __future__ import annotations

import json

import pytest

from tests.mutate import results
from tests.mutate.groups import GROUPS
from tests.support.kafka.cases import REPOSITORY


def test_the_page_says_what_the_results_say() -> None:
    page = results.PAGE.read_text()
    assert results.rendered(page, results.read(), GROUPS) == page


@pytest.mark.parametrize("name", GROUPS)
def test_a_group_is_of_files_that_are_there(name: str) -> None:
    group = GROUPS[name]
    files = [f"{each}.py" for each in group.modules] + [
        each.partition("::")[0] for each in group.left_out
    ]
    assert all((REPOSITORY / each).is_file() for each in files)
    tests = [REPOSITORY / each for each in group.tests]
    assert all(each.is_dir() or each.with_suffix(".py").is_file() for each in tests)


def test_each_reason_is_of_a_change_that_is_left() -> None:
    left = {each for found in results.read().values() for each in found.survivors}
    assert set(results.reasons()) <= left
    assert all(map(str.strip, results.reasons().values()))


def test_results_are_read_as_they_were_written(tmp_path) -> None:
    file = tmp_path / "results.json"
    results.write(results.read(), file)
    assert json.loads(file.read_text()) == json.loads(results.RESULTS.read_text())
