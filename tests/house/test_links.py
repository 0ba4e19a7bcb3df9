"""Every link, path and anchor in the pages leads somewhere, and each index lists its pages once."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.support.kafka.cases import REPOSITORY

LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```", re.M | re.S)
HEADING = re.compile(r"^#+ +(.+)$", re.M)
IN_DOCS = re.compile(r"(?<![\w./:-])docs/[\w./-]*\w")
FOLDERS = "authorizer|bench|examples|metalog(?:_\\w+)?|pyspark_metalog|shell|snapshot|tests"
IN_CODE = re.compile(rf"`((?:{FOLDERS})/[\w./-]*\w/?)`")
MODULE = re.compile(r"`(\w[\w/]*\.py)\b")
ROW = re.compile(
    r"^\|(?: (?P<number>\d{4}) \|)? \[(?P<title>.+?)\]\((?P<page>[\w.-]+\.md)\) \|", re.M
)
INDEXES = ("decisions", "performance", "reference")
HISTORY = "CHANGELOG.md"
"""Pages about the past, which name files of that time."""


@cache
def tracked() -> tuple[str, ...]:
    done = subprocess.run(
        ["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    return tuple(name for name in done.stdout.split("\0") if (REPOSITORY / name).is_file())


def texts(*endings: str) -> Iterator[tuple[str, str]]:
    for name in tracked():
        if name.endswith(endings) and "/fixtures/" not in name and name != HISTORY:
            yield name, (REPOSITORY / name).read_text(encoding="utf-8")


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub makes of headings."""
    found: set[str] = set()
    for heading in HEADING.findall(FENCED.sub("", page.read_text(encoding="utf-8"))):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w -]", "", plain).replace(" ", "-")
        found.add(slug if slug not in found else f"{slug}-1")
    return found


def test_every_link_leads_to_a_file_and_an_anchor() -> None:
    broken = []
    for name, text in texts(".md"):
        for link in LINK.findall(FENCED.sub("", text)):
            if re.match(r"\w+:", link):
                continue
            path, _, anchor = link.partition("#")
            page = (REPOSITORY / name).parent / path if path else REPOSITORY / name
            if not page.exists() or (anchor and anchor not in anchors(page)):
                broken.append((name, link))
    assert broken == []


def test_every_page_that_source_or_docs_name_is_there() -> None:
    """Also in docstrings and the Makefile."""
    assert [
        (name, path)
        for name, text in texts(".md", ".py", ".toml", ".mk", "Makefile")
        for path in IN_DOCS.findall(text)
        if not (REPOSITORY / path).exists()
    ] == []


def test_every_module_that_a_page_names_is_there() -> None:
    modules = [f"/{name}" for name in tracked() if name.endswith(".py")]
    missing = []
    for name, text in texts(".md"):
        prose = FENCED.sub("", text)
        missing += [
            (name, path) for path in IN_CODE.findall(prose) if not (REPOSITORY / path).exists()
        ]
        missing += [
            (name, module)
            for module in MODULE.findall(prose)
            if not any(path.endswith(f"/{module}") for path in modules)
        ]
    assert missing == []


@pytest.mark.parametrize("folder", INDEXES)
def test_an_index_lists_each_page_once_by_its_heading(folder: str) -> None:
    pages = REPOSITORY / "docs" / folder
    rows = [row.groupdict() for row in ROW.finditer((pages / "README.md").read_text("utf-8"))]
    headings = {
        page.name: page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        for page in pages.glob("*.md")
        if page.name != "README.md"
    }
    listed = [
        (row["page"], f"{int(row['number'])}. {row['title']}" if row["number"] else row["title"])
        for row in rows
    ]
    assert sorted(listed) == sorted(headings.items())
    assert all(row["page"].startswith(row["number"] or "") for row in rows)


@pytest.mark.parametrize("folder", INDEXES)
def test_the_code_that_an_index_names_is_there(folder: str) -> None:
    text = (REPOSITORY / "docs" / folder / "README.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("|") and "](" in line]
    for row in rows:
        paths = re.findall(r"`([^`]+)`", row.strip("| ").rpartition(" | ")[2])
        assert paths, row
        assert [path for path in paths if not (REPOSITORY / path).exists()] == [], row
