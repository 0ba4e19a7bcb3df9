"""Reads the names of Kafka's enums in upper or lower case; an error suggests the nearest name.

``DescribeConfigs``, ``describe_configs`` and ``describe-configs`` are the same word. This module
must not know where the words come from.
"""

from __future__ import annotations

from enum import IntEnum
from functools import cache
from typing import Final, TypeVar

from metalog_sources.formats.document import FilePosition
from metalog_sources.formats.nodes.nodes import fault, near

Word = TypeVar("Word", bound=IntEnum)

_NOT_IN_ACLS: Final = frozenset({"UNKNOWN", "ANY", "MATCH"})


def folded(text: str) -> str:
    return text.replace("_", "").replace("-", "").replace(" ", "").casefold()


def read_word(
    kind: type[Word],
    text: str,
    what: str,
    position: FilePosition | None = None,
    *,
    filter: bool = False,
) -> Word:
    """The member of ``kind`` that ``text`` names; ANY and MATCH are valid only with ``filter``."""
    members = _known(kind, filter)
    code = members.get(text)
    if code is None:
        code = members.get(folded(text))
    if code is None:
        raise fault(position, f"unknown {what} {text!r}; {near(text, _names(kind, filter))}")
    return kind(code)


def words_for(kind: type[IntEnum]) -> list[str]:
    """The names of ``kind`` that ``read_word`` accepts."""
    return _names(kind, filter=False)


@cache
def _known(kind: type[IntEnum], filter: bool) -> dict[str, int]:
    codes = {name: kind[name].value for name in _names(kind, filter)}
    return {folded(name): code for name, code in codes.items()} | codes


def _names(kind: type[IntEnum], filter: bool) -> list[str]:
    left_out = {"UNKNOWN"} if filter else _NOT_IN_ACLS
    return [member.name for member in kind if member.name not in left_out]
