"""Docs, README and examples import from the packages' fronts only, which one page lists."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from tests.support.kafka.cases import REPOSITORY
from tests.support.pages.public_api import FRONTS, PACKAGES, PAGE, api_line, exported, page

PAGES = [
    REPOSITORY / "README.md",
    REPOSITORY / "CONTRIBUTING.md",
    *sorted((REPOSITORY / "docs").rglob("*.md")),
]
BLOCK = re.compile(r"^```py(?:thon)?\n(.*?)^```", re.M | re.S)
KEYS = {"authorizer.config.path"}
"""Configuration keys that begin like one of our modules."""
DOTTED = re.compile(rf"`((?:{'|'.join(PACKAGES)}|shell)(?:\.\w+)+)\b[^`]*`")


def sources() -> Iterator[tuple[str, str]]:
    """All Python code that readers may copy."""
    for path in sorted((REPOSITORY / "examples").rglob("*.py")):
        yield path.name, path.read_text(encoding="utf-8")
    for path in PAGES:
        for code in BLOCK.findall(path.read_text(encoding="utf-8")):
            yield path.name, code


def imports(code: str) -> Iterator[tuple[str, str | None]]:
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.module, each.name) for each in node.names)
        elif isinstance(node, ast.Import):
            yield from ((each.name, None) for each in node.names)


def test_docs_and_examples_import_what_the_fronts_export_and_nothing_else() -> None:
    inner = [
        (where, module, name)
        for where, code in sources()
        for module, name in imports(code)
        if module.partition(".")[0] in {*PACKAGES, "shell"}
        and (module not in FRONTS or (name and name not in import_module(module).__all__))
    ]
    assert inner == []


@pytest.mark.parametrize("path", sorted((REPOSITORY / "docs" / "guide").rglob("*.md")), ids=str)
def test_a_guide_names_no_inner_module(path: Path) -> None:
    """Also in a sentence: ``metalog.open_log``, without its inner module."""
    inner = [
        dotted
        for dotted in DOTTED.findall(path.read_text(encoding="utf-8"))
        if is_module(dotted) and dotted not in {*FRONTS, *KEYS} and not is_exported(dotted)
    ]
    assert inner == []


def is_module(dotted: str) -> bool:
    """``metalog.log.opening`` is one; ``metalog.toml`` is not."""
    package, name = dotted.split(".")[:2]
    return any((REPOSITORY / package).glob(name)) or any((REPOSITORY / package).glob(f"{name}.py"))


def is_exported(dotted: str) -> bool:
    """A name of a front, or an attribute of one."""
    return any(
        dotted.startswith(f"{front}.")
        and dotted.removeprefix(f"{front}.").partition(".")[0] in import_module(front).__all__
        for front in FRONTS
    )


def test_the_page_lists_what_the_fronts_export() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "make api writes it anew"


@pytest.mark.parametrize("front", FRONTS)
def test_a_line_says_what_each_name_is(front: str) -> None:
    assert [name for name, value in exported(front) if not api_line(front, name, value)] == []
