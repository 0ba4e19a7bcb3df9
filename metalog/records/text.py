"""Strings as Java reads and writes them: UTF-8, malformed bytes replaced.

Both put U+FFFD for what is malformed. They differ in one case: a surrogate
encoded in three bytes, or its first two, is one U+FFFD to Java and several to Python.

This module must not know where a string stands.
"""

from __future__ import annotations

import codecs
import re
from typing import Final

REPLACEMENT: Final = "\ufffd"
"""What stands for malformed bytes; a text may also hold it rightly."""

_JAVA: Final = "metalog-java"
_SURROGATE: Final = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")


def decode_text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("utf-8", _JAVA)


def encode_text(text: str) -> bytes:
    """``?`` for a lone surrogate, as Java does."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def _replace_as_java_does(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    data, start = error.object, error.start
    surrogate = _SURROGATE.match(data, start)
    return REPLACEMENT, error.end if surrogate is None else surrogate.end()


codecs.register_error(_JAVA, _replace_as_java_does)
