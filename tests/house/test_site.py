"""The documentation site, without building it: `make docs` does, and checks each link."""

import yaml

from tests.support.kafka.cases import REPOSITORY
from tests.support.pages.public_api import FRONTS

DOCS = REPOSITORY / "docs"
API = "reference/api/"
FROM_OUTSIDE = {"index.md", "CHANGELOG.md", "CONTRIBUTING.md"}


def named(nav: str | list[object] | dict[str, object]) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    return [
        page for each in (nav.values() if isinstance(nav, dict) else nav) for page in named(each)
    ]


NAMED = named(yaml.load((REPOSITORY / "mkdocs.yml").read_text("utf-8"), yaml.BaseLoader)["nav"])
PAGES = [
    each for each in NAMED if not each.startswith(("https:", API)) and each not in FROM_OUTSIDE
]


def test_the_navigation_names_each_page_once_and_none_that_is_missing() -> None:
    folders = tuple(each for each in PAGES if each.endswith("/"))
    found = [path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")]
    single = {each for each in found if not each.startswith(folders)}
    assert len(NAMED) == len(set(NAMED))
    assert single == {each for each in PAGES if not each.startswith(folders)}
    assert all((DOCS / each).exists() for each in PAGES)


def test_each_front_has_a_page_of_the_reference() -> None:
    assert {f"{API}{front}.md" for front in FRONTS} == {each for each in NAMED if API in each}
