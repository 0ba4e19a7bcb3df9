"""Parses operations and resources as people write them on a command line, and adds kafka-acls'
options that name resources.

This module must not know what is done with the resources.
"""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Final

from metalog.acl import CLUSTER_NAME, Operation, ResourceType
from metalog.errors import InvalidRequest
from metalog_sources.formats.nodes.words import folded, read_word

if TYPE_CHECKING:
    from argparse import _ArgumentGroup

_LITERAL: Final = "LITERAL:"
_OPTIONS: Final = {
    "topic": ResourceType.TOPIC,
    "group": ResourceType.GROUP,
    "transactional_id": ResourceType.TRANSACTIONAL_ID,
    "delegation_token": ResourceType.DELEGATION_TOKEN,
    "user_principal": ResourceType.USER,
}


def parse_operation(text: str) -> Operation:
    return read_word(Operation, text, "operation")


def parse_resource(text: str, *, may_be_empty: bool = False) -> tuple[ResourceType, str]:
    """Parse ``TYPE:NAME``, ``TYPE:LITERAL:NAME`` as in an audit line, or ``cluster``.

    Raises:
        InvalidRequest: the text has no known type, or has no name and not ``may_be_empty``.
    """
    type_text, colon, name = text.partition(":")
    if not colon and folded(type_text) == folded(ResourceType.CLUSTER.name):
        return ResourceType.CLUSTER, CLUSTER_NAME
    if not colon and folded(text) not in map(folded, ResourceType.__members__):
        if folded(text) in map(folded, Operation.__members__):
            raise InvalidRequest(
                f"{text!r} is an operation, not a resource such as topic:NAME: leave out {text!r}"
            )
        raise InvalidRequest(f"resource {text!r} has no type; write it as topic:{text}")
    resource_type = read_word(ResourceType, type_text, "resource type")
    name = name.removeprefix(_LITERAL)
    if not name and not may_be_empty:
        raise InvalidRequest(f"resource {text!r} has no name; write it as {type_text}:NAME")
    return resource_type, name


def add_resources(group: _ArgumentGroup) -> None:
    group.add_argument("--topic", action="append", metavar="NAME")
    group.add_argument("--group", action="append", metavar="NAME")
    group.add_argument("--cluster", action="store_true")
    group.add_argument("--transactional-id", action="append", metavar="ID")
    group.add_argument("--delegation-token", action="append", metavar="ID")
    group.add_argument("--user-principal", action="append", metavar="TYPE:NAME")


def resources(arguments: Namespace) -> list[tuple[ResourceType, str]]:
    named = [
        (resource_type, name)
        for option, resource_type in _OPTIONS.items()
        for name in getattr(arguments, option) or ()
    ]
    return [*named, *([(ResourceType.CLUSTER, CLUSTER_NAME)] if arguments.cluster else [])]
