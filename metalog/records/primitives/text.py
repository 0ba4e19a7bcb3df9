"""Reads and writes strings as Java does, in UTF-8.

Java and Python both decode malformed bytes to U+FFFD, with one difference: a surrogate in three
bytes, or the first two of these bytes, becomes one U+FFFD in Java, and several in Python.

A string of Kafka has at most ``MAX_BYTES`` bytes. Kafka closes a connection that sends a
longer string, and does not load a log that has a longer string.

This module must not know where a string is stored.
"""

from __future__ import annotations

import re
from typing import Final

REPLACEMENT: Final = "\ufffd"
"""The character that replaces malformed bytes. A valid text can contain this character too; only
the bytes show the difference."""
NOT_UTF8: Final = "has text that is not UTF-8"
"""The doubt about a record with a replacement character."""

MAX_BYTES: Final = 0x7FFF
"""A string may have at most this many bytes in UTF-8; Kafka's generated code checks it."""

_NO_CHARACTER: Final = b"\xff"
"""A byte that is malformed at any position, and decodes to one U+FFFD."""
_SURROGATE: Final = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")
_LONE_SURROGATE: Final = re.compile(f"[{chr(0xD800)}-{chr(0xDFFF)}]")


def decode_text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return _SURROGATE.sub(_NO_CHARACTER, data).decode("utf-8", "replace")


def encode_text(text: str) -> bytes:
    """``text`` in UTF-8; as in Java, a lone surrogate becomes ``?``."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def check_size(size: int) -> None:
    """Raise ``ValueError`` if a string of ``size`` bytes is longer than Kafka reads or writes."""
    if size > MAX_BYTES:
        raise ValueError(f"a string of {size:,} bytes; Kafka takes at most {MAX_BYTES:,}")


def text_problem(text: str) -> str | None:
    """Why no record of Kafka can hold ``text``, as a predicate (``is not …``), or None."""
    if has_lone_surrogate(text):
        return "is not Unicode text"
    if len(text) > MAX_BYTES or (not text.isascii() and len(encode_text(text)) > MAX_BYTES):
        size = len(encode_text(text))
        return f"has {size:,} bytes in UTF-8, and Kafka takes at most {MAX_BYTES:,}"
    return None


def has_lone_surrogate(text: str) -> bool:
    """Whether ``text`` has a lone surrogate, which JSON can write, and UTF-8 cannot."""
    return not text.isascii() and _LONE_SURROGATE.search(text) is not None
