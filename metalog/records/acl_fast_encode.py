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
from metalog.records.primitives.text import check_size, encode_text
from metalog.records.primitives.varint import write_unsigned_varint

_HEAD: Final = bytes((1, AccessControlEntryRecord.API_KEY, 0))
_REMEMBERED: Final = 1 << 16
_ID_SIZE: Final = 16
_LARGEST_CODE: Final = 127
_CODES: Final = [bytes((code,)) for code in range(_LARGEST_CODE + 1)]
_NO_TAGS: Final = b"\0"


def plain_acl_value(record: AccessControlEntryRecord) -> bytes | None:
    """``record`` in version 0 with its frame; None if the general codec must encode it."""
    uuid, resource_type, name, *rest, unknown_tagged_fields = record
    if len(uuid) != _ID_SIZE or unknown_tagged_fields:
        return None
    try:
        return b"".join((_HEAD, uuid, _code(resource_type), _text(name), _rest(*rest)))
    except (IndexError, TypeError, ValueError):
        return None


def acl_values(acls: Iterable[tuple[Uuid, Acl]]) -> Iterator[bytes]:
    """The values of the records that bind ids to ``acls``; ``ValueError`` if a text is too long.

    No record is made of an ACL: a snapshot has hundreds of thousands.
    """
    codes, join = _CODES, b"".join
    for uuid, acl in acls:
        name = encode_text(acl[1])
        yield join((_HEAD, uuid, codes[acl[0]], _length(len(name)), name, _rest(*acl[2:])))


def _text(text: str) -> bytes:
    encoded = encode_text(text)
    return _length(len(encoded)) + encoded


@lru_cache
def _length(size: int) -> bytes:
    """The bytes before a text of ``size`` bytes."""
    check_size(size)
    out = bytearray()
    write_unsigned_varint(out, size + 1)
    return bytes(out)


@lru_cache(_REMEMBERED)
def _rest(
    pattern_type: int, principal: str, host: str, operation: int, permission_type: int
) -> bytes:
    """The bytes after the name. Principals have the same few rights on many resources."""
    return b"".join(
        (
            _code(pattern_type),
            _text(principal),
            _text(host),
            _code(operation),
            _code(permission_type),
            _NO_TAGS,
        )
    )


def _code(code: int) -> bytes:
    if code < 0:
        raise ValueError("not a byte")
    return _CODES[code]
