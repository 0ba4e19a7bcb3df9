"""A principal of another type than User."""

from __future__ import annotations

from collections.abc import Iterator

from authorizer.analysis.lint.finding import Check, Finding, LintSubject, Severity

_USER = "user"


def _find(subject: LintSubject) -> Iterator[Finding]:
    reported = set()
    for acl in subject.acls:
        kind, colon, _ = acl.principal.partition(":")
        if colon and kind.strip().casefold() != _USER and acl.principal not in reported:
            reported.add(acl.principal)
            yield Finding(
                Severity.INFO,
                f"Kafka itself names clients User:… only; {acl.principal} needs a "
                "principal.builder.class that makes it",
                acl,
            )


CHECK = Check("principal-type", "A principal of another type than User.", _find)
