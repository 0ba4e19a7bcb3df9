"""A short part of each long run; and the page equals the results."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.prove import interleavings, metamorphic, results
from tests.prove.__main__ import main
from tests.prove.promise import Promise


@pytest.mark.once
@pytest.mark.parametrize("promise", [metamorphic.PROMISE, interleavings.PROMISE])
def test_a_unit_of_a_long_run_holds(promise: Promise) -> None:
    assert promise.unit(7) > 0


def test_the_page_says_what_the_results_say() -> None:
    page = results.PAGE.read_text()
    found = results.read()
    assert found
    assert results.rendered(page, found) == page


@pytest.mark.once
def test_a_run_goes_on_where_the_last_one_ended(tmp_path: Path) -> None:
    kept, page = tmp_path / "results.json", tmp_path / "page.md"
    page.write_text("<!--long runs-->\n<!--end of long runs-->")
    options = [
        "--budget",
        "0.01",
        "--only",
        "metamorphic",
        "--results",
        str(kept),
        "--page",
        str(page),
    ]
    for units in (1, 2):
        assert main(options) == 0
        assert results.read(kept)["metamorphic"].units == units
    assert "*metamorphic*" in page.read_text()
