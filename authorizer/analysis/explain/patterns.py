"""Finds the difference between a resource pattern and one that would match the name.

This module must not know principals, hosts or operations.
"""

from __future__ import annotations

from typing import NamedTuple

from authorizer.analysis.explain.kinds import NearMissKind
from authorizer.analysis.explain.text import one_edit_apart
from authorizer.engine.prefixes import common_prefix
from metalog.acl import WILDCARD, Acl, PatternType

_LITERAL, _PREFIXED = PatternType.LITERAL, PatternType.PREFIXED
_SHORTEST_LIKENESS = 3


class NearPattern(NamedTuple):
    """A pattern that matches the name, and that was probably meant, according to ``kind``."""

    kind: NearMissKind
    name: str
    pattern_type: PatternType


def near_pattern(acl: Acl, name: str) -> NearPattern | None:
    """How the pattern of ``acl`` nearly matches ``name``; None if it is not near."""
    if acl.pattern_type is _LITERAL:
        return _near_literal(acl.resource_name, name)
    if acl.pattern_type is _PREFIXED:
        return _near_prefix(acl.resource_name, name)
    return None


def _near_literal(own: str, name: str) -> NearPattern | None:
    if own == WILDCARD:
        return NearPattern(NearMissKind.WILDCARD_SKIPS_STAR, name, _LITERAL)
    if own.casefold() == name.casefold():
        return NearPattern(NearMissKind.NAME_CASE, name, _LITERAL)
    if own.strip() == name.strip():
        return NearPattern(NearMissKind.NAME_BLANK, name, _LITERAL)
    if prefix := _meant_as_prefix(own, name):
        return prefix
    if one_edit_apart(own, name):
        return NearPattern(NearMissKind.NAME_TYPO, name, _LITERAL)
    return _begins_alike(own, name)


def _meant_as_prefix(own: str, name: str) -> NearPattern | None:
    starless = own.rstrip(WILDCARD)
    if not starless or not name.startswith(starless):
        return None
    if starless != own:
        return NearPattern(NearMissKind.LITERAL_STAR, starless, _PREFIXED)
    return NearPattern(NearMissKind.LITERAL_PREFIX, own, _PREFIXED)


def _near_prefix(own: str, name: str) -> NearPattern | None:
    length = len(own)
    starless = own.rstrip(WILDCARD)
    if starless and starless != own and name.startswith(starless):
        return NearPattern(NearMissKind.PREFIXED_STAR, starless, _PREFIXED)
    if own and not starless and not name.startswith(WILDCARD):
        return NearPattern(NearMissKind.PREFIXED_STAR, WILDCARD, _LITERAL)
    if own.casefold() == name[:length].casefold():
        return NearPattern(NearMissKind.NAME_CASE, name[:length], _PREFIXED)
    if own.strip() and name.startswith(own.strip()):
        return NearPattern(NearMissKind.NAME_BLANK, own.strip(), _PREFIXED)
    for near in (length + 1, length, length - 1):
        if 0 < near <= len(name) and one_edit_apart(own, name[:near]):
            return NearPattern(NearMissKind.PREFIX_ONE_OFF, name[:near], _PREFIXED)
    return _begins_alike(own, name)


def _begins_alike(own: str, name: str) -> NearPattern | None:
    shared = common_prefix(own, name)
    if shared >= _SHORTEST_LIKENESS and 2 * shared >= len(name):
        return NearPattern(NearMissKind.NAME, name, _LITERAL)
    return None
