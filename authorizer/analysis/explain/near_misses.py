"""Finds near misses: ACLs of which one attribute does not match, and ALLOWs that a DENY overrides.

The near misses of a denied question are ALLOWs; the near misses of an allowed question are DENYs.
This module must not know how to reverse a decision (``remedies``).
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import nsmallest
from typing import NamedTuple

from authorizer.analysis.access.hosts import host_kind, meant_block
from authorizer.analysis.explain.kinds import NearMissKind
from authorizer.analysis.explain.likeness import near_pattern, principal_kind
from authorizer.engine.decide import concerns
from authorizer.engine.prefixes import common_prefix_length
from authorizer.kafka_version import KafkaVersion
from authorizer.trace import Attribute, Question, Standing, Trace, reaches
from metalog.acl import IMPLIED_BY, WILDCARD, Acl, PermissionType


class NearMiss(NamedTuple):
    """An ACL that matches except for one difference, ``kind``.

    ``would_match`` differs from ``acl`` only in ``attribute``, and matches. For DENY_OVERRIDES,
    ``acl`` itself matches, but ``deny`` decided.
    """

    kind: NearMissKind
    attribute: Attribute | None
    acl: Acl
    would_match: Acl
    deny: Acl | None = None


class MissScan(NamedTuple):
    """The candidates, and other ACLs whose principal, host and operation match.

    ``other_patterns`` has ACLs of the question's resource type. ``other_types`` has all others.
    """

    candidates: list[Acl]
    other_patterns: list[Acl]
    other_types: list[Acl]


def scan_misses(acls: Iterable[Acl], question: Question, kafka: KafkaVersion) -> MissScan:
    """The candidates and the possible near misses in ``acls``."""
    candidates: list[Acl] = []
    other_patterns: list[Acl] = []
    other_types: list[Acl] = []
    wanted_type, name, who = question.resource_type, question.resource_name, question.subject(kafka)
    for acl in acls:
        if reaches(acl, wanted_type, name):
            candidates.append(acl)
        elif who.matches(acl) and concerns(acl, question.operation):
            is_wanted = acl.resource_type is wanted_type
            (other_patterns if is_wanted else other_types).append(acl)
    return MissScan(candidates, other_patterns, other_types)


def near_misses(
    found: MissScan, traced: Trace, question: Question, kafka: KafkaVersion, limit: int
) -> list[NearMiss]:
    """At most ``limit`` near misses, the most informative first."""
    permission = PermissionType.DENY if traced.allowed else PermissionType.ALLOW
    near = [
        NearMiss(NearMissKind.DENY_OVERRIDES, None, each.acl, each.acl, traced.decision.acl)
        for each in traced.candidates
        if each.standing is Standing.OVERRIDDEN
    ]
    for candidate in traced.candidates:
        if len(candidate.mismatches) == 1 and candidate.acl.permission_type is permission:
            near += _by_attribute(candidate.acl, candidate.mismatches[0], question, kafka)
    for acl in set(found.other_patterns):
        if acl.permission_type is permission:
            near += _by_pattern(acl, question)
    for acl in set(found.other_types):
        if acl.permission_type is permission:
            near += _by_resource_type(acl, question)
    return nsmallest(limit, near, key=lambda miss: _sort_key(miss, question))


def _by_attribute(
    acl: Acl, attribute: Attribute, question: Question, kafka: KafkaVersion
) -> list[NearMiss]:
    kind: NearMissKind | None
    if attribute is Attribute.PRINCIPAL:
        kind = principal_kind(acl.principal, question.principal)
        would_match = acl._replace(principal=question.principal)
    elif attribute is Attribute.HOST:
        kind = host_kind(acl.host, question.host, kafka)
        would_match = acl._replace(host=_matching_host(acl.host, question, kafka))
    else:
        kind = _operation_kind(acl, question)
        would_match = acl._replace(operation=question.operation)
    return [] if kind is None else [NearMiss(kind, attribute, acl, would_match)]


def _matching_host(host: str, question: Question, kafka: KafkaVersion) -> str:
    """The client's host; or the CIDR block that ``host`` was meant to be, if it has the client."""
    if question.host is None:
        return WILDCARD
    block = meant_block(host) if kafka.matches_blocks else None
    if block is not None and question.subject(kafka).comes_from(block):
        return block
    return question.host


def _operation_kind(acl: Acl, question: Question) -> NearMissKind:
    operation, other = question.operation, acl.operation
    related = operation in IMPLIED_BY.get(other, ()) or other in IMPLIED_BY.get(operation, ())
    return NearMissKind.OPERATION_NOT_IMPLIED if related else NearMissKind.OPERATION


def _by_pattern(acl: Acl, question: Question) -> list[NearMiss]:
    near = near_pattern(acl, question.resource_name)
    if near is None:
        return []
    would_match = acl._replace(resource_name=near.name, pattern_type=near.pattern_type)
    return [NearMiss(near.kind, Attribute.PATTERN, acl, would_match)]


def _by_resource_type(acl: Acl, question: Question) -> list[NearMiss]:
    if acl.resource_name == WILDCARD:
        return []
    would_match = acl._replace(resource_type=question.resource_type)
    if not reaches(would_match, question.resource_type, question.resource_name):
        return []
    return [NearMiss(NearMissKind.RESOURCE_TYPE, Attribute.RESOURCE_TYPE, acl, would_match)]


def _sort_key(miss: NearMiss, question: Question) -> tuple[int, bool, int, int, Acl]:
    """Sort by kind, then the question's principal first, then by similarity.

    From OPERATION_NOT_IMPLIED on, the principal says more than the kind, and comes first.
    """
    rank = miss.kind.rank
    kind = min(rank, NearMissKind.OPERATION_NOT_IMPLIED.rank)
    alike = common_prefix_length(miss.acl.principal, question.principal) + common_prefix_length(
        miss.acl.resource_name, question.resource_name
    )
    return kind, miss.acl.principal != question.principal, rank, -alike, miss.acl
