"""Reads and writes strings as Java does, in UTF-8.

Java and Python decode malformed bytes to U+FFFD. A surrogate's three bytes, or only the first two
of the three, become one U+FFFD in Java, but several in Python.

A longer string than ``MAX_BYTES`` is an error: Kafka closes the connection that sends the string,
and does not load a log with the string.

This module must not know where a string is stored.
"""

from __future__ import annotations

import re
from typing import Final

REPLACEMENT: Final = "\ufffd"
"""Replaces malformed bytes. A valid text can contain this character, too."""
NOT_UTF8: Final = "has text that is not UTF-8"

MAX_BYTES: Final = 0x7FFF
"""The longest string, in bytes of UTF-8. Kafka's generated code has the same limit."""

_MALFORMED_BYTE: Final = b"\xff"
"""Malformed at any position; decodes to one U+FFFD."""
_SURROGATE: Final = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")
_LONE_SURROGATE: Final = re.compile(f"[{chr(0xD800)}-{chr(0xDFFF)}]")


def decode_text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return _SURROGATE.sub(_MALFORMED_BYTE, data).decode("utf-8", "replace")


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
    """Why no record of Kafka can hold ``text``, such as ``is not Unicode text``, or None."""
    if has_lone_surrogate(text):
        return "is not Unicode text"
    if len(text) > MAX_BYTES or (not text.isascii() and len(encode_text(text)) > MAX_BYTES):
        size = len(encode_text(text))
        return f"has {size:,} bytes in UTF-8, and Kafka takes at most {MAX_BYTES:,}"
    return None


def has_lone_surrogate(text: str) -> bool:
    """JSON can write a lone surrogate; UTF-8 cannot."""
    return not text.isascii() and _LONE_SURROGATE.search(text) is not None
