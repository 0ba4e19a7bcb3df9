"""Names of the whole project: a public class name means one thing, and names are nouns.

The packages and bench are checked, as one."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.support.kafka.cases import REPOSITORY
from tests.support.pages.public_api import PACKAGES

NAMED_BY_KAFKA = (
    REPOSITORY / "authorizer" / "compat" / "kip11",
    REPOSITORY / "metalog" / "records" / "messages",
)
"""KIP-11's interface (Acl, Authorizer, Session) and Kafka's messages have Kafka's own names."""
NOT_NOUNS = {"asked", "beforehand", "given", "held", "meant", "said", "told"}
NOT_IN_NAMES = {*NOT_NOUNS, "known", "later"}
"""No word of a class or module name is one of these; a value may be ``known``."""


def modules() -> Iterator[tuple[Path, ast.Module]]:
    for package in (*PACKAGES, "shell", "bench"):
        for path in sorted((REPOSITORY / package).rglob("*.py")):
            if set(NAMED_BY_KAFKA).isdisjoint(path.parents):
                yield path.relative_to(REPOSITORY), ast.parse(path.read_text(encoding="utf-8"))


def public_classes() -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = defaultdict(list)
    for path, module in modules():
        for node in module.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(path)
    return found


def bound_name(node: ast.AST) -> str:
    """The name that ``node`` gives to a value, a parameter, a function or a class."""
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
            return name
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return name
    return ""


def test_a_public_class_name_means_one_thing() -> None:
    several = {name: paths for name, paths in public_classes().items() if len(paths) > 1}
    assert several == {}


def test_a_name_is_a_noun() -> None:
    verbs = [
        f"{path}:{getattr(node, 'lineno', 0)}"
        for path, module in modules()
        for node in ast.walk(module)
        if bound_name(node).strip("_") in NOT_NOUNS
    ]
    assert verbs == []


def words(name: str) -> set[str]:
    """The words of ``name``, which are joined by capitals or by underscores."""
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}


def test_words_are_joined_by_capitals_or_underscores() -> None:
    assert words("_AskedThings") == {"asked", "things"}
    assert words("KIPSaid") == {"kip", "said"}
    assert words("known_files2") == {"known", "files"}
    assert words("UnknownNames") == {"unknown", "names"}


def test_no_class_or_module_has_a_word_that_is_not_a_noun() -> None:
    named = [
        f"{path}: {name}"
        for path, module in modules()
        for name in (
            *path.with_suffix("").parts,
            *(node.name for node in ast.walk(module) if isinstance(node, ast.ClassDef)),
        )
        if words(name) & NOT_IN_NAMES
    ]
    assert named == []


def written_names(method: ast.AST) -> Iterator[str]:
    """The names before a bracket at the beginning of the texts in a ``__repr__``."""
    for node in ast.walk(method):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from re.findall(r"^(\w+)\(", node.value)


def test_a_repr_begins_with_the_name_of_its_class() -> None:
    shown = [
        (node.name, name)
        for _, module in modules()
        for node in ast.walk(module)
        if isinstance(node, ast.ClassDef)
        for method in node.body
        if isinstance(method, ast.FunctionDef) and method.name == "__repr__"
        for name in written_names(method)
    ]
    assert shown
    assert [(name, written) for name, written in shown if name != written] == []
