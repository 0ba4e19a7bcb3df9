"""Divides resource names into classes: the same patterns match all names of a class.

Three facts determine a name's class: the literal that the name equals, the longest PREFIXED pattern
that matches the name, and whether the name begins with ``*``. A class without a valid resource name
represents no request. This module must not know principals, hosts or decisions.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import Final, NamedTuple

from metalog.acl import CLUSTER_NAME, WILDCARD, Acl, PatternType, ResourceType

_LITERAL: Final = PatternType.LITERAL
_TOPIC: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_NO_TOPICS: Final = (".", "..")
PLAIN: Final = "xyzabcdefghijklmnopqrstuvw0123456789-_.ABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""The characters of topic names, the plainest first."""
_FIRST_OTHER_CHARACTER: Final = 0xC0


class NameClass(NamedTuple):
    """Only ``name`` if ``is_literal``, else the names that begin with ``name``.

    Literals, and names that begin with a longer prefix, have their own classes. Names that begin
    with ``*`` are not in the class of the empty prefix.
    """

    name: str
    is_literal: bool


class NamePattern(NamedTuple):
    """One name, or all names that begin with ``name``."""

    name: str
    is_literal: bool = False

    def holds(self, name: str) -> bool:
        return name == self.name if self.is_literal else name.startswith(self.name)

    def holds_all(self, names: NameClass) -> bool:
        """Whether this pattern has ``names``. The pattern must have all of them, or none."""
        return self.holds(names.name) and (names.is_literal or not self.is_literal)

    def meets(self, acl: Acl) -> bool:
        """False only if ``acl`` matches none of this pattern's names."""
        name = acl.resource_name
        if acl.pattern_type is _LITERAL:
            return name == WILDCARD or self.holds(name)
        begins = self.name.startswith(name)
        return begins if self.is_literal else begins or name.startswith(self.name)


ALL_NAMES: Final = NamePattern("")
THE_CLUSTER: Final = NamePattern(CLUSTER_NAME, is_literal=True)


def all_names(kind: ResourceType) -> NamePattern:
    """All names that a resource of this type can have."""
    return THE_CLUSTER if kind is ResourceType.CLUSTER else ALL_NAMES


def can_be_named(kind: ResourceType, name: str) -> bool:
    if kind is ResourceType.TOPIC:
        return _TOPIC.fullmatch(name) is not None and name not in _NO_TOPICS
    return name == CLUSTER_NAME if kind is ResourceType.CLUSTER else bool(name)


class Patterns:
    """The literals and the prefixes of ACLs on one type of resource.

    If ``reaches_all``, the literals include ``*``, which matches ``*`` and all names that do not
    begin with ``*``.
    """

    __slots__ = ("_in_order", "_last_found", "_lengths", "literals", "prefixes", "reaches_all")

    def __init__(self, patterns: Iterable[NamePattern]) -> None:
        self.literals: set[str] = set()
        self.prefixes: set[str] = set()
        for name, is_literal in patterns:
            (self.literals if is_literal else self.prefixes).add(name)
        self.reaches_all = WILDCARD in self.literals
        self._lengths = sorted({len(prefix) for prefix in self.prefixes})
        self._in_order: tuple[list[str], list[str]] | None = None
        self._last_found: tuple[str, frozenset[NameClass]] | None = None

    @staticmethod
    def of(acls: Iterable[Acl]) -> Patterns:
        return Patterns(
            NamePattern(acl.resource_name, acl.pattern_type is _LITERAL) for acl in acls
        )

    def reaches(self, names: NameClass) -> bool:
        """Whether a pattern matches ``names``. No pattern must match a part of ``names``."""
        name = names.name
        if names.is_literal and name in self.literals:
            return True
        if self.reaches_all and not name.startswith(WILDCARD):
            return True
        return any(name[:length] in self.prefixes for length in self._lengths)

    def reaching(self, names: NameClass) -> Iterator[NamePattern]:
        """The patterns that match ``names``. No pattern must match a part of ``names``."""
        name = names.name
        if names.is_literal and name in self.literals:
            yield NamePattern(name, True)
        if self.reaches_all and not name.startswith(WILDCARD):
            yield NamePattern(WILDCARD, True)
        for length in self._lengths:
            if name[:length] in self.prefixes:
                yield NamePattern(name[:length], False)

    def beginning_with(self, stem: str) -> frozenset[NameClass]:
        """The classes of the literals and prefixes that begin with ``stem``."""
        if self._last_found is None or self._last_found[0] != stem:
            self._last_found = stem, frozenset(self._beginning_with(stem))
        return self._last_found[1]

    def _beginning_with(self, stem: str) -> Iterator[NameClass]:
        if not stem:
            yield from (NameClass(name, True) for name in self.literals)
            yield from (NameClass(name, False) for name in self.prefixes)
            return
        if self._in_order is None:
            self._in_order = sorted(self.literals), sorted(self.prefixes)
        for names, is_literal in zip(self._in_order, (True, False), strict=True):
            for at in range(bisect_left(names, stem), len(names)):
                if not names[at].startswith(stem):
                    break
                yield NameClass(names[at], is_literal)


