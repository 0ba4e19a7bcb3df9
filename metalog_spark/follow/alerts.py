"""Alerts about dangerous new grants, storms of denials, and lost or unusable audit lines.

Checks of ``lint`` find dangerous grants. Every other ALLOW for User:* causes an alert, too. This
module must not know Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from typing import Final, NamedTuple

from authorizer.analysis.lint.finding import LintSubject, Severity
from authorizer.analysis.lint.too_open import everyone
from authorizer.analysis.remedies.commands import CommandKind, kafka_acls_command
from authorizer.config import AuthorizerConfig
from authorizer.history.timeline import AclLifetime, Edge
from authorizer.trace import is_allow
from metalog.acl import WILDCARD_PRINCIPAL, Acl
from metalog.text.plurals import counted
from metalog_spark.findings.remedy import TOO_OPEN

WINDOW_MS: Final = 5 * 60 * 1000
STORM: Final = "denied-storm"
LINES_LOST: Final = "lines-lost"
NO_AUDIT: Final = "no-audit-log"
NO_BROKER: Final = "no-broker"
NOTHING: Final = -1
"""The offset of a log that has not been read yet."""
MOST_LISTED: Final = 3
"""An alert describes at most this many lines or files."""

ConfigAt = Callable[[int], AuthorizerConfig]
"""The configuration at a time in milliseconds since 1970."""


class Alert(NamedTuple):
    """``kind`` is the id of a lint check, or a constant such as ``STORM``. ``log_offset`` is the
    offset after the record that added the ACL ``subject``."""

    time_ms: int
    kind: str
    severity: Severity
    principal: str | None
    subject: Acl | None
    message: str
    remedy: str | None = None
    log_offset: int | None = None


class Storm(NamedTuple):
    """The denials of one principal in the window that begins at ``since_ms``. The operation and the
    resource are the most frequent ones in the window's latest batch."""

    since_ms: int
    principal: str
    denied: int
    operation: str
    resource_type: str
    resource_name: str


def of_grants(lifetimes: Iterable[AclLifetime], after: int, config_at: ConfigAt) -> Iterator[Alert]:
    """Alerts about ACLs added at or above the offset ``after``, in the log's order.

    An ACL that is in force under another id is not new. If ``after`` is ``NOTHING``, removed ACLs
    cause no alert.
    """
    lifetimes = list(lifetimes)
    new = [
        lifetime
        for lifetime in lifetimes
        if lifetime.begin is not None and lifetime.begin.at > after
    ]
    by_acl: dict[Acl, list[AclLifetime]] = {each.acl: [] for each in new}
    for each in lifetimes:
        if each.acl in by_acl:
            by_acl[each.acl].append(each)
    came = {
        (each.begin, each.acl)
        for each in new
        if each.begin is not None and not _was_there(each.begin, by_acl[each.acl])
    }
    if after == NOTHING:
        lasting = {lifetime.acl for lifetime in lifetimes if lifetime.end is None}
        last = {acl: begin for begin, acl in sorted(came)}
        came = {(begin, acl) for acl, begin in last.items() if acl in lasting}
    for begin, acl in sorted(came):
        for kind, severity, message in _dangers(acl, config_at(begin.time_ms)):
            remedy = kafka_acls_command(CommandKind.REMOVE, acl)
            yield Alert(
                begin.time_ms, kind, severity, acl.principal, acl, message, remedy, begin.at
            )


def _was_there(begin: Edge, lifetimes: Iterable[AclLifetime]) -> bool:
    return any(
        (lifetime.begin is None or lifetime.begin.at < begin.at)
        and (lifetime.end is None or lifetime.end.at > begin.at)
        for lifetime in lifetimes
    )


def _dangers(acl: Acl, config: AuthorizerConfig) -> Iterator[tuple[str, Severity, str]]:
    subject = LintSubject((acl,), config, date.min)
    findings = [(check.id, finding) for check in TOO_OPEN for finding in check.find(subject)]
    for kind, finding in findings:
        yield kind, finding.severity, finding.message
    if not findings and acl.principal == WILDCARD_PRINCIPAL and is_allow(acl):
        yield everyone.id, Severity.INFO, "every principal may do it"


def of_storm(storm: Storm) -> Alert:
    message = (
        f"was denied {counted(storm.denied, 'time')} within {WINDOW_MS // 60_000} minutes, most"
        f" often {storm.operation} on {storm.resource_type} {storm.resource_name}"
    )
    return Alert(storm.since_ms, STORM, Severity.WARNING, storm.principal, None, message)


def of_lost_lines(time_ms: int, first: Sequence[str], lost: int, *, topic: bool) -> Alert:
    """An alert about lines that Kafka deleted from a topic, or that could not be read in files.

    ``lost`` is the number of lines; a range of deleted offsets counts as one line. ``first``
    describes the first ``MOST_LISTED`` lines.
    """
    advice = (
        "read the topic sooner, or have it keep records longer"
        if topic
        else "put the missing lines into a file with another name"
    )
    message = f"{_listed(first, lost)}; the requests in these lines are unknown: {advice}"
    return Alert(time_ms, LINES_LOST, Severity.ERROR, None, None, message)


def of_no_audit(time_ms: int, files: Sequence[str]) -> Alert:
    """An alert about files without a readable audit line; ``files`` describes them."""
    return Alert(time_ms, NO_AUDIT, Severity.WARNING, None, None, _listed(files, len(files)))


def _listed(texts: Sequence[str], count: int) -> str:
    more = [f"and {count - MOST_LISTED:,} more"] if count > MOST_LISTED else []
    return "; ".join([*texts[:MOST_LISTED], *more])


def of_no_broker(time_ms: int, topic: str, lines: int) -> Alert:
    """An alert about ``lines`` lines whose broker is unknown."""
    message = (
        f"{topic}: lines name no broker ({lines:,} so far), so coverage counts them as one broker"
        " with the topic's name; key the records by broker, or find the broker by"
        " --broker-from in a key, a header (NAME=VALUE) or a field of JSON (host.name=VALUE)"
    )
    return Alert(time_ms, NO_BROKER, Severity.WARNING, None, None, message)
