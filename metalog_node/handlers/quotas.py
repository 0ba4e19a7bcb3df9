"""Answers DescribeClientQuotas with an empty list, because a node enforces no client quotas.

``kafka-configs`` sends this request before it shows a user's credentials. An invalid filter gets
Kafka's error. This module must not know ACLs or users.
"""

from __future__ import annotations

from typing import Any, Final

from metalog.acl import Operation
from metalog.errors import SUCCESS, ApiError, ErrorCode, InvalidRequest
from metalog.wire.schema import Body, response_parts
from metalog.wire.versions import VersionRange
from metalog_node.handlers.request import (
    NO_THROTTLING,
    SMALL_REQUESTS,
    Answer,
    HandledApi,
    IncomingRequest,
    Services,
    authorize_cluster,
    outcome_fields,
)

DESCRIBE_QUOTAS: Final = 48

_ENTITY_TYPES: Final = ("user", "client-id", "ip")
_EXACT: Final = 0
_MATCH_TYPES: Final = {
    _EXACT: "MATCH_TYPE_EXACT",
    1: "MATCH_TYPE_DEFAULT",
    2: "MATCH_TYPE_SPECIFIED",
}


class UnsupportedEntity(InvalidRequest):
    """The filter's entity type is not a user, a client id or an address."""

    code = ErrorCode.UNSUPPORTED_VERSION


def describe(services: Services, incoming: IncomingRequest) -> Answer:
    authorize_cluster(services, incoming, Operation.DESCRIBE_CONFIGS)
    _check(incoming.request.body.components)
    return _described(incoming, SUCCESS)


def refuse_describe(incoming: IncomingRequest, error: ApiError) -> Body:
    return _described(incoming, error)


def _check(components: tuple[Any, ...]) -> None:
    """Check the filter in the order and with the messages of Kafka's ClientQuotasImage."""
    seen: set[str] = set()
    for component in components:
        if not component.entity_type:
            raise InvalidRequest("Invalid empty entity type.")
        if component.entity_type in seen:
            raise InvalidRequest(
                f"Entity type {component.entity_type} cannot appear more than once in the filter."
            )
        if component.entity_type not in _ENTITY_TYPES:
            raise UnsupportedEntity(f"Unsupported entity type {component.entity_type}")
        if component.match_type not in _MATCH_TYPES:
            raise InvalidRequest(f"Unknown match type {component.match_type}")
        if component.match_type == _EXACT and component.match is None:
            raise InvalidRequest(
                "Request specified MATCH_TYPE_EXACT, but set match string to null."
            )
        if component.match_type != _EXACT and component.match is not None:
            raise InvalidRequest(
                f"Request specified {_MATCH_TYPES[component.match_type]}, "
                "but also specified a match string."
            )
        seen.add(component.entity_type)
    if "ip" in seen and len(seen) > 1:
        raise InvalidRequest(
            "Invalid entity filter component combination. IP filter component should not be used "
            "with user or clientId filter component."
        )


def _described(incoming: IncomingRequest, error: ApiError) -> Body:
    parts = response_parts(DESCRIBE_QUOTAS, incoming.request.head.version)
    return parts.DescribeClientQuotasResponse(
        throttle_time=NO_THROTTLING, **outcome_fields(error), entries=None if error else ()
    )


APIS: Final = {
    DESCRIBE_QUOTAS: HandledApi(
        "DescribeClientQuotas", VersionRange(0, 1), describe, refuse_describe, **SMALL_REQUESTS
    )
}
