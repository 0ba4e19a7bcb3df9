"""All that one principal may do: as patterns, and on the names that there are.

What DENYs take away is taken away: of a pattern whole, where a DENY reaches all its names,
or as an exception that stands beside it. It must not know where names come from.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from authorizer.config import AuthorizerConfig
from authorizer.decide import ALL_OPERATIONS, ALLOWS, DENIES, session
from authorizer.index import AclIndex
from authorizer.insight.coverage import Coverage
from authorizer.insight.hosts import can_be_a_client
from authorizer.trace import is_allow, reaches
from metalog.acl import (
    SUPPORTED_OPERATIONS,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    Acl,
    Operation,
    PatternType,
    ResourceType,
)

Operations = frozenset[Operation]
Names = Mapping[ResourceType, Collection[str]]


class OnPattern(NamedTuple):
    """``acls`` allow ``operations``, implied ones included, on what the pattern reaches,
    except where one of ``exceptions`` (DENYs that reach some of it) denies one of them."""

    resource_type: ResourceType
    pattern_type: PatternType
    name: str
    operations: Operations
    acls: tuple[Acl, ...]
    exceptions: tuple[Acl, ...]


class OnName(NamedTuple):
    """What may be done to one resource, all told."""

    resource_type: ResourceType
    name: str
    operations: Operations


class Access(NamedTuple):
    """From ``host``, or with None from one that no ACL names."""

    host: str | None
    patterns: tuple[OnPattern, ...]
    names: tuple[OnName, ...]


def access(
    acls: Collection[Acl],
    config: AuthorizerConfig,
    principal: str,
    names: Names,
    host: str | None = None,
) -> list[Access]:
    """Without a ``host`` for one that no ACL names; and for each that is named what differs:
    a pattern or name that lost all its operations there has none."""
    index = AclIndex.of(acls)
    mine = {acl for acl in acls if acl.principal in (principal, WILDCARD_PRINCIPAL)}
    general = Access(
        host,
        tuple(_patterns(mine, principal, host)),
        tuple(_names(index, config, principal, host, names)),
    )
    if host is not None:
        return [general]
    hosts = sorted(each for each in {acl.host for acl in mine} if can_be_a_client(each))
    there = [_differing(general, index, config, mine, principal, named, names) for named in hosts]
    return [general, *(each for each in there if each.patterns or each.names)]


def _differing(
    general: Access,
    index: AclIndex,
    config: AuthorizerConfig,
    mine: Collection[Acl],
    principal: str,
    host: str,
    names: Names,
) -> Access:
    here = {each[:3]: each for each in _patterns(mine, principal, host)}
    before = {each[:3]: each for each in general.patterns}
    patterns = [each for key, each in here.items() if before.get(key) != each]
    patterns += [
        each._replace(operations=frozenset(), acls=(), exceptions=())
        for key, each in before.items()
        if key not in here
    ]
    only_here = [acl for acl in mine if acl.host == host]
    touched = {
        kind: [name for name in known if any(reaches(acl, kind, name) for acl in only_here)]
        for kind, known in names.items()
    }
    known_before = {each[:2]: each.operations for each in general.names}
    changed = [
        each
        for each in _names(index, config, principal, host, touched, empty=True)
        if each.operations != known_before.get(each[:2], frozenset())
    ]
    return Access(host, tuple(sorted(patterns, key=_order)), tuple(changed))


def _patterns(mine: Collection[Acl], principal: str, host: str | None) -> list[OnPattern]:
    who = session(WILDCARD if host is None else host, principal)
    meant = [acl for acl in mine if who.is_meant_by(acl)]
    denies = sorted(acl for acl in meant if not is_allow(acl))
    coverage = Coverage(denies)
    by_pattern: dict[tuple[ResourceType, PatternType, str], list[Acl]] = {}
    for acl in meant:
        if is_allow(acl):
            pattern = acl.resource_type, acl.pattern_type, acl.resource_name
            by_pattern.setdefault(pattern, []).append(acl)
    found = []
    for pattern, allows in by_pattern.items():
        probe = allows[0]._replace(principal=principal, host=WILDCARD if host is None else host)
        left = 0
        for acl in allows:
            left |= ALLOWS[acl.operation]
        for deny in coverage.covering(probe):
            left &= ~DENIES[deny.operation]
        operations = _operations(left, probe.resource_type)
        if operations:
            cut = tuple(deny for deny in denies if DENIES[deny.operation] & left)
            exceptions = tuple(deny for deny in cut if meet(deny, probe))
            found.append(OnPattern(*pattern, operations, tuple(sorted(allows)), exceptions))
    return sorted(found, key=_order)


def _order(on: OnPattern) -> tuple[ResourceType, str, PatternType]:
    return on.resource_type, on.name, on.pattern_type


def _names(
    index: AclIndex,
    config: AuthorizerConfig,
    principal: str,
    host: str | None,
    names: Names,
    *,
    empty: bool = False,
) -> Iterable[OnName]:
    who = session(WILDCARD if host is None else host, principal)
    for resource_type, known in names.items():
        for name in sorted(known):
            allowed = denied = 0
            reached = False
            for bucket in index.reaching(resource_type, name):
                reached = True
                more_allowed, more_denied = bucket.masks(who)
                allowed |= more_allowed
                denied |= more_denied
            if config.allow_everyone and not reached:
                allowed = ALL_OPERATIONS
            operations = _operations(allowed & ~denied, resource_type)
            if operations or empty:
                yield OnName(resource_type, name, operations)


def _operations(mask: int, resource_type: ResourceType) -> Operations:
    """Those that Kafka ever asks for on such a resource."""
    supported = SUPPORTED_OPERATIONS.get(resource_type, frozenset())
    return frozenset(each for each in supported if mask >> each & 1)


def meet(one: Acl, other: Acl) -> bool:
    """Whether some name is reached by both."""
    kind = other.resource_type
    if one.resource_type is not kind:
        return False
    for acl, against in ((one, other), (other, one)):
        if acl.pattern_type is PatternType.LITERAL:
            if reaches(against, kind, acl.resource_name):
                return True
            if acl.resource_name != WILDCARD:
                return False
    prefixes = [acl.resource_name for acl in (one, other) if _is_prefix(acl)]
    if len(prefixes) == 1:
        return not prefixes[0].startswith(WILDCARD)
    return prefixes[0].startswith(prefixes[1]) or prefixes[1].startswith(prefixes[0])


def _is_prefix(acl: Acl) -> bool:
    return acl.pattern_type is not PatternType.LITERAL
