"""A public class name means one thing in the whole project."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

from tests.support.kafka.cases import REPOSITORY
from tests.support.pages.public_api import PACKAGES

NAMED_BY_KAFKA = (
    REPOSITORY / "authorizer" / "compat" / "kip11",
    REPOSITORY / "metalog" / "records" / "messages",
)
"""KIP-11's interface (Acl, Authorizer, Session) and Kafka's messages have Kafka's own names."""


def public_classes() -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = defaultdict(list)
    for package in (*PACKAGES, "shell"):
        for path in sorted((REPOSITORY / package).rglob("*.py")):
            if not set(NAMED_BY_KAFKA).isdisjoint(path.parents):
                continue
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    found[node.name].append(path.relative_to(REPOSITORY))
    return found


def test_a_public_class_name_means_one_thing() -> None:
    several = {name: paths for name, paths in public_classes().items() if len(paths) > 1}
    assert several == {}
