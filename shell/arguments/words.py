"""Parses words for Kafka's enums in any case, and suggests the nearest known word.

``DescribeConfigs``, ``describe_configs`` and ``describe-configs`` are the same word. This module
must not know what the words are used for.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, TypeVar

from metalog.acl import CLUSTER_NAME, Operation, ResourceType, camel
from metalog.errors import InvalidRequest

Word = TypeVar("Word", bound=IntEnum)

_FILTER_WORDS: Final = frozenset({"UNKNOWN", "ANY", "MATCH"})
_LITERAL: Final = "LITERAL:"


def folded(text: str) -> str:
    return text.replace("_", "").replace("-", "").replace(" ", "").casefold()


def parse_word(kind: type[Word], text: str, what: str, *, filter: bool = False) -> Word:
    """The member of ``kind`` that ``text`` names. Members for filters (ANY, MATCH) are accepted
    only with ``filter``."""
    members = {folded(word.name): word for word in kind if filter or word.name not in _FILTER_WORDS}
    member = members.get(folded(text))
    if member is None:
        from authorizer.analysis.explain.names import nearest_name

        near = nearest_name(folded(text), members.keys())
        raise InvalidRequest(
            f"unknown {what} {text!r}; did you mean {camel(members[near])}?"
            if near is not None
            else f"unknown {what} {text!r}; it is one of {', '.join(map(camel, members.values()))}"
        )
    return member


def parse_operation(text: str) -> Operation:
    return parse_word(Operation, text, "operation")


def parse_resource(text: str) -> tuple[ResourceType, str]:
    """The resource of ``TYPE:NAME``, of ``TYPE:LITERAL:NAME`` as in an audit line, or of
    ``cluster`` alone."""
    type_text, colon, name = text.partition(":")
    if not colon and folded(type_text) == folded(ResourceType.CLUSTER.name):
        return ResourceType.CLUSTER, CLUSTER_NAME
    if not colon and folded(text) not in map(folded, ResourceType.__members__):
        raise InvalidRequest(f"resource {text!r} has no type; write it as topic:{text}")
    resource_type = parse_word(ResourceType, type_text, "resource type")
    name = name.removeprefix(_LITERAL)
    if not name:
        raise InvalidRequest(f"resource {text!r} has no name; write it as {type_text}:NAME")
    return resource_type, name
