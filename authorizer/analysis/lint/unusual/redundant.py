"""An ACL that a wider one of the same permission covers.

DESCRIBE beside READ is not redundant here, although READ implies it: ``kafka-acls --producer``
and ``--consumer`` add both, on purpose.
"""

from __future__ import annotations

from collections.abc import Iterator

from authorizer.analysis.access.coverage import Coverage
from authorizer.analysis.lint.finding import Check, Finding, LintSubject, Severity
from authorizer.kafka_version import KafkaVersion
from authorizer.trace import is_allow
from metalog.acl import Acl, Operation
from metalog.hosts.host_block import host_block


def redundant(acls: tuple[Acl, ...], kafka: KafkaVersion) -> Iterator[tuple[Acl, Acl]]:
    """Each redundant ACL, with an ACL that covers it. All redundant ones may be removed at once."""
    for allow in (False, True):
        alike = [acl for acl in acls if is_allow(acl) is allow]
        coverage = Coverage(alike, kafka)
        for acl in alike:
            wider = (Operation.ALL, acl.operation)
            for other in coverage.covering(acl):
                if other.operation in wider and other != acl and not _is_later_spelling(other, acl):
                    yield acl, other
                    break


def _is_later_spelling(one: Acl, other: Acl) -> bool:
    """Whether ``one`` spells the host block of ``other`` later in text order; the first is kept."""
    block = host_block(one.host)
    is_one_block = block is not None and block == host_block(other.host)
    return is_one_block and one.host > other.host


def _find(subject: LintSubject) -> Iterator[Finding]:
    for acl, by in redundant(subject.acls, subject.config.kafka):
        yield Finding(Severity.INFO, "a wider ACL covers it", acl, by=by, remove=(acl,))


CHECK = Check("redundant", "An ACL whose removal changes no answer.", _find)
