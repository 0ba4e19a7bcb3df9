"""Finds ACLs that have several ids in a log, or that files list several times."""

from __future__ import annotations

from collections.abc import Iterator

from authorizer.analysis.lint.finding import Check, Finding, LintSubject, Severity
from metalog.text.plurals import counted


def _find(subject: LintSubject) -> Iterator[Finding]:
    for acl, times in subject.times.items():
        if subject.is_log:
            yield Finding(
                Severity.ERROR,
                f"it has {counted(times, 'id')}, and Kafka's authorizer refuses "
                "a snapshot that holds an ACL twice",
                acl,
                remove=(acl,),
                advice="remove it, which removes all its ids, and add it again at once",
            )
        else:
            yield Finding(Severity.INFO, f"it is listed in {counted(times, 'place')}", acl)


CHECK = Check("bound-twice", "The same ACL exists more than once.", _find)
