"""Fast paths that encode the values of plain ACL records; ``acl_fast_decode`` is their twin.

They write the same bytes as the general codec, and encode a text that repeats only once.

This module must not know batches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from metalog.acl import Acl
from metalog.ids import Uuid
from metalog.records.messages.access_control_entry_record import AccessControlEntryRecord
from metalog.records.primitives.fields import TaggedFields, write_string
from metalog.records.primitives.text import encode_text

_HEAD: Final = bytes((1, AccessControlEntryRecord.API_KEY, 0))
_REMEMBERED: Final = 1 << 16
_ID_SIZE: Final = 16
_LARGEST_CODE: Final = 127
_CODES: Final = [bytes((code,)) for code in range(_LARGEST_CODE + 1)]
_NO_TAGS: Final = b"\0"


def plain_acl_value(record: AccessControlEntryRecord) -> bytes | None:
    """``record`` in version 0 with its frame; None if the general codec must encode it."""
    if len(record[0]) != _ID_SIZE:
        return None
    try:
        return b"".join((_HEAD, record[0], _resource(*record[1:3]), _rest(*record[3:])))
    except (TypeError, ValueError):
        return None


def acl_values(acls: Iterable[tuple[Uuid, Acl]]) -> Iterator[bytes]:
    """The values of the records that bind ids to ``acls``; ``ValueError`` if a text is too long.

    No record is made of an ACL: a snapshot has hundreds of thousands.
    """
    texts, codes = _Texts(), _CODES
    for uuid, acl in acls:
        resource_type, name, pattern_type, principal, host, operation, permission_type = acl
        yield b"".join(
            (
                _HEAD,
                uuid,
                codes[resource_type],
                _text(name),
                codes[pattern_type],
                texts[principal],
                texts[host],
                codes[operation],
                codes[permission_type],
                _NO_TAGS,
            )
        )


class _Texts(dict[str, bytes]):
    """Caches each text's bytes."""

    def __missing__(self, text: str) -> bytes:
        encoded = self[text] = _text(text)
        return encoded


def _text(text: str) -> bytes:
    encoded = encode_text(text)
    if len(encoded) < _LARGEST_CODE:
        return _CODES[len(encoded) + 1] + encoded
    out = bytearray()
    write_string(out, text)
    return bytes(out)


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
