"""Single ACLs back into rules with lists: what differs in one place only becomes one rule.

First operations, then hosts, then resource names, in the order of exports, so that equal
sets of ACLs always give equal rules. This module must not know how a rule is written.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from metalog.acl import Operation, PatternType, PermissionType, ResourceType
from snapshot.exchange.formats.document import Entry, Notes, in_order


class Rule(NamedTuple):
    """Every combination of one name, one host and one operation is an ACL."""

    resource_type: ResourceType
    names: tuple[str, ...]
    pattern_type: PatternType
    principal: str
    hosts: tuple[str, ...]
    operations: tuple[Operation, ...]
    permission_type: PermissionType
    notes: Notes


def regrouped(entries: Iterable[Entry]) -> list[Rule]:
    """The rules that mean exactly ``entries``."""
    rules = [
        Rule(
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
    for field in ("operations", "hosts", "names"):
        rules = _merged(rules, field)
    return rules


def _merged(rules: list[Rule], field: str) -> list[Rule]:
    """Rules that differ in ``field`` only as one, where the first of them stands."""
    values: dict[Rule, tuple[Any, ...]] = {}
    for rule in rules:
        key = _with(rule, field, ())
        values[key] = (*values.get(key, ()), *getattr(rule, field))
    return [_with(key, field, found) for key, found in values.items()]


def _with(rule: Rule, field: str, values: tuple[Any, ...]) -> Rule:
    change: dict[str, Any] = {field: values}
    return rule._replace(**change)
