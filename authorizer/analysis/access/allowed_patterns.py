"""Finds the patterns on which a principal is allowed an operation, with the DENYs as exceptions.

No look-up scans all patterns or all DENYs. This module must not know the existing names, nor the
principal.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Final, NamedTuple

from authorizer.analysis.access.host_regions import HostRegion
from authorizer.engine.decide import ALLOWS, DENIES, subject
from authorizer.engine.prefixes import Prefix, SortedNames, combined, with_shorter
from authorizer.kafka_version import KafkaVersion
from authorizer.trace import is_allow
from metalog.acl import SUPPORTED_OPERATIONS, WILDCARD, Acl, Operation, PatternType, ResourceType

Operations = frozenset[Operation]
_LITERAL: Final = PatternType.LITERAL
_Pattern = tuple[ResourceType, PatternType, str]
_Span = tuple[int, int]
_DenyRange = tuple[int, _Span]
"""A mask of operations, and a range in the list of the DENYs with this mask."""


class PatternAccess(NamedTuple):
    """A pattern on which ``acls`` allow ``operations``, including implied operations.

    ``exceptions`` has the DENYs that deny one of ``operations`` on some names of the pattern.
    """

    resource_type: ResourceType
    pattern_type: PatternType
    name: str
    operations: Operations
    acls: tuple[Acl, ...]
    exceptions: tuple[Acl, ...]


class NamesInOrder:
    """Names that can be looked up by prefix; ``names`` must be sorted, without duplicates."""

    def __init__(self, names: list[str]) -> None:
        self._names = names

    def reached_by(self, acl: Acl) -> list[str]:
        name = acl.resource_name
        if acl.pattern_type is _LITERAL and name != WILDCARD:
            at = bisect_left(self._names, name)
            return [name] if self._names[at : at + 1] == [name] else []
        return [
            each
            for start, end in _matched_ranges(self._names, acl)
            for each in self._names[start:end]
        ]


def _matched_ranges(names: list[str], pattern: Acl | PatternAccess) -> list[_Span]:
    """The ranges of the sorted ``names`` that ``pattern``, a prefix or ``*``, matches."""
    name = pattern.resource_name if isinstance(pattern, Acl) else pattern.name
    if pattern.pattern_type is not _LITERAL:
        return [_beginning_with(names, name)]
    start, end = _beginning_with(names, WILDCARD)
    longer = bisect_left(names, f"{WILDCARD}\0", start, end)
    return [(0, longer), (end, len(names))]


def _beginning_with(names: list[str], start: str) -> _Span:
    first = bisect_left(names, start)
    end = bisect_left(names, True, first, key=lambda name: not name.startswith(start))
    return first, end


class _Denies:
    def __init__(self) -> None:
        self._literals: dict[str, int] = {}
        self._prefixes: dict[str, int] = {}
        self._by_mask: dict[int, list[Acl]] = {}

    def add(self, acl: Acl) -> None:
        """The caller must add the DENYs in sorted order."""
        mask = DENIES[acl.operation]
        masks = self._literals if acl.pattern_type is _LITERAL else self._prefixes
        masks[acl.resource_name] = masks.get(acl.resource_name, 0) | mask
        self._by_mask.setdefault(mask, []).append(acl)

    @cached_property
    def _sorted_prefixes(self) -> SortedNames:
        return SortedNames.of(sorted(self._prefixes))

    @cached_property
    def _mask_by_prefix(self) -> dict[Prefix | None, int]:
        return {None: 0}

    @cached_property
    def _names_by_mask(self) -> dict[int, list[str]]:
        listed = self._by_mask.items()
        return {mask: [acl.resource_name for acl in acls] for mask, acls in listed}

    def on_all(self, pattern_type: PatternType, name: str) -> int:
        """The operations, as bits, that are denied on all names of a pattern."""
        is_literal = pattern_type is _LITERAL
        denied = self._literals.get(name, 0) if is_literal else 0
        if is_literal and name == WILDCARD:
            return denied | self._prefixes.get("", 0)
        denied |= combined(
            self._sorted_prefixes.longest_prefix(name),
            self._mask_by_prefix,
            lambda mask, prefix: mask | self._prefixes[prefix.name],
        )
        if not name.startswith(WILDCARD) and (name or is_literal):
            denied |= self._literals.get(WILDCARD, 0)
        return denied

    def on_some(self, on: PatternAccess, left: int) -> tuple[_DenyRange, ...]:
        """The ranges of DENYs that deny an operation of ``left`` (bits) on some names of ``on``."""
        if on.pattern_type is _LITERAL and on.name != WILDCARD:
            return ()
        return tuple(
            (mask, span)
            for mask, names in self._names_by_mask.items()
            if mask & left
            for span in _matched_ranges(names, on)
            if span[0] < span[1]
        )

    def in_ranges(self, ranges: Iterable[_DenyRange]) -> Iterator[Acl]:
        for mask, (start, end) in ranges:
            yield from self._by_mask[mask][start:end]


class _Alike:
    """The patterns of one resource type on which the DENYs leave the same operations."""

    def __init__(self, patterns: Iterable[_Pattern]) -> None:
        self._patterns: dict[tuple[bool, str], list[_Pattern]] = {}
        for pattern in patterns:
            self._patterns.setdefault((pattern[1] is _LITERAL, pattern[2]), []).append(pattern)
        literals, prefixes = (
            sorted(name for is_literal, name in self._patterns if is_literal is wanted)
            for wanted in (True, False)
        )
        self._literals, self._prefixes_in_order = NamesInOrder(literals), NamesInOrder(prefixes)
        self._prefixes = SortedNames.of(prefixes)

    def met_by(self, deny: Acl) -> Iterator[_Pattern]:
        """All patterns that overlap ``deny``, and possibly other patterns."""
        shorter = with_shorter(self._prefixes.longest_prefix(deny.resource_name))
        prefixed = {prefix.name for prefix in shorter}
        prefixed.update(self._prefixes_in_order.reached_by(deny))
        for name in {WILDCARD, *self._literals.reached_by(deny)}:
            yield from self._patterns.get((True, name), ())
        for name in prefixed:
            yield from self._patterns[False, name]


class AllowedPatterns:
    """The permissions in the ACLs of one principal, by pattern."""

    def __init__(self, acls: Iterable[Acl], kafka: KafkaVersion) -> None:
        self._kafka = kafka
        self._allows: dict[_Pattern, dict[str, list[Acl]]] = {}
        self._denies: dict[tuple[str, ResourceType], _Denies] = {}
        for acl in sorted(acls):
            if is_allow(acl):
                by_host = self._allows.setdefault(_pattern_of(acl), {})
                by_host.setdefault(acl.host, []).append(acl)
            else:
                key = acl.host, acl.resource_type
                self._denies.setdefault(key, _Denies()).add(acl)
        self._from: dict[str | None, dict[_Pattern, PatternAccess | None]] = {None: {}}
        self._exceptions: dict[tuple[object, ...], tuple[Acl, ...]] = {}

    def from_host(self, host: str | None) -> list[PatternAccess]:
        """The patterns with an allowed operation from ``host``; None: a host that no ACL names."""
        self._general: dict[_Pattern, PatternAccess] = {}
        self._alike: dict[ResourceType, dict[int, _Alike]] = {}
        alike: dict[tuple[ResourceType, int], list[_Pattern]] = {}
        hosts = self._hosts_matching(WILDCARD if host is None else host)
        for pattern in self._allows:
            left, on = self._access_on(pattern, hosts)
            if on is not None:
                self._general[pattern] = on
                alike.setdefault((pattern[0], left), []).append(pattern)
        for (kind, left), patterns in alike.items():
            self._alike.setdefault(kind, {})[left] = _Alike(patterns)
        return sorted(self._general.values(), key=_order)

    def _hosts_matching(self, client: str) -> list[str]:
        who = subject(client, kafka=self._kafka)
        named = {host for by_host in self._allows.values() for host in by_host}
        named.update(host for host, _ in self._denies)
        return sorted(filter(who.comes_from, {WILDCARD, *named}))

    def differing(self, region: HostRegion, matching: Iterable[Acl]) -> list[PatternAccess]:
        """The patterns whose permissions differ between ``region`` and the next wider region.

        ``matching`` has the ACLs for ``region.matching``. Call ``from_host(None)`` first, and then
        this method for wide regions before narrow regions.
        """
        touched: set[_Pattern] = set()
        for acl in matching:
            if is_allow(acl):
                touched.add(_pattern_of(acl))
                continue
            for left, alike in self._alike.get(acl.resource_type, {}).items():
                if DENIES[acl.operation] & left:
                    touched.update(alike.met_by(acl))
        found = []
        around = self._from[region.around]
        from_here = self._from[region.host] = {}
        hosts = [WILDCARD, *sorted(region.matching)]
        for pattern in touched:
            before = around[pattern] if pattern in around else self._general.get(pattern)
            _, here = self._access_on(pattern, hosts)
            from_here[pattern] = here
            if here is None and before is not None:
                found.append(before._replace(operations=frozenset(), acls=(), exceptions=()))
            elif here is not None and here != before:
                found.append(here)
        return sorted(found, key=_order)

    def _access_on(
        self, pattern: _Pattern, hosts: Iterable[str]
    ) -> tuple[int, PatternAccess | None]:
        """The checked operations, as bits, that ACLs for ``hosts`` allow on names of ``pattern``.

        The second item is the ``PatternAccess``; None without such operations.
        """
        kind, pattern_type, name = pattern
        by_host = self._allows[pattern]
        allows = sorted(acl for each in hosts for acl in by_host.get(each, ()))
        denies = [self._denies[each, kind] for each in hosts if (each, kind) in self._denies]
        left = 0
        for acl in allows:
            left |= ALLOWS[acl.operation]
        for each in denies:
            left &= ~each.on_all(pattern_type, name)
        operations = operations_of(left, kind)
        left = sum(1 << each for each in operations)
        if not operations:
            return left, None
        on = PatternAccess(*pattern, operations, tuple(allows), ())
        return left, on._replace(exceptions=self._exceptions_of(on, left, denies))

    def _exceptions_of(
        self, on: PatternAccess, left: int, denies: Iterable[_Denies]
    ) -> tuple[Acl, ...]:
        """Patterns with equal exceptions share one tuple."""
        by_host = [(each, each.on_some(on, left)) for each in denies]
        key = tuple((id(each), ranges) for each, ranges in by_host if ranges)
        found = self._exceptions.get(key)
        if found is None:
            exceptions = sorted(acl for each, ranges in by_host for acl in each.in_ranges(ranges))
            found = self._exceptions[key] = tuple(exceptions)
        return found


def operations_of(mask: int, resource_type: ResourceType) -> Operations:
    """The operations of ``mask`` that Kafka checks on this resource type."""
    supported = SUPPORTED_OPERATIONS.get(resource_type, frozenset())
    return frozenset(each for each in supported if mask >> each & 1)


def _pattern_of(acl: Acl) -> _Pattern:
    return acl.resource_type, acl.pattern_type, acl.resource_name


def _order(on: PatternAccess) -> tuple[ResourceType, str, PatternType]:
    return on.resource_type, on.name, on.pattern_type
