"""A ``*`` at the end of a name, which is a plain character there."""

from __future__ import annotations

from collections.abc import Iterator

from authorizer.analysis.lint.finding import Check, Finding, LintSubject, Severity
from metalog.acl import WILDCARD, Acl, PatternType, ResourceType


def _find(subject: LintSubject) -> Iterator[Finding]:
    for acl in subject.acls:
        if not acl.resource_name.endswith(WILDCARD):
            continue
        mended = _mended(acl)
        if mended is not None:
            is_topic = acl.resource_type is ResourceType.TOPIC
            yield Finding(
                Severity.ERROR if is_topic else Severity.WARNING,
                "its * is a plain character"
                + (", which no topic's name can hold" if is_topic else ""),
                acl,
                remove=(acl,),
                add=(mended,),
            )


def _mended(acl: Acl) -> Acl | None:
    starless = acl.resource_name.rstrip(WILDCARD)
    if starless:
        return acl._replace(resource_name=starless, pattern_type=PatternType.PREFIXED)
    if acl.pattern_type is PatternType.LITERAL and acl.resource_name == WILDCARD:
        return None
    return acl._replace(resource_name=WILDCARD, pattern_type=PatternType.LITERAL)


CHECK = Check("star-in-name", "A * where it is not a wildcard.", _find)
