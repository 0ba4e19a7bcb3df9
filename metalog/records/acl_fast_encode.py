"""Fast path that encodes the value of a plain ACL record; ``acl_fast_decode`` is its twin.

It writes the same bytes as the general codec, and encodes a text that repeats only once.

This module must not know batches.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from metalog.records.messages.access_control_entry_record import AccessControlEntryRecord
from metalog.records.primitives.fields import TaggedFields, write_string

_HEAD: Final = bytes((1, AccessControlEntryRecord.API_KEY, 0))
_REMEMBERED: Final = 1 << 16
_ID_SIZE: Final = 16
_LARGEST_CODE: Final = 127


def plain_acl_value(record: AccessControlEntryRecord) -> bytes | None:
    """``record`` in version 0 with its frame; None if the general codec must encode it."""
    if len(record[0]) != _ID_SIZE:
        return None
    try:
        return b"".join((_HEAD, record[0], _resource(*record[1:3]), _rest(*record[3:])))
    except (TypeError, ValueError):
        return None


@lru_cache(_REMEMBERED)
def _resource(resource_type: int, resource_name: str) -> bytes:
    out = bytearray((_code(resource_type),))
    write_string(out, resource_name)
    return bytes(out)


@lru_cache(_REMEMBERED)
def _rest(
    pattern_type: int,
    principal: str,
    host: str,
    operation: int,
    permission_type: int,
    unknown_tagged_fields: TaggedFields,
) -> bytes:
    """The bytes after the name. Principals have the same few rights on many resources."""
    if unknown_tagged_fields:
        raise ValueError("tagged fields")
    out = bytearray((_code(pattern_type),))
    write_string(out, principal)
    write_string(out, host)
    out += bytes((_code(operation), _code(permission_type), 0))
    return bytes(out)


def _code(code: int) -> int:
    if not 0 <= code <= _LARGEST_CODE:
        raise ValueError("not a byte")
    return code
