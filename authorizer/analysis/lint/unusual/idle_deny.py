"""A DENY that overrides no ALLOW."""

from __future__ import annotations

from collections.abc import Iterator

from authorizer.analysis.access.coverage import Allowed
from authorizer.analysis.lint.finding import Check, CheckInput, Finding, LintSubject, Severity
from authorizer.kafka_version import KafkaVersion
from authorizer.trace import is_allow
from metalog.acl import Acl


def idle(acls: tuple[Acl, ...], kafka: KafkaVersion) -> Iterator[Acl]:
    """The DENYs whose removal changes no answer, if the default is to deny."""
    denies = [acl for acl in acls if not is_allow(acl)]
    allowed = Allowed((acl for acl in acls if is_allow(acl)), denies, kafka)
    for deny in denies:
        if not allowed.meet(deny):
            yield deny


def _find(subject: LintSubject) -> Iterator[Finding]:
    for acl in idle(subject.acls, subject.config.kafka):
        yield Finding(
            Severity.INFO,
            "no ALLOW allows a request that it denies: a typo, or a precaution",
            acl,
            remove=(acl,),
        )


CHECK = Check("idle-deny", "A DENY that overrides no ALLOW.", _find, CheckInput.CLOSED)
