"""Finds the cached decisions of a session that stay valid after a change of ACLs.

This module must not know how a decision is made.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from authorizer.engine.decide import Verdicts
from metalog.acl import WILDCARD, Acl, PatternType

_MOST_KEPT: Final = 1 << 12
"""With more cached names of a resource type, a change drops all of them: a scan would take longer
than new decisions."""


def without_matched(verdicts: dict[str, Verdicts], acls: Iterable[Acl]) -> dict[str, Verdicts]:
    """``verdicts`` without those that ``acls`` can affect."""
    kept = verdicts.copy() if len(verdicts) <= _MOST_KEPT else {}
    for acl in acls:
        pattern_name = acl.resource_name
        if acl.pattern_type is not PatternType.LITERAL:
            kept = {name: kept[name] for name in kept if not name.startswith(pattern_name)}
        elif pattern_name == WILDCARD:
            return {}
        else:
            kept.pop(pattern_name, None)
    return kept
