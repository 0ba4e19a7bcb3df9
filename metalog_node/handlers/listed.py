"""DescribeAcls' answer: as a body, or as the bytes of one, put together from its resources'.

To write ten thousand ACLs anew takes long enough to be noticed, and a change of one leaves the
bytes of all other resources as they were, so those are remembered, of each as it was last.
This module must not know who asks, nor how long an answer stays true.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any, Final

from kio.serial.writers import write_compact_array_length, write_legacy_array_length
from kio.static.primitive import i32

from metalog.acl import Acl, PatternType, ResourceType
from metalog.errors import SUCCESS, ApiError
from metalog.wire.messages import write_data, write_response
from metalog.wire.schema import Body, response_parts
from metalog_node.handlers.question import NO_THROTTLING, outcome_fields

DESCRIBE_ACLS: Final = 29
_PATTERN_TYPES_SINCE: Final = 1
_NO_TAGS: Final = b"\0"
_REMEMBERED: Final = 1 << 16
"""So many resources, some of which may be gone."""

_Pattern = tuple[ResourceType, str, PatternType]
_last_written: dict[tuple[int, _Pattern], tuple[tuple[Acl, ...], bytes]] = {}
"""By version and pattern: the ACLs, and their resource's bytes."""


def described(version: int, acls: Iterable[Acl]) -> Body:
    return _answer(version, SUCCESS, [_resource(version, each) for each in _by_pattern(acls)])


def not_described(version: int, error: ApiError) -> Body:
    return _answer(version, error, [])


def written(version: int, acls: Iterable[Acl]) -> bytes:
    """What ``write_response`` makes of ``described``, with 0 for the correlation id."""
    resources = [_written_resource(version, each) for each in _by_pattern(acls)]
    nothing = described(version, ())
    head = write_response(nothing, 0).removesuffix(_end_of(nothing, []))
    return head + _end_of(nothing, resources)


def pattern_type_field(version: int, acl: Acl) -> dict[str, int]:
    return {"pattern_type": int(acl.pattern_type)} if version >= _PATTERN_TYPES_SINCE else {}


def _answer(version: int, error: ApiError, resources: list[Any]) -> Body:
    return response_parts(DESCRIBE_ACLS, version).DescribeAclsResponse(
        throttle_time=NO_THROTTLING, **outcome_fields(error), resources=tuple(resources)
    )


def _end_of(body: Body, resources: list[bytes]) -> bytes:
    """The resources are the last field; what can be extended has its tags behind it."""
    length = io.BytesIO()
    if body.__flexible__:
        write_compact_array_length(length, len(resources))
        return b"".join((length.getvalue(), *resources, _NO_TAGS))
    write_legacy_array_length(length, i32(len(resources)))
    return b"".join((length.getvalue(), *resources))


def _by_pattern(acls: Iterable[Acl]) -> list[tuple[Acl, ...]]:
    """Those of each resource pattern, by type and name."""
    together: dict[_Pattern, list[Acl]] = {}
    for acl in acls:
        together.setdefault(_pattern(acl), []).append(acl)
    return [tuple(together[pattern]) for pattern in sorted(together)]


def _pattern(acl: Acl) -> _Pattern:
    return acl.resource_type, acl.resource_name, acl.pattern_type


def _written_resource(version: int, acls: tuple[Acl, ...]) -> bytes:
    place = version, _pattern(acls[0])
    then, data = _last_written.get(place, ((), b""))
    if then != acls:
        data = write_data(_resource(version, acls))
        if len(_last_written) >= _REMEMBERED:
            _last_written.clear()
        _last_written[place] = acls, data
    return data


def _resource(version: int, acls: tuple[Acl, ...]) -> Any:
    parts = response_parts(DESCRIBE_ACLS, version)
    first = acls[0]
    return parts.DescribeAclsResource(
        resource_type=int(first.resource_type),
        resource_name=first.resource_name,
        **pattern_type_field(version, first),
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
