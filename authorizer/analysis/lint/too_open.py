"""Checks for ACLs that allow too much, or deny too little."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from authorizer.analysis.access.coverage import Allowed, Coverage
from authorizer.analysis.lint.finding import CheckInput, Finding, LintSubject, Severity, check
from authorizer.analysis.remedies.powers import internal_topics, power
from authorizer.trace import is_allow
from metalog.acl import WILDCARD, WILDCARD_PRINCIPAL, Acl, Operation, PatternType, ResourceType

_HARMLESS = frozenset(
    {
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.DESCRIBE_TOKENS,
        Operation.IDEMPOTENT_WRITE,
    }
)
_CHANGES = frozenset(
    {Operation.ALL, Operation.WRITE, Operation.DELETE, Operation.ALTER, Operation.ALTER_CONFIGS}
)


@check("everyone", "Everyone is allowed to read or change something.")
def everyone(subject: LintSubject) -> Iterator[Finding]:
    for acl in subject.acls:
        if acl.principal != WILDCARD_PRINCIPAL or not is_allow(acl) or acl.operation in _HARMLESS:
            continue
        reads = acl.operation is Operation.READ
        if reads and acl.resource_type is not ResourceType.TOPIC:
            continue
        clients = "anyone who can connect" if acl.host == WILDCARD else "anyone from that host"
        yield Finding(
            Severity.WARNING if reads else Severity.ERROR,
            f"{clients} may do it, also User:ANONYMOUS",
            acl,
            remove=(acl,),
            advice="first allow it for the principals that use it: find them with "
            "`metalog can --audit`",
        )


@check("internal-topic", "A principal may change Kafka's internal topics.")
def internal_topic(subject: LintSubject) -> Iterator[Finding]:
    for acl in subject.acls:
        if reached := internal_topics(acl):
            yield Finding(
                Severity.ERROR,
                f"it reaches {', '.join(reached)}: Kafka's internal topics",
                acl,
                remove=(acl,),
            )


@check("super-user-like", "A principal with the power of a super user.")
def super_user_like(subject: LintSubject) -> Iterator[Finding]:
    for acl in subject.acls:
        if acl.principal not in subject.config.super_users:
            message = power(acl)
            if message is not None:
                yield Finding(Severity.WARNING, message, acl)


@check("open-by-default", "Resources without ACLs are open to everyone.")
def open_by_default(subject: LintSubject) -> Iterator[Finding]:
    if subject.config.allow_everyone:
        yield Finding(
            Severity.WARNING,
            "everyone may do everything with a resource that no ACL reaches, such as a new topic",
            name="allow.everyone.if.no.acl.found=true",
        )


@check("all-topics", "A principal may read or change every topic.")
def all_topics(subject: LintSubject) -> Iterator[Finding]:
    for acl in subject.acls:
        if not _is_on_all_topics(acl) or acl.principal == WILDCARD_PRINCIPAL:
            continue
        if acl.operation in _CHANGES:
            message = "it reaches every topic, also __consumer_offsets and future ones"
            yield Finding(Severity.WARNING, message, acl)
        elif acl.operation is Operation.READ:
            yield Finding(Severity.INFO, "it reaches every topic, also future ones", acl)


def _is_on_all_topics(acl: Acl) -> bool:
    is_literal = acl.pattern_type is PatternType.LITERAL
    return (
        acl.resource_type is ResourceType.TOPIC
        and is_allow(acl)
        and acl.resource_name == (WILDCARD if is_literal else "")
    )


@check("deny-misses-star", "A DENY on * that does not match longer names that begin with *.")
def deny_misses_star(subject: LintSubject) -> Iterator[Finding]:
    kafka = subject.config.kafka
    denied = Coverage((acl for acl in subject.acls if not is_allow(acl)), kafka)
    wildcards = {
        acl: missing
        for acl in subject.acls
        if _denies_all_names(acl)
        and not _is_denied(missing := acl._replace(pattern_type=PatternType.PREFIXED), denied)
    }
    candidates = (acl for acl in subject.acls if is_allow(acl) and _reaches_starred_names(acl))
    allowed = Allowed(candidates, wildcards.values(), kafka)
    for acl, missing in wildcards.items():
        if subject.config.allow_everyone or allowed.meet(missing):
            yield Finding(
                Severity.WARNING,
                "Kafka's * does not reach longer names that begin with *, and these are allowed",
                acl,
                add=(missing,),
            )


def _denies_all_names(acl: Acl) -> bool:
    return (
        acl.resource_name == WILDCARD
        and acl.pattern_type is PatternType.LITERAL
        and not is_allow(acl)
        and acl.resource_type not in (ResourceType.TOPIC, ResourceType.CLUSTER)
    )


def _is_denied(acl: Acl, denied: Coverage) -> bool:
    return any(each.operation in (Operation.ALL, acl.operation) for each in denied.covering(acl))


def _reaches_starred_names(acl: Acl) -> bool:
    if acl.pattern_type is PatternType.LITERAL:
        return acl.resource_name.startswith(WILDCARD) and acl.resource_name != WILDCARD
    return acl.resource_name.startswith(WILDCARD) or not acl.resource_name


@check("super-user-acl", "An ACL of a super user.", CheckInput.SUPER_USERS)
def super_user_acl(subject: LintSubject) -> Iterator[Finding]:
    """With ``allow.everyone.if.no.acl.found``, such an ACL still closes its names to others."""
    super_users = subject.config.super_users
    for acl in subject.acls:
        if acl.principal not in super_users:
            continue
        if is_allow(acl):
            message = (
                "a super user needs no ACL; this ACL stays in force if the user leaves super.users"
            )
            yield Finding(Severity.INFO, message, acl, remove=(acl,))
        else:
            message = "no DENY has an effect on a super user"
            advice = "remove the user from super.users"
            if not subject.config.allow_everyone:
                advice += ", or remove the DENY"
            yield Finding(Severity.ERROR, message, acl, advice=advice)


CHECKS: Final = (
    everyone,
    internal_topic,
    super_user_like,
    open_by_default,
    all_topics,
    deny_misses_star,
    super_user_acl,
)
