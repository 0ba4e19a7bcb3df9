"""Finds ACLs that cover another ACL completely, and ACLs that overlap.

The cost of a look-up hardly grows with the number of ACLs. This module must not know what its
results are used for.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import product

from authorizer.analysis.access.host_regions import MeetingHosts
from authorizer.engine.decide import ALLOWS, DENIES
from authorizer.engine.prefixes import Prefix, SortedNames, combined
from authorizer.kafka_version import KafkaVersion
from authorizer.trace import reaches
from metalog.acl import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    Acl,
    Operation,
    PatternType,
    ResourceType,
    is_wildcard,
)

_LITERAL = PatternType.LITERAL

FEW = 16
"""A group of at most this many ACLs is scanned; a larger group is indexed by name."""

_GroupKey = tuple[ResourceType, str, str]
"""The resource type, the principal and the host of a group's ACLs."""


class Coverage:
    """Finds the ACLs that cover an ACL."""

    def __init__(self, acls: Iterable[Acl], kafka: KafkaVersion) -> None:
        self._groups: dict[_GroupKey, list[Acl]] = {}
        listed = list(acls)
        self._hosts = MeetingHosts((acl.host for acl in listed), kafka)
        for acl in listed:
            key = acl.resource_type, acl.principal, acl.host
            self._groups.setdefault(key, []).append(acl)
        self._many = {key: _Many(group) for key, group in self._groups.items() if len(group) > FEW}

    def covering(self, acl: Acl) -> Iterator[Acl]:
        """ACLs that match all names, principals and hosts of ``acl``, possibly ``acl`` itself.

        All such ACLs with an equal pattern are included. ACLs with wider patterns can be left out,
        but at least one for each operation is included.
        """
        kind = acl.resource_type
        principals = {acl.principal, WILDCARD_PRINCIPAL}
        hosts = {acl.host, WILDCARD, *self._hosts.around(acl.host)}
        for principal, host in product(principals, hosts):
            key = kind, principal, host
            if key in self._many:
                yield from self._many[key].above(acl)
            elif key in self._groups:
                yield from (each for each in self._groups[key] if _reaches_all(each, acl))


class _Many:
    """A large group. ``_nearest`` has, for each prefix and operation, the ACL with the longest
    prefix that matches."""

    def __init__(self, acls: Iterable[Acl]) -> None:
        self._literals: dict[str, list[Acl]] = {}
        self._prefixed: dict[str, list[Acl]] = {}
        for acl in acls:
            names = self._literals if acl.pattern_type is _LITERAL else self._prefixed
            names.setdefault(acl.resource_name, []).append(acl)
        self._names = SortedNames.of(sorted(self._prefixed))
        self._nearest: dict[Prefix | None, dict[Operation, Acl]] = {None: {}}

    def above(self, acl: Acl) -> Iterator[Acl]:
        """ACLs that match all names of ``acl``, selected as in ``Coverage.covering``."""
        name, is_literal = acl.resource_name, acl.pattern_type is _LITERAL
        if is_literal:
            yield from self._literals.get(name, ())
        if is_literal and name == WILDCARD:
            yield from self._prefixed.get("", ())
            return
        prefix = self._names.longest_prefix(name)
        if prefix is not None and prefix.name == name:
            yield from self._prefixed[name]
            prefix = prefix.shorter
        yield from combined(prefix, self._nearest, self._with_own).values()
        if not name.startswith(WILDCARD) and (name or is_literal):
            yield from self._literals.get(WILDCARD, ())

    def _with_own(self, shorter: dict[Operation, Acl], prefix: Prefix) -> dict[Operation, Acl]:
        return shorter | {acl.operation: acl for acl in self._prefixed[prefix.name]}


def _reaches_all(wide: Acl, acl: Acl) -> bool:
    name, is_literal = acl.resource_name, acl.pattern_type is _LITERAL
    if wide.pattern_type is not _LITERAL:
        is_wildcard = is_literal and name == WILDCARD
        return not wide.resource_name if is_wildcard else name.startswith(wide.resource_name)
    if is_literal and wide.resource_name == name:
        return True
    is_plain = not name.startswith(WILDCARD) and bool(name or is_literal)
    return wide.resource_name == WILDCARD and is_plain


def meet(one: Acl, other: Acl) -> bool:
    """Whether a name exists that both patterns match."""
    kind = other.resource_type
    if one.resource_type is not kind:
        return False
    for acl, against in ((one, other), (other, one)):
        if acl.pattern_type is _LITERAL:
            if reaches(against, kind, acl.resource_name):
                return True
            if acl.resource_name != WILDCARD:
                return False
    prefixes = [acl.resource_name for acl in (one, other) if acl.pattern_type is not _LITERAL]
    if len(prefixes) == 1:
        return not prefixes[0].startswith(WILDCARD)
    return prefixes[0].startswith(prefixes[1]) or prefixes[1].startswith(prefixes[0])


