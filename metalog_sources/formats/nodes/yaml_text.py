"""Writes a text as a YAML scalar that readers of YAML 1.1 and 1.2 read as the same text.

This module must not know what the text is about.
"""

from __future__ import annotations

import re
from typing import Final

_PLAIN: Final = re.compile(r"[A-Za-z_/][A-Za-z0-9_./@-]*(?::[A-Za-z0-9_./@-]+)*")
_NOT_TEXT: Final = frozenset(
    ("y", "yes", "n", "no", "true", "false", "on", "off", "null", "nan", "inf")
)


def scalar(text: str) -> str:
    return text if is_plain(text) else f'"{"".join(map(_escaped, text))}"'


def is_plain(text: str) -> bool:
    return _PLAIN.fullmatch(text) is not None and text.casefold() not in _NOT_TEXT


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character.isprintable():
        return character
    code = ord(character)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
