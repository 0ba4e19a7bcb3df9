"""Groups single ACLs into rules with lists: ACLs that differ only in one field become one rule.

Operations are merged first, then hosts, then resource names. Equal ACLs and notes give equal rules.
No rule and no file has more ACLs than the reader accepts. This module must not know how a rule is
written.
"""

from __future__ import annotations

from collections.abc import Collection
from math import prod
from typing import Any, Final, NamedTuple

from metalog.acl import Operation, PatternType, PermissionType, ResourceType
from metalog_sources.formats.document import (
    MAX_ACLS_OF_A_RULE,
    MOST_ENTRIES,
    AclEntry,
    AclNotes,
    in_order,
)

_LISTS: Final = ("operations", "hosts", "names")


class RegroupedRule(NamedTuple):
    """Every combination of a name, a host and an operation is an ACL."""

    resource_type: ResourceType
    names: tuple[str, ...]
    pattern_type: PatternType
    principal: str
    hosts: tuple[str, ...]
    operations: tuple[Operation, ...]
    permission_type: PermissionType
    notes: AclNotes


def regrouped(entries: Collection[AclEntry], file_acls: int | None = None) -> list[RegroupedRule]:
    """The rules for ``entries``. ``file_acls`` is the number of ACLs in the whole file (default:
    the number of ``entries``).

    Above ``MOST_ENTRIES`` ACLs, the reader's limit depends on the file's length. Only names are
    merged then, because more lists would make the file shorter, and so the limit lower.
    """
    rules = [
        RegroupedRule(
            acl.resource_type,
            (acl.resource_name,),
            acl.pattern_type,
            acl.principal,
            (acl.host,),
            (acl.operation,),
            acl.permission_type,
            notes,
        )
        for acl, notes, _ in in_order(entries)
    ]
    is_small = (len(entries) if file_acls is None else file_acls) <= MOST_ENTRIES
    for field in _LISTS if is_small else _LISTS[-1:]:
        rules = _merged(rules, field)
    return rules


def _merged(rules: list[RegroupedRule], field: str) -> list[RegroupedRule]:
    """Merge rules that differ only in ``field``, up to ``MAX_ACLS_OF_A_RULE`` ACLs a rule."""
    values: dict[RegroupedRule, list[Any]] = {}
    for rule in rules:
        values.setdefault(_with(rule, field, ()), []).extend(getattr(rule, field))
    merged = []
    for key, found in values.items():
        acls_per_value = prod(len(getattr(key, other)) for other in _LISTS if other != field)
        max_values = MAX_ACLS_OF_A_RULE // acls_per_value
        for begin in range(0, len(found), max_values):
            merged.append(_with(key, field, tuple(found[begin : begin + max_values])))
    return merged


def _with(rule: RegroupedRule, field: str, values: tuple[Any, ...]) -> RegroupedRule:
    change: dict[str, Any] = {field: values}
    return rule._replace(**change)
