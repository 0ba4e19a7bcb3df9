"""ACLs and users as the JSON lines of ``acls --json`` and ``users --json``, without ids.

This module must not know files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from metalog.acl import acl_fields
from metalog.errors import InvalidRequest
from metalog.text.plurals import counted
from metalog_sources.formats.document import (
    AclEntry,
    Document,
    ScramUser,
    in_order,
    most_entries,
    users_in_order,
)
from metalog_sources.formats.nodes.json_nodes import json_values_or
from metalog_sources.formats.nodes.nodes import (
    Fields,
    Items,
    Node,
    Text,
    fault,
    fields_of,
    items_of,
    text_of,
)
from metalog_sources.formats.nodes.rules import (
    NOTE_KEYS,
    is_user,
    plain_entry,
    read_rule,
    read_user,
)
from metalog_sources.formats.yaml import user_fields

_MISSING: Final = "missing"
_KIP11_KEYS = {"version", "acls"}


def read_json(text: str, file: str) -> Document:
    """Read consecutive JSON values, or lists of values. The ``id`` of an ACL is ignored."""
    entries: list[AclEntry] = []
    most = most_entries(len(text))
    users: list[ScramUser] = []
    missing: dict[str, None] = {}
    for value in _values(text, file):
        if isinstance(value, AclEntry):
            entries.append(value)
            continue
        node, missing_lines = _without_missing(value)
        missing.update(dict.fromkeys(missing_lines))
        if isinstance(node, Fields) and not node.pairs and missing_lines:
            continue
        if is_user(node):
            users.append(read_user(node))
        elif isinstance(node, Fields) and {key.value for key, _ in node.pairs} == _KIP11_KEYS:
            raise fault(
                node.position,
                "ACLs in ZooKeeper's form, which does not name the resource; "
                "give zookeeper://HOST:PORT as SOURCE, or write each ACL as acls --json prints it",
            )
        else:
            entries += read_rule(node, ignored=("id",))
            if len(entries) > most:
                raise fault(
                    node.position, f"the file expands to more than {counted(most, 'ACL')}; split it"
                )
    return Document(tuple(entries), users=tuple(users), missing=tuple(missing))


def _without_missing(node: Node) -> tuple[Node, list[str]]:
    """``node`` without its key ``missing``, and a line for each missing part."""
    if not isinstance(node, Fields):
        return node, []
    lists = [value for key, value in node.pairs if key.value == _MISSING]
    if not lists:
        return node, []
    others = [pair for pair in node.pairs if pair[0].value != _MISSING]
    lines = [_missing_line(item) for value in lists for item in items_of(value, _MISSING)]
    return Fields(others, node.position), lines


def _missing_line(node: Node) -> str:
    fields = fields_of(node, "a missing part", None)
    places = [
        f"{lead}{value.value}"
        for key, lead in (("file", ""), ("offset", "offset "))
        if isinstance(value := fields.get(key), Text) and value.value is not None
    ]
    reason = text_of(fields["reason"], "reason") if "reason" in fields else "no reason is given"
    return f"{', '.join(places)}: {reason}" if places else reason


def _values(text: str, file: str) -> Iterator[Node | AclEntry]:
    for node in json_values_or(text, file, plain_entry):
        if isinstance(node, Items):
            yield from node.items
        else:
            yield node


def write_missing(fields: Sequence[Mapping[str, Any]]) -> str:
    """The first line of an incomplete file. ``fields`` are the ``doubt_fields`` of each doubt."""
    return json_line({_MISSING: list(fields)})


def write_json(document: Document) -> str:
    if document.owns:
        raise InvalidRequest("JSON lines cannot express owns; write YAML")
    lines: list[dict[str, Any]] = []
    for acl, notes, _ in in_order(document.entries):
        kept = {key: note for key, note in zip(NOTE_KEYS, notes, strict=True) if note is not None}
        lines.append(acl_fields(acl) | kept)
    lines += [user_fields(user) for user in users_in_order(document.users)]
    return "".join(json_line(line) for line in lines)


def json_line(fields: dict[str, Any]) -> str:
    """One object on a line, in ASCII, so that no name can control a terminal."""
    return json.dumps(fields, separators=(",", ":")) + "\n"
