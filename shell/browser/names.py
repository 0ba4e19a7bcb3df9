"""Writes any name as a path component that can be printed and typed.

Percent codes (RFC 3986, of UTF-8) replace text that breaks a path or a terminal:

- a slash, and characters that do not print;
- a blank at either end;
- the names ``.`` and ``..``;
- a percent sign that ``read`` would take for a code.

The empty name is ``%``. ``read(written(name)) == name`` for every name. This module must not know
globs or quoting.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote

from metalog.text.visible_text import safe

_PLAIN: Final = re.compile(r"[!-$&-\-0-~](?:[ -$&-.0-~]*[!-$&-.0-~])?")
"""A fast test: matches most of the names that need no percent code."""
_PERCENT: Final = re.compile(r"%(?=[0-9A-Fa-f]{2})")
_CODES: Final = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_EMPTY: Final = "%"
_DOTS: Final = {".": "%2E", "..": "%2E%2E"}


def written(name: str) -> str:
    if _PLAIN.fullmatch(name):
        return name
    if not name:
        return _EMPTY
    if name == _EMPTY:
        return "%25"
    if name in _DOTS:
        return _DOTS[name]
    text = _PERCENT.sub("%25", name)
    ends = (0, len(text) - 1)
    return "".join(
        _code(character) if _breaks(character, at_end=at in ends) else character
        for at, character in enumerate(text)
    )


def read(component: str) -> str:
    if component == _EMPTY:
        return ""
    return _CODES.sub(_decoded, component) if "%" in component else component


def _breaks(character: str, *, at_end: bool) -> bool:
    if character == " ":
        return at_end
    return character == "/" or not character.isprintable() or safe(character) != character


def _code(character: str) -> str:
    return "%20" if character == " " else quote(character, safe="", errors="surrogatepass")


def _decoded(codes: re.Match[str]) -> str:
    text = codes.group()
    try:
        return bytes.fromhex(text.replace("%", "")).decode("utf-8", errors="surrogatepass")
    except UnicodeDecodeError:
        return text
