"""Checks for needless and unusual ACLs."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import Final, NamedTuple

from authorizer.analysis.access.coverage import Allowed, Coverage
from authorizer.analysis.cells.difference import has_known_codes
from authorizer.analysis.explain.names import nearest_name
from authorizer.analysis.lint.finding import CheckInput, Finding, LintSubject, Severity, check
from authorizer.kafka_version import KafkaVersion
from authorizer.permissions.table import CONSUMER, TRANSACTIONAL_PRODUCER
from authorizer.trace import is_allow
from metalog.acl import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    Acl,
    Operation,
    PatternType,
    ResourceType,
    is_wildcard,
)
from metalog.hosts.host_block import host_block
from metalog.text.plurals import counted

_MOST_SEARCHES = 20
"""The limit for searches of a similar name, which take some milliseconds each."""
_USER_PREFIX = "User:"
_USER_TYPE = "user"
_READ_TOPIC = (Operation.READ, ResourceType.TOPIC)
_WRITE_TOPIC = (Operation.WRITE, ResourceType.TOPIC)
_READ_GROUP = (Operation.READ, ResourceType.GROUP)
_TRANSACTION = (Operation.WRITE, ResourceType.TRANSACTIONAL_ID)


@check("bound-twice", "The same ACL exists more than once.")
def bound_twice(subject: LintSubject) -> Iterator[Finding]:
    for acl, times in subject.repetitions.items():
        if subject.is_log:
            yield Finding(
                Severity.ERROR,
                f"it has {counted(times, 'id')}, and Kafka's authorizer refuses "
                "a snapshot that holds an ACL twice",
                acl,
                remove=(acl,),
                advice="remove it, which removes all its ids, and add it again immediately",
            )
        else:
            yield Finding(Severity.INFO, f"it is listed in {counted(times, 'place')}", acl)


@check("unknown-topic", "An ACL on a topic that does not exist.", CheckInput.TOPICS)
def unknown_topic(subject: LintSubject) -> Iterator[Finding]:
    topics = set(subject.topics or ())
    order = sorted(topics)
    near: dict[str, str | None] = {}
    for acl in subject.acls:
        name = acl.resource_name
        if acl.resource_type is not ResourceType.TOPIC or name == WILDCARD:
            continue
        if acl.pattern_type is not PatternType.LITERAL:
            at = bisect_left(order, name)
            if at == len(order) or not order[at].startswith(name):
                yield Finding(Severity.INFO, "no topic's name begins with this prefix", acl)
        elif name not in topics:
            if name not in near:
                near[name] = nearest_name(name, topics) if len(near) < _MOST_SEARCHES else None
            message = "there is no such topic; when somebody creates it, this ACL applies"
            similar = near[name]
            if similar is None:
                yield Finding(Severity.INFO, message, acl)
            else:
                yield Finding(Severity.WARNING, f"{message}; there is a topic {similar}", acl)


@check("principal-without-user", "A principal that is not a SCRAM user.", CheckInput.USERS)
def principal_without_user(subject: LintSubject) -> Iterator[Finding]:
    users = set(subject.users or ())
    first: dict[str, Acl] = {}
    for acl in subject.acls:
        if acl.principal not in first and _may_be_scram(acl.principal):
            first[acl.principal] = acl
    missing = [each for each in first if each.removeprefix(_USER_PREFIX) not in users]
    for number, principal in enumerate(missing):
        name = principal.removeprefix(_USER_PREFIX)
        near = nearest_name(name, users) if number < _MOST_SEARCHES else None
        message = f"there is no SCRAM user {name}"
        if near is not None:
            message += f"; there is {near}"
        yield Finding(
            Severity.INFO if near is None else Severity.WARNING, message, first[principal]
        )


def _may_be_scram(principal: str) -> bool:
    """Whether ``principal`` can be a SCRAM user; a DN or a Kerberos name cannot."""
    name = principal.removeprefix(_USER_PREFIX)
    return (
        principal.startswith(_USER_PREFIX)
        and name not in (WILDCARD, "ANONYMOUS")
        and not any(letter in name for letter in "=@/")
    )


@check("principal-type", "A principal of another type than User.")
def principal_type(subject: LintSubject) -> Iterator[Finding]:
    reported = set()
    for acl in subject.acls:
        kind, colon, _ = acl.principal.partition(":")
        if colon and kind.strip().casefold() != _USER_TYPE and acl.principal not in reported:
            reported.add(acl.principal)
            yield Finding(
                Severity.INFO,
                f"Kafka itself names clients User:… only; {acl.principal} needs a "
                "principal.builder.class that makes it",
                acl,
            )


def idle(acls: tuple[Acl, ...], kafka: KafkaVersion) -> Iterator[Acl]:
    """The DENYs whose removal changes no decision on a resource, if the default is to deny."""
    denies = [acl for acl in acls if not is_allow(acl)]
    allowed = Allowed((acl for acl in acls if is_allow(acl)), denies, kafka)
    for deny in denies:
        if not allowed.meet(deny):
            yield deny


@check("idle-deny", "A DENY that overrides no ALLOW.", CheckInput.DEFAULT_DENY)
def idle_deny(subject: LintSubject) -> Iterator[Finding]:
    for acl in idle(subject.acls, subject.config.kafka):
        yield Finding(
            Severity.INFO,
            "no ALLOW matches a request that this DENY matches: a typo, or a precaution",
            acl,
            remove=(acl,),
        )


def redundant_acls(acls: tuple[Acl, ...], kafka: KafkaVersion) -> Iterator[tuple[Acl, Acl]]:
    """Redundant ACLs, each with an ACL that covers it. All may be removed together.

    An ACL with an unknown pattern type or permission covers no other ACL, because
    ``authorizeByResourceType`` ignores it.
    """
    for allow in (False, True):
        alike = [acl for acl in acls if is_allow(acl) is allow]
        coverage = Coverage(filter(has_known_codes, alike), kafka)
        for acl in alike:
            wider = (Operation.ALL, acl.operation)
            for other in coverage.covering(acl):
                if (
                    other.operation in wider
                    and other != acl
                    and not _is_later_spelling(other, acl)
                    and _is_alike_by_type(other, acl)
                ):
                    yield acl, other
                    break


def _is_alike_by_type(wider: Acl, acl: Acl) -> bool:
    """Whether ``wider`` replaces ``acl`` in ``authorizeByResourceType`` (KIP-679), where only a
    DENY on LITERAL ``*`` dominates an ALLOW on LITERAL ``*``."""
    return is_wildcard(wider) or not is_wildcard(acl)


def _is_later_spelling(one: Acl, other: Acl) -> bool:
    """Whether both hosts are one CIDR block, and the host of ``one`` sorts last."""
    block = host_block(one.host)
    is_one_block = block is not None and block == host_block(other.host)
    return is_one_block and one.host > other.host


@check("redundant", "An ACL whose removal changes no answer.")
def redundant(subject: LintSubject) -> Iterator[Finding]:
    """DESCRIBE beside READ or WRITE is not redundant: ``kafka-acls --consumer`` and ``--producer``
    add DESCRIBE on purpose, although READ and WRITE imply DESCRIBE."""
    for acl, by in redundant_acls(subject.acls, subject.config.kafka):
        yield Finding(Severity.INFO, "a wider ACL covers it", acl, by=by, remove=(acl,))


class _Half(NamedTuple):
    """``message`` is for a principal with the permission ``one`` and without ``other``."""

    one: tuple[Operation, ResourceType]
    other: tuple[Operation, ResourceType]
    message: str


HALVES = {
    CONSUMER: (
        _Half(_READ_TOPIC, _READ_GROUP, "may READ a topic but no group: it cannot subscribe"),
        _Half(_READ_GROUP, _READ_TOPIC, "may READ a group but no topic"),
    ),
    TRANSACTIONAL_PRODUCER: (
        _Half(_TRANSACTION, _WRITE_TOPIC, "may use a transactional id but WRITE no topic"),
    ),
}
"""By task: the cases in which a principal has only half of the permissions."""


@check("incomplete-client", "Only half of a consumer's or producer's permissions.")
def incomplete_client(subject: LintSubject) -> Iterator[Finding]:
    for one, other, message in (half for halves in HALVES.values() for half in halves):
        able = {acl.principal for acl in subject.acls if _grants(acl, other)}
        if WILDCARD_PRINCIPAL in able:
            continue
        reported: set[str] = set()
        for acl in subject.acls:
            principal = acl.principal
            if principal in able or principal in reported or principal == WILDCARD_PRINCIPAL:
                continue
            if _grants(acl, one):
                reported.add(principal)
                yield Finding(Severity.INFO, f"{principal} {message}", acl)


def _grants(acl: Acl, what: tuple[Operation, ResourceType]) -> bool:
    operation, resource_type = what
    return (
        acl.resource_type is resource_type
        and acl.operation in (Operation.ALL, operation)
        and is_allow(acl)
    )


@check("user-without-acl", "A SCRAM user that no ACL names.", CheckInput.USERS)
def user_without_acl(subject: LintSubject) -> Iterator[Finding]:
    named = {acl.principal for acl in subject.acls} | subject.config.super_users
    for user in sorted(subject.users or ()):
        if f"User:{user}" not in named:
            yield Finding(
                Severity.INFO,
                "it can log in, but no ACL names it: an unneeded user, or a typo",
                name=f"User:{user}",
            )


@check("owned-twice", "Two files own the same ACLs.", CheckInput.OWNS)
def owned_twice(subject: LintSubject) -> Iterator[Finding]:
    for place, reason in subject.owned_twice:
        yield Finding(
            Severity.ERROR, reason, name=place, advice="let one file own these ACLs, or divide them"
        )


@check("outside-owned", "An ACL in a file whose `owns` does not include it.", CheckInput.OWNS)
def outside_owned(subject: LintSubject) -> Iterator[Finding]:
    for acl, reason in (subject.outside or {}).items():
        yield Finding(
            Severity.WARNING,
            reason,
            acl,
            advice="move it to the file that owns it, or add it to `owns` of its file; until then, "
            "`apply --prune` ignores it",
        )


@check("no-owner", "An ACL without an owner.", CheckInput.NOTES)
def no_owner(subject: LintSubject) -> Iterator[Finding]:
    for acl, notes in (subject.notes or {}).items():
        if not notes.owner:
            yield Finding(Severity.INFO, "it has no owner", acl, advice="add owner: TEAM")


CHECKS: Final = (
    bound_twice,
    unknown_topic,
    principal_without_user,
    principal_type,
    idle_deny,
    redundant,
    incomplete_client,
    user_without_acl,
    owned_twice,
    outside_owned,
    no_owner,
)
