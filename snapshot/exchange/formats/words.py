"""The words of files for Kafka's enums, in any case, and the nearest known one.

This module must not know files.
"""

from __future__ import annotations

from enum import IntEnum
from functools import cache
from typing import Final, TypeVar

from snapshot.exchange.formats.document import Place
from snapshot.exchange.formats.nodes import fault, near

Word = TypeVar("Word", bound=IntEnum)

_FILTERS: Final = frozenset({"UNKNOWN", "ANY", "MATCH"})


def camel(word: IntEnum) -> str:
    """``DescribeConfigs``, as kafka-acls and the files of other tools write it."""
    return "".join(part.capitalize() for part in word.name.split("_"))


def read_word(kind: type[Word], text: str, what: str, place: Place | None) -> Word:
    """The member of ``kind`` that an ACL may have and that ``text`` names."""
    known = _known(kind)
    code = known.get(text)
    if code is None:
        code = known.get(_folded(text))
    if code is None:
        names = [member.name for member in kind if member.name not in _FILTERS]
        raise fault(place, f"unknown {what} {text!r}; {near(text, names)}")
    return kind(code)


@cache
def _known(kind: type[IntEnum]) -> dict[str, int]:
    """A member's own name, and that folded, to its code."""
    members = [member for member in kind if member.name not in _FILTERS]
    return {_folded(each.name): each.value for each in members} | {
        each.name: each.value for each in members
    }


def _folded(text: str) -> str:
    return text.replace("_", "").replace("-", "").casefold()