def classes(dividing: Sequence[Patterns], within: NamePattern) -> set[NameClass]:
    """All classes of the names in ``within``."""
    if within.is_literal:
        return {NameClass(*within)}
    found = {NameClass(within.name, False)}
    if not within.name:  # LITERAL * matches *, but not longer names that begin with *
        found |= {NameClass(WILDCARD, True), NameClass(WILDCARD, False)}
    for patterns in dividing:
        found.update(patterns.beginning_with(within.name))
    return found


def touched(
    touching: Iterable[Patterns], dividing: Sequence[Patterns], within: NamePattern
) -> set[NameClass]:
    """The classes of names in ``within`` that a pattern in ``touching`` matches.

    ``dividing`` must have all patterns in ``touching``.
    """
    stem, is_one = within
    if is_one:
        names = NameClass(*within)
        return {names} if any(patterns.reaches(names) for patterns in touching) else set()
    found: set[NameClass] = set()
    for patterns in touching:
        if any(stem.startswith(prefix) for prefix in patterns.prefixes):
            return classes(dividing, within)
        if patterns.reaches_all:
            found.update(
                names
                for names in classes(dividing, within)
                if not names.name.startswith(WILDCARD) or patterns.reaches(names)
            )
            continue
        for names in patterns.beginning_with(stem):
            if names.is_literal:
                found.add(names)
            elif names not in found:
                found |= classes(dividing, NamePattern(names.name))
    return found


def plain_name(names: NameClass, kind: ResourceType, dividing: Sequence[Patterns]) -> str | None:
    """A plain name of the class ``names``, which the patterns ``dividing`` make.

    None if no resource of this type can have a name of the class.
    """
    name, is_literal = names
    if is_literal:
        return name if can_be_named(kind, name) else None
    if name[-1:].isalnum() and _is_free(name, kind, dividing):
        return name
    waiting = [name]
    for stem in waiting:
        for character in PLAIN:
            longer = stem + character
            if any(longer in patterns.prefixes for patterns in dividing):
                continue
            if _is_free(longer, kind, dividing):
                return longer
            if len(longer) <= 2 or any(longer in patterns.literals for patterns in dividing):
                waiting.append(longer)
    if _is_free(name, kind, dividing):
        return name
    return None if kind in _WITH_LIMITED_NAMES else _unusual_name(name, kind, dividing)


_WITH_LIMITED_NAMES: Final = (ResourceType.TOPIC, ResourceType.CLUSTER)


def _unusual_name(name: str, kind: ResourceType, dividing: Sequence[Patterns]) -> str:
    """A name for a class in which every plain character leads to a longer prefix."""
    for code in count(_FIRST_OTHER_CHARACTER):
        longer = name + chr(code)
        is_longer = any(longer in patterns.prefixes for patterns in dividing)
        if not is_longer and _is_free(longer, kind, dividing):
            break
    return longer


def _is_free(name: str, kind: ResourceType, dividing: Sequence[Patterns]) -> bool:
    if not can_be_named(kind, name):
        return False
    return not any(name in patterns.literals for patterns in dividing)
