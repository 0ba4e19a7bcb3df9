"""Handles CreateAcls, DescribeAcls and DeleteAcls.

``metalog.controller.acl`` decides which ACLs may be created or deleted. The permission on the
cluster is checked before any item is read. As in Kafka, code 0 of an enum then closes the
connection, because only a broken client sends this code. Version 0 of these APIs neither shows nor
changes prefixed ACLs (KIP-290). This module must not know how an ACL is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from authorizer.interface import Authorizer
from metalog.acl import (
    AccessControlEntryFilter,
    Acl,
    AclFilter,
    Operation,
    PatternType,
    PermissionType,
    ResourcePatternFilter,
    ResourceType,
)
from metalog.errors import SUCCESS, ApiError, ErrorCode
from metalog.ports import AclDeleteResult
from metalog.records.acl_codes import (
    operation_of,
    pattern_type_of,
    permission_type_of,
    resource_type_of,
)
from metalog.wire.frames import Malformed
from metalog.wire.schema import Body, error_name, response_parts
from metalog.wire.versions import VersionRange
from metalog_node.handlers import acl_listing
from metalog_node.handlers.acl_listing import DESCRIBE_ACLS
from metalog_node.handlers.request import (
    NO_THROTTLING,
    SMALL_REQUESTS,
    Answer,
    DeferredResponse,
    EncodedResponse,
    HandledApi,
    IncomingRequest,
    SecurityDisabled,
    Services,
    authorize_cluster,
    authorize_listing,
    error_fields,
    item_count,
    outcome_fields,
)
from metalog_node.publish.listing_cache import Pieces

CREATE_ACLS: Final = 30
DELETE_ACLS: Final = 31

_LITERAL: Final = int(PatternType.LITERAL)
_FEW: Final = 200
"""Encoding this many ACLs takes as long as starting a thread."""


def describe(services: Services, incoming: IncomingRequest) -> Answer:
    authorize_listing(services, incoming)
    _check_filter(incoming.request.body)
    wanted = _filter_of(incoming.request.body)
    if services.authorizer is None:
        raise SecurityDisabled("No Authorizer is configured on the broker")
    authorizer, version = services.authorizer, incoming.request.head.version
    if services.listings is None or authorizer.acl_count() <= _FEW:
        return acl_listing.described(version, authorizer.acls(wanted))
    correlation_id = incoming.request.head.correlation_id.to_bytes(4, "big", signed=True)
    written = services.listings.written(
        (DESCRIBE_ACLS, version, wanted), lambda: _writer(services, authorizer, version, wanted)
    )
    return DeferredResponse(
        written,
        lambda kept: EncodedResponse(
            b"".join((correlation_id, *kept.result())), error_name(SUCCESS.code)
        ),
    )


def _writer(
    services: Services, authorizer: Authorizer, version: int, wanted: AclFilter
) -> Callable[[], Pieces]:
    """A function that encodes the ACLs that ``wanted`` matches, and may keep parts for its next
    call."""
    index = services.acl_index
    if index is None:
        return lambda: acl_listing.written(version, authorizer.acls(wanted))
    if wanted.pattern.name is not None:
        return lambda: acl_listing.written_by_name(version, wanted, index())
    listing = acl_listing.Listing(version, wanted)
    return lambda: listing.written(index())


def refuse_describe(incoming: IncomingRequest, error: ApiError) -> Body:
    return acl_listing.answer(incoming.request.head.version, error)


def create(services: Services, incoming: IncomingRequest) -> Answer:
    _authorize_alter(services, incoming)
    creations = incoming.request.body.creations
    for creation in creations:
        _check_creation(creation)
    acls = list(map(_acl_of, creations))
    if any(map(_is_for_filters, acls)):
        return _created(incoming, [ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)] * len(acls))
    done = services.replica.submit_creations(acls)
    return DeferredResponse(done, lambda created: _created(incoming, created.result()))


def refuse_create(incoming: IncomingRequest, error: ApiError) -> Body:
    return _created(incoming, [error] * item_count(incoming, "creations"))


def delete(services: Services, incoming: IncomingRequest) -> Answer:
    _authorize_alter(services, incoming)
    filters = incoming.request.body.filters
    for wanted in filters:
        _check_filter(wanted)
    done = services.replica.submit_deletions(list(map(_filter_of, filters)))
    return DeferredResponse(done, lambda deleted: _deleted(incoming, deleted.result()))


def refuse_delete(incoming: IncomingRequest, error: ApiError) -> Body:
    return _deleted(incoming, [AclDeleteResult(error)] * item_count(incoming, "filters"))


def _authorize_alter(services: Services, incoming: IncomingRequest) -> None:
    authorize_cluster(services, incoming, Operation.ALTER)
    if services.authorizer is None:
        raise SecurityDisabled("No Authorizer is configured.")


def _created(incoming: IncomingRequest, errors: Sequence[ApiError]) -> Body:
    parts = response_parts(CREATE_ACLS, incoming.request.head.version)
    results = {
        error: parts.AclCreationResult(**outcome_fields(error)) for error in dict.fromkeys(errors)
    }
    return parts.CreateAclsResponse(
        throttle_time=NO_THROTTLING, results=tuple(results[error] for error in errors)
    )


def _deleted(incoming: IncomingRequest, results: Sequence[AclDeleteResult]) -> Body:
    version = incoming.request.head.version
    return response_parts(DELETE_ACLS, version).DeleteAclsResponse(
        throttle_time=NO_THROTTLING,
        filter_results=tuple(_filter_result(version, result) for result in results),
    )


def _is_for_filters(acl: Acl) -> bool:
    """Whether a value is only for filters. As in Kafka, one such ACL fails the whole request."""
    return (
        acl.resource_type is ResourceType.ANY
        or acl.pattern_type in (PatternType.ANY, PatternType.MATCH)
        or acl.operation is Operation.ANY
        or acl.permission_type is PermissionType.ANY
    )


def _filter_result(version: int, result: AclDeleteResult) -> Any:
    parts = response_parts(DELETE_ACLS, version)
    return parts.DeleteAclsFilterResult(
        **error_fields(result.error),
        matching_acls=tuple(
            parts.DeleteAclsMatchingAcl(
                **error_fields(SUCCESS),
                resource_type=int(acl.resource_type),
                resource_name=acl.resource_name,
                **acl_listing.pattern_type_field(version, acl),
                principal=acl.principal,
                host=acl.host,
                operation=int(acl.operation),
                permission_type=int(acl.permission_type),
            )
            for acl in result.deleted
        ),
    )


def _acl_of(creation: Any) -> Acl:
    pattern_type = getattr(creation, "resource_pattern_type", _LITERAL)
    return Acl(
        resource_type_of(creation.resource_type),
        creation.resource_name,
        pattern_type_of(pattern_type),
        creation.principal,
        creation.host,
        operation_of(creation.operation),
        permission_type_of(creation.permission_type),
    )


def _filter_of(wanted: Any) -> AclFilter:
    pattern_type = getattr(wanted, "pattern_type_filter", _LITERAL)
    return AclFilter(
        ResourcePatternFilter(
            resource_type_of(wanted.resource_type_filter),
            wanted.resource_name_filter,
            pattern_type_of(pattern_type),
        ),
        AccessControlEntryFilter(
            wanted.principal_filter,
            wanted.host_filter,
            operation_of(wanted.operation),
            permission_type_of(wanted.permission_type),
        ),
    )


def _check_creation(creation: Any) -> None:
    pattern_type = getattr(creation, "resource_pattern_type", _LITERAL)
    _check_codes(creation.resource_type, pattern_type, creation.operation, creation.permission_type)


def _check_filter(wanted: Any) -> None:
    pattern_type = getattr(wanted, "pattern_type_filter", _LITERAL)
    _check_codes(
        wanted.resource_type_filter, pattern_type, wanted.operation, wanted.permission_type
    )


def _check_codes(*codes: int) -> None:
    if 0 in codes:
        raise Malformed("an enum of an ACL is 0 (UNKNOWN)")


APIS: Final = {
    DESCRIBE_ACLS: HandledApi(
        "DescribeAcls", VersionRange(0, 3), describe, refuse_describe, **SMALL_REQUESTS
    ),
    CREATE_ACLS: HandledApi("CreateAcls", VersionRange(0, 3), create, refuse_create),
    DELETE_ACLS: HandledApi("DeleteAcls", VersionRange(0, 3), delete, refuse_delete),
}
