r"""Kafka's globs: ``*``, ``?`` and ``{a,b}``; a backslash takes the next character as it is.

As in Kafka's shell there are no character ranges, and a group that is not closed, or
stands in another, makes its component a plain name. Matching is against a name as it
is shown. This module must not know what is walked, or how a line is quoted.
"""

from __future__ import annotations

import re
from typing import Final

SPECIAL: Final = frozenset("*?{},\\")
_STEP: Final = re.compile(r"\\(.)|(.)", re.DOTALL)


def literal(text: str) -> str:
    """``text`` as a glob that matches nothing but itself."""
    return "".join(f"\\{character}" if character in SPECIAL else character for character in text)


def unescaped(glob: str) -> str:
    """What ``glob`` says when it is not a pattern."""
    return _STEP.sub(lambda step: step[1] or step[2], glob)


def pattern(glob: str) -> re.Pattern[str] | None:
    """The pattern that ``glob`` is, or None where it is a plain name."""
    expression: list[str] = []
    grouping = special = False
    for step in _STEP.finditer(glob):
        escaped, bare = step.groups()
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
