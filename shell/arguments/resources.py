"""kafka-acls' options that name resources, for the verbs that take them.

This module must not know what is done with the resources.
"""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Final

from metalog.acl import CLUSTER_NAME, ResourceType

if TYPE_CHECKING:
    from argparse import _ArgumentGroup

_OPTIONS: Final = {
    "topic": ResourceType.TOPIC,
    "group": ResourceType.GROUP,
    "transactional_id": ResourceType.TRANSACTIONAL_ID,
    "delegation_token": ResourceType.DELEGATION_TOKEN,
    "user_principal": ResourceType.USER,
}


def add_resources(group: _ArgumentGroup) -> None:
    group.add_argument("--topic", action="append", metavar="NAME")
    group.add_argument("--group", action="append", metavar="NAME")
    group.add_argument("--cluster", action="store_true")
    group.add_argument("--transactional-id", action="append", metavar="ID")
    group.add_argument("--delegation-token", action="append", metavar="ID")
    group.add_argument("--user-principal", action="append", metavar="TYPE:NAME")


def resources(arguments: Namespace) -> list[tuple[ResourceType, str]]:
    """The resources that the options name."""
    named = [
        (resource_type, name)
        for option, resource_type in _OPTIONS.items()
        for name in getattr(arguments, option) or ()
    ]
    return [*named, *([(ResourceType.CLUSTER, CLUSTER_NAME)] if arguments.cluster else [])]
