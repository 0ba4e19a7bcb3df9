"""Checks for ACLs that do not do what they were written for."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from datetime import UTC, date, datetime
from itertools import islice, product, takewhile
from typing import Final

from authorizer.analysis.access.coverage import Coverage
from authorizer.analysis.access.hosts import host_kind, meant_block
from authorizer.analysis.explain.kinds import NearMissKind
from authorizer.analysis.lint.finding import CheckInput, Finding, LintSubject, Severity, check
from authorizer.engine.decide import ALLOWS, DENIES
from authorizer.kafka_version import KafkaVersion
from authorizer.trace import is_allow, reaches
from metalog.acl import (
    CLUSTER_NAME,
    SUPPORTED_OPERATIONS,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    Acl,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
    is_wildcard,
)
from metalog.hosts.client_host import java_text
from metalog.hosts.host_block import host_block

_HOST_PROBLEMS = {
    NearMissKind.HOST_TEXT: "its host is an address in a spelling that Java never uses",
    NearMissKind.HOST_BLANK: "its host has blanks around it",
    NearMissKind.HOST_RANGE: "its host is a range that Kafka compares as text",
    NearMissKind.HOST_NAME: "its host is not an IP address",
}
_USER = "User"
_LONGEST_TOPIC_NAME = 249
_NOT_IN_TOPIC_NAMES = re.compile(r"[^a-zA-Z0-9._-]")
_KNOWN_CODES = (
    frozenset(ResourceType) - {ResourceType.UNKNOWN, ResourceType.ANY},
    frozenset({PatternType.LITERAL, PatternType.PREFIXED}),
    frozenset(Operation) - {Operation.UNKNOWN, Operation.ANY},
    frozenset({PermissionType.ALLOW, PermissionType.DENY}),
)
_KNOWN = frozenset(product(*_KNOWN_CODES))
_FIELDS = ("resource type", "pattern type", "operation", "permission")
_TOPICS_TRIED = 1_000


@check("host-form", "A host that equals no client's address.")
def host_form(subject: LintSubject) -> Iterator[Finding]:
    hosts = {acl.host for acl in subject.acls} - {WILDCARD}
    kafka = subject.config.kafka
    kinds = {host: kind for host in hosts if (kind := host_kind(host, None, kafka)) is not None}
    for acl in subject.acls:
        kind = kinds.get(acl.host)
        if kind is not None:
            mended = java_text(acl.host.strip())
            if mended is None and kafka.matches_blocks:
                mended = meant_block(acl.host)
            add = () if mended is None else (acl._replace(host=mended),)
            yield Finding(
                Severity.ERROR,
                f"{_host_problem(acl.host, kind)}, so it matches nobody",
                acl,
                remove=(acl,) if add else (),
                add=add,
                advice="" if add else _host_advice(acl, kind),
            )


def _host_problem(host: str, kind: NearMissKind) -> str:
    if kind is NearMissKind.HOST_RANGE and host_block(host) is not None:
        return "its host is a CIDR block, which Kafka compares as text before 4.4"
    return _HOST_PROBLEMS[kind]


def _host_advice(acl: Acl, kind: NearMissKind) -> str:
    if host_block(acl.host) is not None:
        return "remove it, or see what it will open: metalog lint --for 4.4"
    if kind is NearMissKind.HOST_RANGE:
        return "list each address; or use * and a firewall"
    return "write the address" if kind is NearMissKind.HOST_NAME else ""


@check("principal-form", "A principal that no client of Kafka can have.")
def principal_form(subject: LintSubject) -> Iterator[Finding]:
    principals = {acl.principal for acl in subject.acls}
    faults = {principal: _principal_fault(principal) for principal in principals}
    for acl in subject.acls:
        fault = faults[acl.principal]
        if fault is not None:
            problem, mended = fault
            add = () if mended is None else (acl._replace(principal=mended),)
            yield Finding(Severity.ERROR, problem, acl, remove=(acl,) if add else (), add=add)


def _principal_fault(principal: str) -> tuple[str, str | None] | None:
    """The fault, and the probably meant principal."""
    kind, colon, name = principal.partition(":")
    if not colon:
        return "its principal has no type, so it matches nobody", f"{_USER}:{principal}"
    if kind != _USER and kind.strip().casefold() == _USER.casefold():
        return "its principal's type is not spelled User, so it matches nobody", f"{_USER}:{name}"
    return None if principal == WILDCARD_PRINCIPAL else _name_fault(kind, name)


def _name_fault(kind: str, name: str) -> tuple[str, str | None] | None:
    if not name.strip():
        return "its principal has no name, so it matches nobody", None
    if name == WILDCARD:
        return f"only {WILDCARD_PRINCIPAL} means everyone; here * is a plain character", None
    if name.endswith(WILDCARD):
        return "the * in its principal is a plain character; name each principal", None
    if name != name.strip():
        return "its principal has blanks around its name", f"{kind}:{name.strip()}"
    return None


@check("star-in-name", "A * where it is not a wildcard.")
def star_in_name(subject: LintSubject) -> Iterator[Finding]:
    for acl in subject.acls:
        if not acl.resource_name.endswith(WILDCARD):
            continue
        mended = _as_meant(acl)
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


def _as_meant(acl: Acl) -> Acl | None:
    starless = acl.resource_name.rstrip(WILDCARD)
    if starless:
        return acl._replace(resource_name=starless, pattern_type=PatternType.PREFIXED)
    if is_wildcard(acl):
        return None
    return acl._replace(resource_name=WILDCARD, pattern_type=PatternType.LITERAL)


@check("impossible-topic", "An ACL on a name that no topic can have.")
def impossible_topic(subject: LintSubject) -> Iterator[Finding]:
    for acl in subject.acls:
        name = acl.resource_name
        if acl.resource_type is ResourceType.TOPIC and not name.endswith(WILDCARD):
            fault = _topic_fault(name, acl.pattern_type is PatternType.LITERAL)
            if fault is not None:
                yield Finding(Severity.ERROR, f"no topic can {fault}", acl, remove=(acl,))


def _topic_fault(name: str, is_whole: bool) -> str | None:
    """Why no topic can have the name or prefix; None if a topic can."""
    if odd := _NOT_IN_TOPIC_NAMES.search(name):
        return f"have a name with {odd.group()!r} in it"
    if len(name) > _LONGEST_TOPIC_NAME:
        return f"have a name of more than {_LONGEST_TOPIC_NAME} characters"
    if is_whole and name in ("", ".", ".."):
        return "have this name"
    return None


@check("cluster-name", "An ACL on a cluster that is not kafka-cluster.")
def cluster_name(subject: LintSubject) -> Iterator[Finding]:
    for acl in subject.acls:
        if acl.resource_type is ResourceType.CLUSTER and not reaches(
            acl, ResourceType.CLUSTER, CLUSTER_NAME
        ):
            mended = acl._replace(resource_name=CLUSTER_NAME, pattern_type=PatternType.LITERAL)
            yield Finding(
                Severity.ERROR,
                f"the cluster's only name is {CLUSTER_NAME}, so this ACL matches nothing",
                acl,
                remove=(acl,),
                add=(mended,),
                advice="kafka-acls cannot remove it; metalog apply --prune can",
            )


@check("unknown-code", "An ACL with a code that Kafka 4.3 does not know.")
def unknown_code(subject: LintSubject) -> Iterator[Finding]:
    for acl in subject.acls:
        codes = acl.resource_type, acl.pattern_type, acl.operation, acl.permission_type
        if codes not in _KNOWN:
            odd = [
                field
                for field, code, known in zip(_FIELDS, codes, _KNOWN_CODES, strict=True)
                if code not in known
            ]
            yield Finding(
                Severity.ERROR,
                f"Kafka 4.3 does not know its {' and '.join(odd)}; it treats an unknown "
                "permission as DENY, and an unknown pattern type as PREFIXED",
                acl,
            )


@check("operation", "An operation that Kafka never checks on this resource type.")
def operation(subject: LintSubject) -> Iterator[Finding]:
    for acl in subject.acls:
        supported = SUPPORTED_OPERATIONS.get(acl.resource_type)
        if supported is None or acl.operation in supported:
            continue
        if acl.operation > Operation.ALL:
            kind = acl.resource_type.name.replace("_", " ").lower()
            but = _still_allowed(acl, supported)
            yield Finding(
                Severity.WARNING,
                f"Kafka never checks {acl.operation.name} on a {kind}{but}",
                acl,
                advice="kafka-acls cannot remove it; metalog apply --prune can",
            )


def _still_allowed(acl: Acl, supported: frozenset[Operation]) -> str:
    implied = [each for each in supported if ALLOWS[acl.operation] >> each & 1]
    if not is_allow(acl) or not implied:
        return ""
    return f"; this ACL allows only {', '.join(sorted(each.name for each in implied))}"


def overridden(acls: tuple[Acl, ...], kafka: KafkaVersion) -> Iterator[tuple[Acl, Acl]]:
    """Each ALLOW that DENYs override completely, with one of the DENYs."""
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


@check("overridden-allow", "An ALLOW that never allows anything.")
def overridden_allow(subject: LintSubject) -> Iterator[Finding]:
    for acl, deny in overridden(subject.acls, subject.config.kafka):
        is_alone = not ALLOWS[acl.operation] & ~DENIES[deny.operation]
        who = "a DENY overrides" if is_alone else "several DENYs, such as this one, override"
        yield Finding(Severity.WARNING, f"{who} all of it", acl, by=deny, remove=(acl,))


@check("open-ended-prefix", "A prefix without a separator at its end.", CheckInput.TOPICS)
def open_ended_prefix(subject: LintSubject) -> Iterator[Finding]:
    topics = sorted(subject.topics or ())
    messages: dict[str, str | None] = {}
    for acl in subject.acls:
        if acl.resource_type is not ResourceType.TOPIC:
            continue
        if acl.pattern_type is PatternType.LITERAL or not acl.resource_name[-1:].isalnum():
            continue
        prefix = acl.resource_name
        if prefix not in messages:
            messages[prefix] = _prefix_fault(prefix, topics)
        message = messages[prefix]
        if message is not None:
            yield Finding(
                Severity.WARNING,
                message,
                acl,
                advice="end the prefix with a separator, or make the ACL LITERAL",
            )


def _prefix_fault(prefix: str, topics: list[str]) -> str | None:
    reached = takewhile(
        lambda name: name.startswith(prefix), islice(topics, bisect_left(topics, prefix), None)
    )
    matched = list(islice(reached, _TOPICS_TRIED))
    others = [name for name in matched if name != prefix]
    inside = [name for name in others if name[len(prefix)].isalnum()]
    if inside:
        return f"its prefix ends inside a word: it reaches {inside[0]} too"
    if others and len(others) < len(matched):
        return f"its prefix is a topic's whole name: it reaches {others[0]} too"
    return None


@check("expired", "An ACL that has expired.", CheckInput.NOTES)
def expired(subject: LintSubject) -> Iterator[Finding]:
    for acl, notes in (subject.notes or {}).items():
        if notes.expires is not None and _day(notes.expires) < subject.today:
            yield Finding(Severity.ERROR, f"it expired on {notes.expires}", acl, remove=(acl,))


def _day(text: str) -> date:
    """The last valid day of an ACL, in UTC."""
    moment = datetime.fromisoformat(text)
    return moment.date() if moment.tzinfo is None else moment.astimezone(UTC).date()


CHECKS: Final = (
    host_form,
    principal_form,
    star_in_name,
    impossible_topic,
    cluster_name,
    unknown_code,
    operation,
    overridden_allow,
    open_ended_prefix,
    expired,
)
