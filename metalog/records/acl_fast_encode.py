"""Fast path that encodes the value of a plain ACL record; ``acl_fast_decode`` is its twin.

It writes the same bytes as the general codec, and encodes a text that repeats only once.

This module must not know batches.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from metalog.records.messages.access_control_entry_record import AccessControlEntryRecord
from metalog.records.primitives.fields import write_string

_CODES: Final = [bytes((code,)) for code in range(128)]
_HEAD: Final = bytes((1, AccessControlEntryRecord.API_KEY, 0))
_REMEMBERED: Final = 1 << 16


def plain_acl_value(record: AccessControlEntryRecord) -> bytes | None:
    """``record`` in version 0 with its frame; None if the general codec must encode it."""
    codes = (
        record.resource_type,
        record.pattern_type,
        record.operation,
        record.permission_type,
    )
    if record.unknown_tagged_fields or len(record.id) != 16 or min(codes) < 0 or max(codes) > 127:
        return None
    try:
        return b"".join(
            (
                _HEAD,
                record.id,
                _CODES[codes[0]],
                _text(record.resource_name),
                _CODES[codes[1]],
                _text(record.principal),
                _text(record.host),
                _CODES[codes[2]],
                _CODES[codes[3]],
                b"\0",
            )
        )
    except ValueError:
        return None


@lru_cache(_REMEMBERED)
def _text(text: str) -> bytes:
    out = bytearray()
    write_string(out, text)
    return bytes(out)