class _Names:
    """The names of some patterns. Add all names to ``known`` before the first look-up."""

    def __init__(self) -> None:
        self.known: set[str] = set()

    @cached_property
    def order(self) -> list[str]:
        return sorted(self.known)

    @cached_property
    def _prefixes(self) -> SortedNames:
        return SortedNames.of(self.order)

    def has_prefix_of(self, name: str) -> bool:
        return self._prefixes.longest_prefix(name) is not None

    def any_begins_with(self, start: str) -> bool:
        at = bisect_left(self.order, start)
        return at < len(self.order) and self.order[at].startswith(start)

    @property
    def any_met_by_wildcard(self) -> bool:
        """Whether LITERAL ``*`` matches one of the names."""
        if not self.known:
            return False
        # the names are sorted: all begin with * if the first and the last do
        ends = self.order[0], self.order[-1]
        return WILDCARD in self.known or not all(each.startswith(WILDCARD) for each in ends)


class _PatternsByType:
    def __init__(self) -> None:
        self.literals = _Names()
        self.prefixed = _Names()

    def of(self, pattern_type: PatternType) -> _Names:
        return self.literals if pattern_type is _LITERAL else self.prefixed

    def meets(self, acl: Acl) -> bool:
        name = acl.resource_name
        if is_wildcard(acl):
            return self.literals.any_met_by_wildcard or self.prefixed.any_met_by_wildcard
        if WILDCARD in self.literals.known and not name.startswith(WILDCARD):
            return True
        if self.prefixed.has_prefix_of(name):
            return True
        if acl.pattern_type is _LITERAL:
            return name in self.literals.known
        return self.literals.any_begins_with(name) or self.prefixed.any_begins_with(name)


class MatchedNames:
    """The names that ``acls`` match."""

    def __init__(self, acls: Iterable[Acl]) -> None:
        self._patterns: dict[ResourceType, _PatternsByType] = {}
        for acl in acls:
            patterns = self._patterns.setdefault(acl.resource_type, _PatternsByType())
            patterns.of(acl.pattern_type).known.add(acl.resource_name)

    def meets(self, acl: Acl) -> bool:
        """Whether ``acl`` matches one of the names."""
        patterns = self._patterns.get(acl.resource_type)
        return patterns is not None and patterns.meets(acl)


_Key = tuple[ResourceType, str | None, str | None]
"""A resource type, a principal and a host; None means all principals, or all hosts."""


class Allowed:
    """The requests that one of ``allows`` matches."""

    def __init__(self, allows: Iterable[Acl], denies: Iterable[Acl], kafka: KafkaVersion) -> None:
        allowing, denying = list(allows), list(denies)
        self._hosts = MeetingHosts((acl.host for acl in (*allowing, *denying)), kafka)
        denied_keys = {key for deny in denying for key in self._keys(deny)}
        self._granted: dict[_Key, dict[int, _PatternsByType]] = {}
        for acl in allowing:
            mask = ALLOWS[acl.operation]
            for principal in (acl.principal, None):
                for host in (acl.host, None):
                    key = acl.resource_type, principal, host
                    if key in denied_keys:
                        self._grant(key, mask).of(acl.pattern_type).known.add(acl.resource_name)

    def meet(self, deny: Acl) -> bool:
        """Whether ``deny`` and an ALLOW match a common request. ``deny`` must be in ``denies``."""
        mask = DENIES[deny.operation]
        return any(
            allowed & mask and granted.meets(deny)
            for key in self._keys(deny)
            for allowed, granted in self._granted.get(key, {}).items()
        )

    def _grant(self, key: _Key, mask: int) -> _PatternsByType:
        by_mask = self._granted.setdefault(key, {})
        if mask not in by_mask:
            by_mask[mask] = _PatternsByType()
        return by_mask[mask]

    def _keys(self, deny: Acl) -> list[_Key]:
        """The keys of the ALLOWs whose principal and host overlap those of ``deny``."""
        principals: list[str | None] = [deny.principal, WILDCARD_PRINCIPAL]
        hosts: list[str | None] = [*self._hosts.meeting(deny.host), WILDCARD]
        if deny.principal == WILDCARD_PRINCIPAL:
            principals = [None]
        if deny.host == WILDCARD:
            hosts = [None]
        return [(deny.resource_type, *who) for who in product(principals, hosts)]
