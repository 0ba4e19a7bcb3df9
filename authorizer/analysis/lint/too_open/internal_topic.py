"""A grant to change Kafka's internal topics."""

from __future__ import annotations

from collections.abc import Iterator

from authorizer.analysis.lint.finding import Check, Finding, LintSubject, Severity
from authorizer.analysis.remedies.powers import internal_topics


def _find(subject: LintSubject) -> Iterator[Finding]:
    for acl in subject.acls:
        if reached := internal_topics(acl):
            yield Finding(
                Severity.ERROR,
                f"it reaches {', '.join(reached)}: Kafka's internal topics",
                acl,
                remove=(acl,),
            )


CHECK = Check("internal-topic", "A principal may change Kafka's internal topics.", _find)
