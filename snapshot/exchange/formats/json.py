"""ACLs as JSON lines: those of ``acls --json`` and ``users --json``, without ids.

This module must not know files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from metalog.acl import acl_fields
from metalog.errors import InvalidRequest
from snapshot.exchange.formats.document import (
    Document,
    Entry,
    ScramUser,
    in_order,
    users_in_order,
)
from snapshot.exchange.formats.json_nodes import json_values_or
from snapshot.exchange.formats.nodes import Fields, Items, Node, fault
from snapshot.exchange.formats.rules import (
    NOTE_KEYS,
    is_user,
    plain_entry,
    read_rule,
    read_user,
)
from snapshot.exchange.formats.yaml import user_fields

_KIP11_KEYS = {"version", "acls"}


def read_json(text: str, file: str) -> Document:
    """A value after another, or one list of them; an ``id`` is not looked at."""
    entries: list[Entry] = []
    users: list[ScramUser] = []
    for node in _values(text, file):
        if isinstance(node, Entry):
            entries.append(node)
        elif is_user(node):
            users.append(read_user(node))
        elif isinstance(node, Fields) and {key.value for key, _ in node.pairs} == _KIP11_KEYS:
            raise fault(
                node.place,
                "ACLs as ZooKeeper holds them, which do not say on which resource they are; "
                "give zookeeper://HOST:PORT itself, or write them as lines of acls --json",
            )
        else:
            entries += read_rule(node, ignored=("id",))
    return Document(tuple(entries), users=tuple(users))


def _values(text: str, file: str) -> Iterator[Node | Entry]:
    for node in json_values_or(text, file, plain_entry):
        if isinstance(node, Items):
            yield from node.items
        else:
            yield node


def write_json(document: Document) -> str:
    if document.owns:
        raise InvalidRequest("JSON lines have no place for owns; write YAML")
    lines: list[dict[str, Any]] = []
    for acl, notes, _ in in_order(document.entries):
        kept = {key: note for key, note in zip(NOTE_KEYS, notes, strict=True) if note is not None}
        lines.append(acl_fields(acl) | kept)
    lines += [user_fields(user) for user in users_in_order(document.users)]
    return "".join(json_line(line) for line in lines)


def json_line(fields: dict[str, Any]) -> str:
    """One object on a line, in ASCII: no name in it can move a terminal's cursor."""
    return json.dumps(fields, separators=(",", ":")) + "\n"
