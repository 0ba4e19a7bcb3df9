"""Parses operations and resources as people write them on a command line.

This module must not know what the words are used for.
"""

from __future__ import annotations

from typing import Final

from metalog.acl import CLUSTER_NAME, Operation, ResourceType
from metalog.errors import InvalidRequest
from metalog_sources.formats.nodes.words import folded, read_word

_LITERAL: Final = "LITERAL:"


def parse_operation(text: str) -> Operation:
    return read_word(Operation, text, "operation")


def parse_resource(text: str) -> tuple[ResourceType, str]:
    """The resource of ``TYPE:NAME``, of ``TYPE:LITERAL:NAME`` as in an audit line, or of
    ``cluster`` alone."""
    type_text, colon, name = text.partition(":")
    if not colon and folded(type_text) == folded(ResourceType.CLUSTER.name):
        return ResourceType.CLUSTER, CLUSTER_NAME
    if not colon and folded(text) not in map(folded, ResourceType.__members__):
        raise InvalidRequest(f"resource {text!r} has no type; write it as topic:{text}")
    resource_type = read_word(ResourceType, type_text, "resource type")
    name = name.removeprefix(_LITERAL)
    if not name:
        raise InvalidRequest(f"resource {text!r} has no name; write it as {type_text}:NAME")
    return resource_type, name
