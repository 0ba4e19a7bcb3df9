"""Strings as Java reads and writes them: UTF-8, malformed bytes replaced.

Both put U+FFFD for what is malformed. They differ in one case: a surrogate
encoded in three bytes, or its first two, is one U+FFFD to Java and several to Python.

A string that Kafka writes or reads has at most ``MAX_BYTES``; it closes the connection over
a longer one, and does not load a log that holds one.

This module must not know where a string stands.
"""

from __future__ import annotations

import re
from typing import Final

REPLACEMENT: Final = "\ufffd"
"""What stands for malformed bytes; a text may also hold it rightly."""

MAX_BYTES: Final = 0x7FFF
"""Of a string in UTF-8, as the code that Kafka generates for its messages checks."""

_NO_CHARACTER: Final = b"\xff"
"""Is malformed wherever it stands, and one U+FFFD."""
_SURROGATE: Final = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")
_HALF_PAIR: Final = re.compile(f"[{chr(0xD800)}-{chr(0xDFFF)}]")


def decode_text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return _SURROGATE.sub(_NO_CHARACTER, data).decode("utf-8", "replace")


def encode_text(text: str) -> bytes:
    """``?`` for a lone surrogate, as Java does."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def check_size(data: bytes) -> None:
    """``ValueError`` for a string of more bytes than Kafka reads or writes."""
    if len(data) > MAX_BYTES:
        raise ValueError(f"a string of {len(data):,} bytes; Kafka takes at most {MAX_BYTES:,}")


def text_problem(text: str) -> str | None:
    """Why no record of Kafka's can hold ``text``, or None: what to say after its name."""
    if has_half_pair(text):
        return "is not Unicode text"
    if len(text) > MAX_BYTES or (not text.isascii() and len(encode_text(text)) > MAX_BYTES):
        size = len(encode_text(text))
        return f"has {size:,} bytes in UTF-8, and Kafka takes at most {MAX_BYTES:,}"
    return None


def has_half_pair(text: str) -> bool:
    """Whether half a surrogate pair stands in it alone, as JSON can write it: no character, and
    not what is read again once it was written."""
    return not text.isascii() and _HALF_PAIR.search(text) is not None
