"""Finds the difference between an ACL's principal and the principal of the question.

This module must not know what either may do.
"""

from __future__ import annotations

import re

from authorizer.analysis.explain.kinds import NearMissKind
from authorizer.analysis.explain.text import one_edit_apart
from metalog.acl import WILDCARD

_ATTRIBUTE = re.compile(
    r'\s*([\w.-]+)\s*=\s*((?:"(?:[^"\\]|\\.)*"|\\.|[^,"\\])*)(?:,|$)', re.DOTALL
)


def principal_kind(other: str, principal: str) -> NearMissKind:
    """How ``other``, an ACL's principal, differs from ``principal``; they are not equal."""
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
    """The names that principal mapping rules usually make of a DN or a Kerberos name, if any."""
    if "=" in name:
        attributes = distinguished_name(name) or ()
        return tuple(value for attribute, value in attributes if attribute == "CN")
    if "@" in name:
        full = name.partition("@")[0]
        return (full, full.partition("/")[0])
    return ()


def distinguished_name(name: str) -> tuple[tuple[str, str], ...] | None:
    """The attributes of an X.500 name (RFC 2253) in order; None if ``name`` is not one."""
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
