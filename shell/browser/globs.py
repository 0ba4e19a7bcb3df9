"""Matches Kafka's globs: ``*``, ``?`` and ``{a,b}``; a backslash escapes the next character.

As in Kafka's shell, there are no character ranges. A component whose braces are nested or not
closed is a plain name. A glob matches names as paths show them. This module must not know the
tree, or how a line is quoted.
"""

from __future__ import annotations

import re
from typing import Final

SPECIAL: Final = frozenset("*?{},\\")
_CHARACTER: Final = re.compile(r"\\(.)|(.)", re.DOTALL)


def literal(text: str) -> str:
    """``text`` as a glob that matches only itself."""
    return "".join(f"\\{character}" if character in SPECIAL else character for character in text)


def unescaped(glob: str) -> str:
    return _CHARACTER.sub(lambda match: match[1] or match[2], glob)


def pattern(glob: str) -> re.Pattern[str] | None:
    """The compiled pattern, or None if ``glob`` is a plain name."""
    expression: list[str] = []
    grouping = special = False
    for match in _CHARACTER.finditer(glob):
        escaped, bare = match.groups()
        if bare == "{" and grouping:
            return None
        if bare in ("*", "?", "{", "}", ",") and (grouping or bare not in ("}", ",")):
            special = True
            grouping = bare == "{" or (grouping and bare != "}")
            expression.append(_SPECIAL_EXPRESSIONS[bare])
        else:
            expression.append(re.escape(escaped or bare))
    if grouping or not special:
        return None
    return re.compile("".join(expression), re.DOTALL)


_SPECIAL_EXPRESSIONS: Final = {"*": ".*", "?": ".", "{": "(?:", "}": ")", ",": "|"}
