"""CreateAcls, DescribeAcls and DeleteAcls: ACLs to and from the wire.

What may be created or deleted is the controller's to say (``metalog.controller.acl``). An enum's
code 0 means a broken client, and Kafka closes the connection on it; so do we. This module must
not know how an ACL is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, Final

from kio.schema.errors import ErrorCode as KafkaErrorCode

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
from metalog.wire.schema import Body, response_parts
from metalog_node.handlers.question import (
    NO_THROTTLING,
    Answer,
    Question,
    Refused,
    Services,
    ask,
    error_fields,
    told,
    when_done,
)

DESCRIBE_ACLS: Final = 29
CREATE_ACLS: Final = 30
DELETE_ACLS: Final = 31

_LITERAL: Final = int(PatternType.LITERAL)
_UNEXPECTED: Final = told(ValueError())
_NO_AUTHORIZER: Final = "No Authorizer is configured."
_NO_AUTHORIZER_TO_LIST: Final = "No Authorizer is configured on the broker"


def describe(services: Services, question: Question) -> Answer:
    asked = question.request.body
    parts = response_parts(DESCRIBE_ACLS, question.request.head.version)
    wanted = _filter_of(asked)

    def body(error: ApiError, resources: tuple[Any, ...] = ()) -> Body:
        return parts.DescribeAclsResponse(
            throttle_time=NO_THROTTLING, **error_fields(error), resources=resources
        )

    try:
        ask(services, question, Operation.DESCRIBE)
    except Refused as refused:
        return body(refused.error)
    if services.authorizer is None:
        return body(ApiError(ErrorCode.SECURITY_DISABLED, _NO_AUTHORIZER_TO_LIST))
    found = sorted(services.authorizer.acls(wanted), key=_pattern)
    resources = tuple(_resource(parts, list(acls)) for _, acls in groupby(found, key=_pattern))
    return body(SUCCESS, resources)


def create(services: Services, question: Question) -> Answer:
    creations = question.request.body.creations
    acls = [_acl_of(each) for each in creations]
    parts = response_parts(CREATE_ACLS, question.request.head.version)

    def body(errors: Sequence[ApiError]) -> Body:
        return parts.CreateAclsResponse(
            throttle_time=NO_THROTTLING,
            results=tuple(parts.AclCreationResult(**error_fields(error)) for error in errors),
        )

    try:
        _may_alter(services, question)
        if any(map(_is_for_filters, acls)):
            return body([_UNEXPECTED] * len(acls))
        return when_done(services.replica.create_acls(question.context, acls), body)
    except Refused as refused:
        return body([refused.error] * len(acls))


def delete(services: Services, question: Question) -> Answer:
    filters = [_filter_of(each) for each in question.request.body.filters]
    parts = response_parts(DELETE_ACLS, question.request.head.version)

    def body(results: Sequence[AclDeleteResult]) -> Body:
        return parts.DeleteAclsResponse(
            throttle_time=NO_THROTTLING,
            filter_results=tuple(_filter_result(parts, result) for result in results),
        )

    try:
        _may_alter(services, question)
        return when_done(services.replica.delete_acls(question.context, filters), body)
    except Refused as refused:
        return body([AclDeleteResult(refused.error)] * len(filters))


def _may_alter(services: Services, question: Question) -> None:
    ask(services, question, Operation.ALTER)
    if services.authorizer is None:
        raise Refused(ErrorCode.SECURITY_DISABLED, _NO_AUTHORIZER)


def _is_for_filters(acl: Acl) -> bool:
    """Kafka's own classes refuse such an ACL before anything can say what is wrong."""
    return (
        acl.resource_type is ResourceType.ANY
        or acl.pattern_type in (PatternType.ANY, PatternType.MATCH)
        or acl.operation is Operation.ANY
        or acl.permission_type is PermissionType.ANY
    )


def _pattern(acl: Acl) -> tuple[ResourceType, str, PatternType]:
    return acl.resource_type, acl.resource_name, acl.pattern_type


def _resource(parts: Any, acls: Sequence[Acl]) -> Any:
    first = acls[0]
    return parts.DescribeAclsResource(
        resource_type=int(first.resource_type),
        resource_name=first.resource_name,
        pattern_type=int(first.pattern_type),
        acls=tuple(
            parts.AclDescription(
                principal=acl.principal,
                host=acl.host,
                operation=int(acl.operation),
                permission_type=int(acl.permission_type),
            )
            for acl in acls
        ),
    )


def _filter_result(parts: Any, result: AclDeleteResult) -> Any:
    return parts.DeleteAclsFilterResult(
        **error_fields(result.error),
        matching_acls=tuple(
            parts.DeleteAclsMatchingAcl(
                error_code=KafkaErrorCode.none,
                error_message=None,
                resource_type=int(acl.resource_type),
                resource_name=acl.resource_name,
                pattern_type=int(acl.pattern_type),
                principal=acl.principal,
                host=acl.host,
                operation=int(acl.operation),
                permission_type=int(acl.permission_type),
            )
            for acl in result.deleted
        ),
    )


def _acl_of(creation: Any) -> Acl:
    pattern_type = creation.resource_pattern_type
    _check_codes(creation.resource_type, pattern_type, creation.operation, creation.permission_type)
    return Acl(
        resource_type_of(creation.resource_type),
        creation.resource_name,
        pattern_type_of(pattern_type),
        creation.principal,
        creation.host,
        operation_of(creation.operation),
        permission_type_of(creation.permission_type),
    )


def _filter_of(asked: Any) -> AclFilter:
    pattern_type = asked.pattern_type_filter
    _check_codes(asked.resource_type_filter, pattern_type, asked.operation, asked.permission_type)
    return AclFilter(
        ResourcePatternFilter(
            resource_type_of(asked.resource_type_filter),
            asked.resource_name_filter,
            pattern_type_of(pattern_type),
        ),
        AccessControlEntryFilter(
            asked.principal_filter,
            asked.host_filter,
            operation_of(asked.operation),
            permission_type_of(asked.permission_type),
        ),
    )


def _check_codes(*codes: int) -> None:
    if 0 in codes:
        raise Malformed("an enum of an ACL is 0 (UNKNOWN)")
