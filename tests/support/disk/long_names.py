"""ACL records whose name is longer than Kafka writes or reads, as an older writer left them.

This module must not know what a test claims.
"""

from __future__ import annotations

from metalog.records.primitives.fields import write_bytes
from metalog.records.record import RawRecord

MAX = 32_767
_FRAME, _ID = bytes((1, 18, 0)), bytes(15) + b"\x01"
_PRINCIPAL, _HOST = b"\x07User:a", b"\x02*"


def acl_body(name_bytes: int) -> bytes:
    """READ on a topic with a name of so many bytes, without the frame."""
    out = bytearray(_ID + b"\x02")
    write_bytes(out, b"n" * name_bytes)
    return bytes(out) + b"\x03" + _PRINCIPAL + _HOST + b"\x03\x03\x00"


def acl_value(name_bytes: int) -> bytes:
    return _FRAME + acl_body(name_bytes)


def raw_record(index: int, name_bytes: int) -> RawRecord:
    return RawRecord(0, 0, index, None, acl_value(name_bytes), ())
