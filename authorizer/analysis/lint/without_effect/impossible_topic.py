"""An ACL on a name that no topic can have."""

from __future__ import annotations

import re
from collections.abc import Iterator

from authorizer.analysis.lint.finding import Check, Finding, LintSubject, Severity
from metalog.acl import WILDCARD, PatternType, ResourceType

_LONGEST = 249
_ODD = re.compile(r"[^a-zA-Z0-9._-]")


def _find(subject: LintSubject) -> Iterator[Finding]:
    for acl in subject.acls:
        name = acl.resource_name
        if acl.resource_type is ResourceType.TOPIC and not name.endswith(WILDCARD):
            fault = _fault(name, acl.pattern_type is PatternType.LITERAL)
            if fault is not None:
                yield Finding(Severity.ERROR, f"no topic can {fault}", acl, remove=(acl,))


def _fault(name: str, is_whole: bool) -> str | None:
    """Why no topic can have the name, or a name with this prefix; None if one can."""
    if odd := _ODD.search(name):
        return f"have a name with {odd.group()!r} in it"
    if len(name) > _LONGEST:
        return f"have a name of more than {_LONGEST} characters"
    if is_whole and name in ("", ".", ".."):
        return "have this name"
    return None


CHECK = Check("impossible-topic", "An ACL on a name that no topic can have.", _find)
