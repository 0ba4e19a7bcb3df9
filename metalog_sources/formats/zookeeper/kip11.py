"""Reads and writes the ACL JSON, version 1, of one resource in ZooKeeper.

The writer uses Kafka's keys, each with one text. The reader also accepts KIP-11's lists and plural
keys. Only the path of the ZooKeeper node names the resource. This module must not know ZooKeeper.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Final

from metalog.acl import Acl, Operation, PatternType, PermissionType, ResourceType, camel
from metalog.errors import InvalidRequest
from metalog.text.plurals import counted
from metalog_sources.formats.document import AclEntry, acl_order
from metalog_sources.formats.nodes.json_nodes import json_values
from metalog_sources.formats.nodes.nodes import Node, fault, fields_of, items_of, text_of, texts_of
from metalog_sources.formats.nodes.rules import checked
from metalog_sources.formats.nodes.words import read_word

VERSION: Final = 1
_SINGULAR: Final = {"principals": "principal", "operations": "operation", "hosts": "host"}
_KEYS: Final = ("principal", "permissionType", "operation", "host", *_SINGULAR)
_PRINCIPAL_TYPES: Final = {"user:": "User:", "group:": "Group:"}

Resource = tuple[ResourceType, str, PatternType]


def read_kip11(text: str, file: str, resource: Resource) -> list[AclEntry]:
    """The ACLs of ``resource``; errors begin with ``file``, the name of the node or file.

    ``user:alice`` (KIP-11) and ``User:alice`` (Kafka) are both read as ``User:alice``.
    """
    nodes = list(json_values(text, file))
    if len(nodes) != 1:
        raise InvalidRequest(f"{file}: {counted(len(nodes), 'JSON value')} where one is expected")
    fields = fields_of(nodes[0], "the ACLs of a resource", ("version", "acls"))
    if "version" not in fields or "acls" not in fields:
        raise fault(nodes[0].position, "the ACLs of a resource have a version and acls")
    version = text_of(fields["version"], "version")
    if version != str(VERSION):
        raise fault(fields["version"].position, f"version {version} is unknown; write {VERSION}")
    return [
        entry for node in items_of(fields["acls"], "acls") for entry in _read_acl(node, resource)
    ]


def _read_acl(node: Node, resource: Resource) -> Iterator[AclEntry]:
    written = fields_of(node, "an ACL", _KEYS)
    fields: dict[str, Node] = {}
    for key, value in written.items():
        singular = _SINGULAR.get(key, key)
        if singular in fields:
            both = " and ".join(each for each in written if _SINGULAR.get(each, each) == singular)
            raise fault(value.position, f"{both} mean the same; keep one")
        fields[singular] = value
    for key in ("principal", "permissionType", "operation", "host"):
        if key not in fields:
            raise fault(node.position, f"an ACL has no {key}")
    permission = read_word(
        PermissionType,
        text_of(fields["permissionType"], "permissionType"),
        "permissionType",
        fields["permissionType"].position,
    )
    for principal in texts_of(fields["principal"], "principal"):
        for operation in texts_of(fields["operation"], "operation"):
            member = read_word(Operation, operation.value or "", "operation", operation.position)
            for host in texts_of(fields["host"], "host"):
                name, address = _principal_of(principal.value or ""), host.value or ""
                acl = Acl(*resource, name, address, member, permission)
                yield checked(AclEntry(acl, position=principal.position))


def _principal_of(text: str) -> str:
    for written, prefix in _PRINCIPAL_TYPES.items():
        if text.startswith(written):
            return prefix + text.removeprefix(written)
    return text


def write_kip11(acls: Iterable[Acl]) -> str:
    """The JSON of one resource's ACLs, in Kafka's shape."""
    entries = [
        {
            "principal": acl.principal,
            "permissionType": camel(acl.permission_type),
            "operation": camel(acl.operation),
            "host": acl.host,
        }
        for acl in sorted(set(acls), key=acl_order)
    ]
    return json.dumps({"version": VERSION, "acls": entries}, separators=(",", ":"))
