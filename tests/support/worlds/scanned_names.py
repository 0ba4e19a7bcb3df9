"""Patterns and all names that they can distinguish, for a linear scan."""

from __future__ import annotations

from itertools import product
from random import Random

from authorizer.analysis.cells.names import NamePattern
from metalog.acl import Acl
from tests.support.worlds.small_acls import allow

BEYOND = "~"
"""A character of no pattern."""
NAMES = ["".join(each) for size in (1, 2, 3) for each in product("ab*", repeat=size)]
NAMES += [name + BEYOND for name in ("", *NAMES)]


def some(random: Random, most: int = 5) -> list[NamePattern]:
    texts = ["*", "*", *(name for name in NAMES if len(name) < 3 and BEYOND not in name)]
    return [
        NamePattern(random.choice(texts), random.random() < 0.5)
        for _ in range(random.randint(0, most))
    ]


def matches(pattern: NamePattern, name: str) -> bool:
    """As Kafka matches a pattern of an ACL."""
    if pattern == NamePattern("*", True):
        return name == "*" or not name.startswith("*")
    return name == pattern.name if pattern.is_literal else name.startswith(pattern.name)


def as_acl(pattern: NamePattern) -> Acl:
    return allow(pattern.name, prefixed=not pattern.is_literal)
