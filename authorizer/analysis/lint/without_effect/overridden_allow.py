"""An ALLOW that DENYs override completely."""

from __future__ import annotations

from collections.abc import Iterator

from authorizer.analysis.access.coverage import Coverage
from authorizer.analysis.lint.finding import Check, Finding, LintSubject, Severity
from authorizer.engine.decide import ALLOWS, DENIES
from authorizer.kafka_version import KafkaVersion
from authorizer.trace import is_allow
from metalog.acl import Acl


def overridden(acls: tuple[Acl, ...], kafka: KafkaVersion) -> Iterator[tuple[Acl, Acl]]:
    """Each ALLOW that never allows, with a DENY over it."""
    denies = [acl for acl in acls if not is_allow(acl)]
    if not denies:
        return
    coverage = Coverage(denies, kafka)
    for acl in acls:
        if is_allow(acl):
            left = ALLOWS[acl.operation]
            for deny in coverage.covering(acl):
                left &= ~DENIES[deny.operation]
                if not left:
                    yield acl, deny
                    break


def _find(subject: LintSubject) -> Iterator[Finding]:
    for acl, deny in overridden(subject.acls, subject.config.kafka):
        yield Finding(Severity.WARNING, "a DENY overrides all of it", acl, by=deny, remove=(acl,))


CHECK = Check("overridden-allow", "An ALLOW that never allows anything.", _find)
