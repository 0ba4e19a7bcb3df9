"""Reads the file of ``--owners``: which team owns which principals and resources.

The file maps a team's name to principals and resources, in the form of ``owns`` in a file of ACLs
(docs/formats/acl-files.md). Two teams may own the same resource. This module must not know what a
report shows of a team.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from metalog.acl import Acl
from metalog.errors import InvalidRequest
from metalog_sources.formats.document import Own
from metalog_sources.formats.nodes.nodes import fault, fields_of, items_of
from metalog_sources.formats.nodes.rules import read_own
from metalog_sources.formats.nodes.yaml_nodes import yaml_documents

_MAX_NAME_PART: Final = 60
"""The most characters of the team's name in a file's name."""


class Team(NamedTuple):
    name: str
    owns: tuple[Own, ...]

    def owns_principal(self, principal: str) -> bool:
        return any(own.principal == principal for own in self.owns)

    def covers(self, acl: Acl) -> bool:
        return any(own.covers(acl) for own in self.owns)


def read_owners(text: str, file: str) -> tuple[Team, ...]:
    """The teams in the file's order.

    Raises:
        InvalidRequest: the file has a mistake. The message says where.
    """
    owned: dict[str, list[Own]] = {}
    for document in yaml_documents(text, file):
        for name, node in fields_of(document, "a file of owners", None).items():
            if not name.strip():
                raise fault(node.position, "a team has no name")
            owns = [own for item in items_of(node, name) for own in read_own(item)]
            if not owns:
                raise fault(node.position, f"{name} owns nothing; list its principals or resources")
            owned.setdefault(name, []).extend(owns)
    if not owned:
        raise InvalidRequest(f"{file}: names no team; write a team's name and what it owns")
    return tuple(Team(name, tuple(owns)) for name, owns in owned.items())


def file_names(stem: str, teams: Iterable[Team]) -> dict[str, str]:
    """A unique file name for each team's page. It begins with ``stem``."""
    names: dict[str, str] = {}
    for team in teams:
        plain = re.sub(r"[^a-z0-9]+", "-", team.name.lower())[:_MAX_NAME_PART].strip("-") or "team"
        taken, name, number = set(names.values()), f"{stem}-{plain}.html", 2
        while name in taken:
            name, number = f"{stem}-{plain}-{number}.html", number + 1
        names[team.name] = name
    return names
