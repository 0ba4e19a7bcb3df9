"""The names that a SOURCE on this machine has, for completion in a shell.

Unreadable records are skipped, because a completion decides nothing. This module opens no
connection, and gives up if the log takes too long to read. This module must not know which shell
asks.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from metalog.acl import PatternType, ResourceType
from metalog.errors import InvalidSource
from metalog.image.metadata import MetadataImage
from metalog.image.selection import ImageSelection
from metalog_sources.replay import replay_source
from metalog_sources.source import open_source
from metalog_sources.source_kinds import ON_THIS_MACHINE

MOST: Final = 500
"""Nobody reads more names."""
_SECONDS: Final = 2.0
_PLAIN: Final = re.compile(r"[\w.@:=,/+-]+", re.ASCII)
"""Matches a name that needs no quotes in any shell."""
_QUESTION, _PRINCIPAL, _LOGIN = "question", "principal", "login"
_NAMED: Final = ImageSelection(("topics", "scram"), partitions=False)


def names_in(source: str, kind: str, prefix: str, environ: Mapping[str, str]) -> list[str]:
    """The first names with ``prefix``, sorted, without names that need quotes in a shell.

    ``kind`` is a resource type (``topic``), ``principal``, ``login`` (SCRAM users) or ``question``
    (``topic:payments``, ``User:billing``).

    Raises:
        MetalogError: ``source`` is not on this machine, cannot be read, or takes too long.
    """
    text = str(Path(source).expanduser()) if source.startswith("~") else source
    opened = open_source(text, environ=environ, kinds=ON_THIS_MACHINE)
    end = time.monotonic() + _SECONDS

    def give_up(_reached: int, _aim: int) -> None:
        if time.monotonic() > end:
            raise InvalidSource(f"{source}: takes too long to read for a completion")

    image = replay_source(
        opened, tolerant=True, salvage=True, selection=_NAMED, progress=give_up
    ).image
    names = {name for name in _names(image, kind) if name.startswith(prefix)}
    return sorted(name for name in names if _PLAIN.fullmatch(name))[:MOST]


def _names(image: MetadataImage, kind: str) -> Iterator[str]:
    if kind in (_QUESTION, _PRINCIPAL, _LOGIN):
        lead = "" if kind == _LOGIN else "User:"
        for users in image.scram.mechanisms.values():
            yield from (f"{lead}{user}" for user in users)
    resources = {(ResourceType.TOPIC, name) for name in image.topics.by_name}
    for acl in image.acls.by_id.values():
        if acl.pattern_type is PatternType.LITERAL:
            resources.add((acl.resource_type, acl.resource_name))
        if kind in (_QUESTION, _PRINCIPAL):
            yield acl.principal
    for resource_type, name in resources:
        word = resource_type.name.lower().replace("_", "-")
        if kind == word:
            yield name
        elif kind == _QUESTION and resource_type is not ResourceType.CLUSTER:
            yield f"{word}:{name}"
