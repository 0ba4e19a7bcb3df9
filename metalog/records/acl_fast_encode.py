"""Fast paths that encode ACL records without tagged fields; ``acl_fast_decode`` is the inverse.

The fast paths write the same bytes as the general codec, and cache bytes that repeat.
This module must not know batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

from metalog.acl import Acl
from metalog.ids import Uuid
from metalog.records.messages.access_control_entry_record import AccessControlEntryRecord
from metalog.records.primitives.fields import UNWRITABLE
from metalog.records.primitives.text import check_size, encode_text
from metalog.records.primitives.varint import write_unsigned_varint

_HEAD: Final = bytes((1, AccessControlEntryRecord.API_KEY, 0))
ID_AT: Final = len(_HEAD)
"""The position of the id in a value. The bytes before the id are equal in all values."""
_CACHE_SIZE: Final = 1 << 16
_ID_SIZE: Final = 16
_LARGEST_CODE: Final = 127
_CODES: Final = [bytes((code,)) for code in range(_LARGEST_CODE + 1)]
_NO_TAGS: Final = b"\0"

K = TypeVar("K")


class _Encodings(dict[K, bytes]):
    """Caches the results of ``encode`` by argument; a full cache is emptied."""

    def __init__(self, encode: Callable[[K], bytes]) -> None:
        super().__init__()
        self._encode = encode

    def __missing__(self, key: K) -> bytes:
        if len(self) >= _CACHE_SIZE:
            self.clear()
        encoded = self[key] = self._encode(key)
        return encoded


def plain_acl_value(record: AccessControlEntryRecord) -> bytes | None:
    """``record`` in version 0 with its frame; None if the general codec must encode ``record``."""
    uuid, resource_type, name, *rest, unknown_tagged_fields = record
    try:
        if len(uuid) != _ID_SIZE or unknown_tagged_fields:
            return None
        head = _HEAD + uuid + _code(resource_type)
        return head + _text(name) + _ends[tuple(rest)]  # type: ignore[index]
    except (IndexError, *UNWRITABLE):
        return None


def acl_values(acls: Iterable[tuple[Uuid, Acl]]) -> Iterator[bytes]:
    """Yields a record's value for each pair of id and ACL; ``ValueError`` if a text is too long.

    For speed, no message object is made: a snapshot can have hundreds of thousands of ACLs.
    """
    head, codes, lengths, ends, join = _HEAD, _CODES, _lengths, _ends, b"".join
    for uuid, acl in acls:
        try:
            name = acl[1].encode()
        except UnicodeEncodeError:
            name = encode_text(acl[1])
        yield join((head, uuid, codes[acl[0]], lengths[len(name)], name, ends[acl[2:]]))


def _text(text: str) -> bytes:
    encoded = encode_text(text)
    return _lengths[len(encoded)] + encoded


def _encode_length(size: int) -> bytes:
    check_size(size)
    out = bytearray()
    write_unsigned_varint(out, size + 1)
    return bytes(out)


_End = tuple[int, str, str, int, int]
"""The last fields of an ACL: pattern type, principal, host, operation and permission."""


def _encode_end(fields: _End) -> bytes:
    """The bytes after the name; cached, because a principal often has the same rights on
    many resources."""
    pattern_type, principal, host, operation, permission_type = fields
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


_lengths: Final = _Encodings(_encode_length)
_ends: Final = _Encodings(_encode_end)
