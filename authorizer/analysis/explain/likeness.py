"""Finds the mistake in an ACL's resource pattern or principal that does not match.

This module must not know hosts or operations, nor what a principal may do.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from authorizer.analysis.explain.kinds import NearMissKind
from authorizer.engine.prefixes import common_prefix_length
from metalog.acl import WILDCARD, Acl, PatternType

_LITERAL, _PREFIXED = PatternType.LITERAL, PatternType.PREFIXED
_SHORTEST_BEGINNING = 3
_ATTRIBUTE = re.compile(
    r'\s*([\w.-]+)\s*=\s*((?:"(?:[^"\\]|\\.)*"|\\.|[^,"\\])*)(?:,|$)', re.DOTALL
)


def one_edit_apart(left: str, right: str) -> bool:
    """Whether the texts differ by one added, missing or changed character, or one adjacent swap."""
    if len(left) > len(right):
        left, right = right, left
    growth = len(right) - len(left)
    if growth > 1 or left == right:
        return False
    start = common_prefix_length(left, right)
    if growth:
        return left[start:] == right[start + 1 :]
    if left[start + 1 :] == right[start + 1 :]:
        return True
    swapped = left[start + 1 : start + 2] + left[start : start + 1]
    return swapped == right[start : start + 2] and left[start + 2 :] == right[start + 2 :]


class NearPattern(NamedTuple):
    """The pattern that was probably meant. ``kind`` is the mistake."""

    kind: NearMissKind
    name: str
    pattern_type: PatternType


def near_pattern(acl: Acl, name: str) -> NearPattern | None:
    """How the pattern of ``acl`` nearly matches ``name``; None without a similarity."""
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
    shared = common_prefix_length(own, name)
    if shared >= _SHORTEST_BEGINNING and 2 * shared >= len(name):
        return NearPattern(NearMissKind.NAME, name, _LITERAL)
    return None


def principal_kind(other: str, principal: str) -> NearMissKind:
    """How ``other``, an ACL's principal, differs from ``principal``."""
    if other.casefold() == principal.casefold():
        return NearMissKind.PRINCIPAL_CASE
    if _without_blanks(other) == _without_blanks(principal):
        return NearMissKind.PRINCIPAL_BLANK
    if other.endswith(WILDCARD) and principal.startswith(other[:-1]):
        return NearMissKind.PRINCIPAL_STAR
    if kind := _name_kind(_name(other), _name(principal)):
        return kind
    return (
        NearMissKind.PRINCIPAL_TYPO if one_edit_apart(other, principal) else NearMissKind.PRINCIPAL
    )


def short_names(name: str) -> tuple[str, ...]:
    """The names that principal mapping rules usually make of ``name``, a DN or Kerberos name."""
    if "=" in name:
        attributes = distinguished_name(name) or ()
        return tuple(value for attribute, value in attributes if attribute == "CN")
    if "@" in name:
        full = name.partition("@")[0]
        return (full, full.partition("/")[0])
    return ()


def distinguished_name(name: str) -> tuple[tuple[str, str], ...] | None:
    """The attributes of an X.500 name (RFC 2253) in order; None for another kind of name."""
    attributes: list[tuple[str, str]] = []
    position = 0
    while position < len(name):
        found = _ATTRIBUTE.match(name, position)
        if found is None:
            return None
        attributes.append((found[1].upper(), found[2].strip()))
        position = found.end()
    return tuple(attributes) or None


def _name_kind(other: str, name: str) -> NearMissKind | None:
    if other.casefold() == name.casefold():
        return NearMissKind.PRINCIPAL_TYPE
    if _is_same_dn(other, name):
        return NearMissKind.PRINCIPAL_DN
    if name in short_names(other) or other in short_names(name):
        return NearMissKind.PRINCIPAL_SHORT_NAME
    return None


def _is_same_dn(left: str, right: str) -> bool:
    if "=" not in left or "=" not in right:
        return False
    ours, theirs = distinguished_name(left), distinguished_name(right)
    return ours is not None and theirs is not None and _folded(ours) == _folded(theirs)


def _folded(attributes: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
    return sorted((attribute, value.casefold()) for attribute, value in attributes)


def _name(principal: str) -> str:
    head, colon, name = principal.partition(":")
    return name if colon else head


def _without_blanks(principal: str) -> tuple[str, str]:
    head, _, name = principal.partition(":")
    return head.strip(), name.strip()
