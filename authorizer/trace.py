"""Explains one decision: names the ACL that decided, and says why other candidates did not.

A candidate is an ACL whose pattern matches the resource. Candidates are in the order of Kafka's
StandardAuthorizer. This module must not know images, logs or how anything is shown.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

from authorizer.config import AuthorizerConfig
from authorizer.engine.decide import (
    ALLOW,
    ALLOWED,
    ALLOWED_TO_SUPER_USER,
    Decision,
    Subject,
    concerns,
    decide,
    decision_order,
    subject,
)
from authorizer.kafka_version import KafkaVersion
from metalog.acl import WILDCARD, Acl, Operation, PatternType, ResourceType


class Question(NamedTuple):
    """May ``principal`` do ``operation`` on the resource?

    ``host`` is the client's address as Java writes it, or None for a host that no ACL names.
    """

    principal: str
    operation: Operation
    resource_type: ResourceType
    resource_name: str
    host: str | None = None
    additional_principals: tuple[str, ...] = ()

    def subject(self, kafka: KafkaVersion) -> Subject:
        """The ``Subject`` that ACLs match, in this version of Kafka."""
        host = WILDCARD if self.host is None else self.host
        return subject(host, self.principal, *self.additional_principals, kafka=kafka)


class Attribute(Enum):
    """A field of an ACL that must fit the question for the ACL to match."""

    PRINCIPAL = "PRINCIPAL"
    HOST = "HOST"
    OPERATION = "OPERATION"
    PATTERN = "PATTERN"
    RESOURCE_TYPE = "RESOURCE_TYPE"


class Standing(Enum):
    """The role of a candidate in the decision."""

    DECIDED = "DECIDED"
    NO_MATCH = "NO_MATCH"
    OVERRIDDEN = "OVERRIDDEN"
    """This ALLOW matches, but a DENY decided."""
    ALSO_MATCHES = "ALSO_MATCHES"
    """This ACL matches, and another ACL with the same effect decided."""


class Candidate(NamedTuple):
    """An ACL whose pattern matches the resource."""

    acl: Acl
    standing: Standing
    mismatches: tuple[Attribute, ...]


class Trace(NamedTuple):
    """The decision, and all candidates. For a super user, Kafka considers no candidates."""

    decision: Decision
    candidates: tuple[Candidate, ...]

    @property
    def allowed(self) -> bool:
        """Whether the decision is ALLOWED."""
        return self.decision.result is ALLOWED


def trace(acls: Iterable[Acl], config: AuthorizerConfig, question: Question) -> Trace:
    """The trace of ``question``. ``acls`` must contain all candidates, in any order.

    A repeated ACL counts once.
    """
    if question.principal in config.super_users:
        return Trace(ALLOWED_TO_SUPER_USER, ())
    name = question.resource_name
    reaching = {acl for acl in acls if reaches(acl, question.resource_type, name)}
    ordered = sorted(reaching, key=lambda acl: decision_order(acl, name))
    who, operation = question.subject(config.kafka), question.operation
    decision = decide(ordered, who, operation, allow_everyone=config.allow_everyone)
    candidates = []
    for acl in ordered:
        mismatched = mismatches(acl, who, operation)
        candidates.append(Candidate(acl, _standing(acl, mismatched, decision.acl), mismatched))
    return Trace(decision, tuple(candidates))


def reaches(acl: Acl, resource_type: ResourceType, name: str) -> bool:
    """Whether the pattern of ``acl`` matches the resource.

    LITERAL ``*`` matches the name ``*`` and all names that do not begin with ``*``. Kafka treats an
    unknown pattern type as PREFIXED.
    """
    if acl.resource_type is not resource_type:
        return False
    if acl.pattern_type is not PatternType.LITERAL:
        return name.startswith(acl.resource_name)
    if acl.resource_name == WILDCARD:
        return name == WILDCARD or not name.startswith(WILDCARD)
    return acl.resource_name == name


def mismatches(acl: Acl, who: Subject, operation: Operation) -> tuple[Attribute, ...]:
    """The fields of the candidate ``acl`` that do not match."""
    mismatched = []
    if acl.principal not in who.principals:
        mismatched.append(Attribute.PRINCIPAL)
    if not who.comes_from(acl.host):
        mismatched.append(Attribute.HOST)
    if not concerns(acl, operation):
        mismatched.append(Attribute.OPERATION)
    return tuple(mismatched)


def is_allow(acl: Acl) -> bool:
    """Whether ``acl`` allows if it matches; an unknown permission denies."""
    return acl.permission_type is ALLOW


def _standing(acl: Acl, mismatched: tuple[Attribute, ...], decider: Acl | None) -> Standing:
    if mismatched or decider is None:
        return Standing.NO_MATCH
    if acl is decider:
        return Standing.DECIDED
    return Standing.ALSO_MATCHES if is_allow(acl) is is_allow(decider) else Standing.OVERRIDDEN
