"""Finds names that gain their first or lose their last ACL, for ``allow.everyone.if.no.acl.found``.

With this setting, Kafka allows everybody everything on a name without ACLs. The first ACL on the
name, even a DENY, ends this access, and the removal of the last ACL restores it. This module must
not know decisions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from authorizer.analysis.cells.names import ALL_NAMES, NamePattern, Patterns, classes
from metalog.acl import WILDCARD, Acl, PatternType
from metalog.grouping import grouped

_NONE: Final = Patterns(())


def without_cover(changed: Iterable[Acl], acls: Iterable[Acl]) -> Iterator[Acl]:
    """One ACL in ``changed`` for each pattern that matches a name without an ACL in ``acls``.

    ``changed`` has the added or the removed ACLs. ``acls`` has all other ACLs.
    """
    by_kind = grouped(acls, lambda acl: acl.resource_type)
    others = {kind: Patterns.of(known) for kind, known in by_kind.items()}
    seen = set()
    for acl in changed:
        kind = acl.resource_type
        pattern = NamePattern(acl.resource_name, acl.pattern_type is PatternType.LITERAL)
        if (kind, pattern) not in seen and _has_own(pattern, others.get(kind, _NONE)):
            yield acl
        seen.add((kind, pattern))


def _has_own(pattern: NamePattern, others: Patterns) -> bool:
    own = Patterns([pattern])
    names = classes((), ALL_NAMES if pattern == (WILDCARD, True) else pattern)
    return not all(map(others.reaches, filter(own.reaches, names)))
