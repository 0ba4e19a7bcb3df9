"""The machinery behind the README's figures."""

import pytest

from tests.support.pages.figures import Figures, rewritten, stated

pytest_plugins = ["pytester"]
README = "| compared | <!--compared-->1,234 | <!--other-->0 differ |\n"


def test_a_figure_stands_behind_its_name() -> None:
    assert stated(README) == {"compared": 1234, "other": 0}


def test_a_figure_that_was_not_counted_stays() -> None:
    assert rewritten(README, {"compared": 100_776}) == README.replace("1,234", "100,776")


@pytest.mark.parametrize(("count", "exit_code"), [(1234, 0), (1233, 1)])
def test_a_run_fails_where_the_readme_says_something_else(
    pytester: pytest.Pytester, count: int, exit_code: int
) -> None:
    readme = pytester.path / "README.md"
    readme.write_text(README)
    test = pytester.makepyfile(
        f"def test(record_property):\n"
        f"    record_property('figure compared', {count})\n"
        f"    record_property('figure other', 0)\n"
    )
    plugin = Figures(readme, write=False)
    assert pytester.inline_run(test, plugins=[plugin]).ret == exit_code
