"""Makes the response of DescribeAcls, as a body or as pieces of bytes.

The library kio takes ten times as long for a long listing. A test compares kio's bytes with this
module's bytes. This module must not know the caller, nor how long a response stays valid.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any, Final, NamedTuple

from authorizer.engine.buckets import Bucket, ManyAcls
from authorizer.engine.index import AclIndex
from authorizer.engine.listing import ListedParts
from metalog.acl import ANY_ACL, Acl, AclFilter, ResourceType
from metalog.errors import SUCCESS, ApiError
from metalog.records.primitives.fields import write_string
from metalog.records.primitives.text import encode_text
from metalog.records.primitives.varint import write_unsigned_varint
from metalog.wire.messages import write_response
from metalog.wire.schema import Body, response_parts
from metalog_node.handlers.request import NO_THROTTLING, outcome_fields

DESCRIBE_ACLS: Final = 29
_PATTERN_TYPES_SINCE: Final = 1
_FLEXIBLE_SINCE: Final = 2
_NO_TAGS: Final = b"\0"
_CODE: Final = [bytes((code,)) for code in range(128)]
_MOST_TEXTS: Final = 1 << 12
_CORRELATION_ID_BYTES: Final = 4
_PATTERN_TYPE: Final = attrgetter("pattern_type")

_Pattern = tuple[int, int, str]
"""Codes rather than enum members, which are slow to hash."""


def described(version: int, acls: Iterable[Acl]) -> Body:
    return answer(
        version, SUCCESS, [_resource(version, resource_acls) for resource_acls in _by_pattern(acls)]
    )


def written(version: int, acls: Iterable[Acl]) -> list[bytes]:
    """The encoded response ``described``, in pieces, without the correlation id."""
    resources = [_resource_bytes(version, resource_acls) for resource_acls in _by_pattern(acls)]
    return _pieces(version, len(resources), resources)


def written_by_name(version: int, wanted: AclFilter, index: AclIndex) -> list[bytes]:
    """As ``written``, for a filter with a resource name, but in the order of ``buckets_listed``.
    The ACLs of a ``ManyAcls`` are not sorted, because sorting would block all threads."""
    part = _part_of(version, wanted, index.buckets_listed(wanted))
    return _pieces(version, part.resources, [part.data])


class _Part(NamedTuple):
    resources: int
    data: bytes


class Listing:
    """Encodes the ACLs that ``wanted`` matches, a filter without a resource name. ``written``
    encodes only the parts that changed since its previous call."""

    def __init__(self, version: int, wanted: AclFilter) -> None:
        self._version = version
        resource_type = wanted.pattern.resource_type
        types = list(ResourceType) if resource_type is ResourceType.ANY else [resource_type]
        self._parts = ListedParts(partial(_part_of, version, wanted), types)

    def written(self, index: AclIndex) -> list[bytes]:
        """As in ``written_by_name``, the ACLs of a ``ManyAcls`` are not sorted."""
        parts = self._parts.of(index)
        resources = sum(part.resources for part in parts)
        return _pieces(self._version, resources, [part.data for part in parts])


def _part_of(version: int, wanted: AclFilter, buckets: Iterable[Bucket]) -> _Part:
    written = []
    for bucket in buckets:
        acls: Iterable[Acl] = bucket.acls() if type(bucket) is ManyAcls else bucket.in_order()
        if wanted != ANY_ACL:
            acls = filter(wanted.matches, acls)
        for _, listed in groupby(acls, _PATTERN_TYPE):
            written.append(_resource_bytes(version, list(listed)))
    return _Part(len(written), b"".join(written))


def pattern_type_field(version: int, acl: Acl) -> dict[str, int]:
    return {"pattern_type": int(acl.pattern_type)} if version >= _PATTERN_TYPES_SINCE else {}


def answer(version: int, error: ApiError, resources: Sequence[Any] = ()) -> Body:
    return response_parts(DESCRIBE_ACLS, version).DescribeAclsResponse(
        throttle_time=NO_THROTTLING, **outcome_fields(error), resources=tuple(resources)
    )


def _pieces(version: int, count: int, resources: list[bytes]) -> list[bytes]:
    """The response's last field is the array of resources. In a flexible version, empty tagged
    fields follow."""
    nothing = described(version, ())
    is_flexible = nothing.__flexible__
    tags = _NO_TAGS if is_flexible else b""
    head = write_response(nothing, 0).removesuffix(_array_length(0, is_flexible) + tags)
    return [head[_CORRELATION_ID_BYTES:], _array_length(count, is_flexible), *resources, tags]


def _array_length(items: int, is_flexible: bool) -> bytes:
    if not is_flexible:
        return items.to_bytes(4, "big")
    out = bytearray()
    write_unsigned_varint(out, items + 1)
    return bytes(out)


def _by_pattern(acls: Iterable[Acl]) -> list[list[Acl]]:
    together: dict[_Pattern, list[Acl]] = {}
    for acl in acls:
        pattern = int(acl.resource_type), int(acl.pattern_type), acl.resource_name
        together.setdefault(pattern, []).append(acl)
    return [listed for _, listed in sorted(together.items(), key=itemgetter(0))]


def _resource_bytes(version: int, acls: list[Acl]) -> bytes:
    """The bytes that kio writes for ``_resource``."""
    is_flexible = version >= _FLEXIBLE_SINCE
    text = _compact_text if is_flexible else _text
    tags = _NO_TAGS if is_flexible else b""
    first = acls[0]
    out = bytearray(_CODE[first.resource_type])
    out += text.__wrapped__(first.resource_name)
    if version >= _PATTERN_TYPES_SINCE:
        out += _CODE[first.pattern_type]
    out += _array_length(len(acls), is_flexible)
    for _, _, _, principal, host, operation, permission_type in acls:
        out += text(principal)
        out += text(host)
        out += _CODE[operation]
        out += _CODE[permission_type]
        out += tags
    out += tags
    return bytes(out)


@lru_cache(_MOST_TEXTS)
def _compact_text(text: str) -> bytes:
    out = bytearray()
    write_string(out, text)
    return bytes(out)


@lru_cache(_MOST_TEXTS)
def _text(text: str) -> bytes:
    data = encode_text(text)
    return len(data).to_bytes(2, "big") + data


def _resource(version: int, acls: list[Acl]) -> Any:
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
