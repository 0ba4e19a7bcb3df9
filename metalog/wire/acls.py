"""DescribeAcls, CreateAcls and DeleteAcls as a client sends them.

All used versions have pattern types (KIP-290), so the oldest peer is Kafka 2.0. An ACL with an
unknown code, such as an operation of a newer Kafka, is counted and left out. This module must not
know what an ACL decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Any, Final, NamedTuple

from metalog.acl import Acl, AclFilter
from metalog.records.acl_codes import (
    ACL_OPERATIONS,
    ACL_PATTERN_TYPES,
    ACL_PERMISSION_TYPES,
    ACL_RESOURCE_TYPES,
)
from metalog.text.plurals import counted
from metalog.wire.declared.acls_v0 import CREATE_ACLS, DELETE_ACLS, DESCRIBE_ACLS
from metalog.wire.frames import Malformed
from metalog.wire.outcome import ApiOutcome, first_failure, outcome_of
from metalog.wire.schema import Body, request_parts

VERSIONS: Final = range(1, 4)

_CODES: Final[tuple[tuple[str, Mapping[int, IntEnum]], ...]] = (
    ("resource type", ACL_RESOURCE_TYPES),
    ("pattern type", ACL_PATTERN_TYPES),
    ("operation", ACL_OPERATIONS),
    ("permission", ACL_PERMISSION_TYPES),
)


class DescribedAcls(NamedTuple):
    """A response to DescribeAcls; ``unread`` counts ACLs by unknown code (``operation 99``)."""

    outcome: ApiOutcome
    acls: tuple[Acl, ...]
    unread: Mapping[str, int]


def describe_acls_request(version: int, wanted: AclFilter) -> Body:
    parts = request_parts(DESCRIBE_ACLS, version)
    return parts.DescribeAclsRequest(**_filter_fields(wanted))


def _filter_fields(wanted: AclFilter) -> dict[str, Any]:
    pattern, entry = wanted
    return {
        "resource_type_filter": int(pattern.resource_type),
        "resource_name_filter": pattern.name,
        "pattern_type_filter": int(pattern.pattern_type),
        "principal_filter": entry.principal,
        "host_filter": entry.host,
        "operation": int(entry.operation),
        "permission_type": int(entry.permission_type),
    }


def read_described_acls(body: Body) -> DescribedAcls:
    acls: list[Acl] = []
    unread: dict[str, int] = {}
    for resource in body.resources:
        kind = ACL_RESOURCE_TYPES.get(resource.resource_type)
        pattern_type = ACL_PATTERN_TYPES.get(resource.pattern_type)
        for entry in resource.acls:
            operation = ACL_OPERATIONS.get(entry.operation)
            permission = ACL_PERMISSION_TYPES.get(entry.permission_type)
            if kind and pattern_type and operation and permission:
                name, principal, host = resource.resource_name, entry.principal, entry.host
                acls.append(Acl(kind, name, pattern_type, principal, host, operation, permission))
            else:
                unknown = _unknown_code(resource, entry)
                unread[unknown] = unread.get(unknown, 0) + 1
    return DescribedAcls(outcome_of(body), tuple(acls), unread)


def _unknown_code(resource: Any, entry: Any) -> str:
    codes = (
        resource.resource_type, resource.pattern_type,
        entry.operation, entry.permission_type,
    )  # fmt: skip
    named = zip(_CODES, codes, strict=True)
    return next(f"{what} {code}" for (what, known), code in named if code not in known)


def create_acls_request(version: int, acls: Iterable[Acl]) -> Body:
    parts = request_parts(CREATE_ACLS, version)
    return parts.CreateAclsRequest(
        creations=tuple(
            parts.AclCreation(
                resource_type=int(acl.resource_type),
                resource_name=acl.resource_name,
                resource_pattern_type=int(acl.pattern_type),
                principal=acl.principal,
                host=acl.host,
                operation=int(acl.operation),
                permission_type=int(acl.permission_type),
            )
            for acl in acls
        )
    )


def read_created_acls(body: Body, requested: Sequence[Acl]) -> list[ApiOutcome]:
    """One outcome for each requested ACL, in the order of the request."""
    return _checked([outcome_of(result) for result in body.results], requested)


def delete_acls_request(version: int, acls: Iterable[Acl]) -> Body:
    """A request with one filter for each ACL; the filter matches only this ACL."""
    parts = request_parts(DELETE_ACLS, version)
    return parts.DeleteAclsRequest(
        filters=tuple(
            parts.DeleteAclsFilter(**_filter_fields(AclFilter.exactly(acl))) for acl in acls
        )
    )


def read_deleted_acls(body: Body, requested: Sequence[Acl]) -> list[ApiOutcome]:
    """One outcome for each requested ACL, in the order of the request.

    A failure is the error of the filter, or of an ACL that the filter matches.
    """
    results = body.filter_results
    found = [
        first_failure((outcome_of(result), *map(outcome_of, result.matching_acls)))
        for result in results
    ]
    return _checked(found, requested)


def _checked(outcomes: list[ApiOutcome], requested: Sequence[Acl]) -> list[ApiOutcome]:
    if len(outcomes) != len(requested):
        raise Malformed(
            f"a response about {counted(len(outcomes), 'ACL')} to a request about {len(requested)}"
        )
    return outcomes
