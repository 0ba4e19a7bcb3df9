"""DescribeAcls' response: as a body, or as bytes that are joined from the bytes of each resource.

Writing a long listing here takes a tenth of kio's time; a test compares the bytes with kio's. A
change of one ACL leaves the bytes of all other resources as they were, so each resource's latest
bytes are cached. This module must not know who asks, nor how long an answer stays true.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from functools import lru_cache
from operator import itemgetter
from typing import Any, Final

from kio.serial.writers import write_compact_array_length, write_legacy_array_length
from kio.static.primitive import i32

from metalog.acl import Acl
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
_TEXTS: Final = 1 << 12
"""How many encoded principals and hosts are cached."""
_REMEMBERED: Final = 1 << 16
"""How many resources are cached; some of them may no longer exist."""

_Pattern = tuple[int, str, int]
"""Codes rather than enum members, which are slow to hash."""
_last_written: dict[tuple[int, _Pattern], tuple[tuple[Acl, ...], bytes]] = {}
"""By version and pattern: the ACLs, and the bytes of their resource."""


def described(version: int, acls: Iterable[Acl]) -> Body:
    return _answer(version, SUCCESS, [_resource(version, each) for each in _by_pattern(acls)])


def not_described(version: int, error: ApiError) -> Body:
    return _answer(version, error, [])


def written(version: int, acls: Iterable[Acl]) -> bytes:
    """The bytes that ``write_response`` returns for ``described``, with the correlation id 0."""
    resources = list(_written_resources(version, acls))
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
    """The last field, the array of resources, and behind it the empty tagged fields of a flexible
    version."""
    length = io.BytesIO()
    if body.__flexible__:
        write_compact_array_length(length, len(resources))
        return b"".join((length.getvalue(), *resources, _NO_TAGS))
    write_legacy_array_length(length, i32(len(resources)))
    return b"".join((length.getvalue(), *resources))


def _by_pattern(acls: Iterable[Acl]) -> list[tuple[Acl, ...]]:
    """The ACLs of each resource pattern, by type and name."""
    return [tuple(found) for _, found in _patterns(acls)]


def _patterns(acls: Iterable[Acl]) -> list[tuple[_Pattern, list[Acl]]]:
    together: dict[_Pattern, list[Acl]] = {}
    for acl in acls:
        together.setdefault(_pattern(acl), []).append(acl)
    return sorted(together.items(), key=itemgetter(0))


def _pattern(acl: Acl) -> _Pattern:
    return int(acl.resource_type), acl.resource_name, int(acl.pattern_type)


def _written_resources(version: int, acls: Iterable[Acl]) -> Iterator[bytes]:
    for pattern, listed in _patterns(acls):
        place, found = (version, pattern), tuple(listed)
        then, data = _last_written.get(place, ((), b""))
        if then != found:
            data = _resource_bytes(version, found)
            if len(_last_written) >= _REMEMBERED:
                _last_written.clear()
            _last_written[place] = found, data
        yield data


def _resource_bytes(version: int, acls: tuple[Acl, ...]) -> bytes:
    """The bytes that kio writes for ``_resource``."""
    is_flexible = version >= _FLEXIBLE_SINCE
    text = _compact_text if is_flexible else _text
    tags = _NO_TAGS if is_flexible else b""
    first = acls[0]
    parts = [_CODE[first.resource_type], text.__wrapped__(first.resource_name)]
    if version >= _PATTERN_TYPES_SINCE:
        parts.append(_CODE[first.pattern_type])
    parts.append(_length(len(acls), is_flexible))
    for _, _, _, principal, host, operation, permission_type in acls:
        parts += (text(principal), text(host), _CODE[operation], _CODE[permission_type], tags)
    parts.append(tags)
    return b"".join(parts)


def _length(items: int, is_flexible: bool) -> bytes:
    if not is_flexible:
        return items.to_bytes(4, "big")
    out = bytearray()
    write_unsigned_varint(out, items + 1)
    return bytes(out)


@lru_cache(_TEXTS)
def _compact_text(text: str) -> bytes:
    out = bytearray()
    write_string(out, text)
    return bytes(out)


@lru_cache(_TEXTS)
def _text(text: str) -> bytes:
    data = encode_text(text)
    return len(data).to_bytes(2, "big") + data


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
