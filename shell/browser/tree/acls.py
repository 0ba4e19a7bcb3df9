"""ACLs: ``/acl`` by id, principal and resource, in KIP-801's JSON, and ``/image/acls`` in Kafka's
form.

This module must not know how the tree is printed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from metalog.acl import Acl
from metalog.ids import Uuid, parse_uuid, uuid_text
from metalog.image.state.acls import AclsImage
from shell.browser.nodes import Directory, Leaf, Node, fixed, listing
from shell.tasks.acl_words import sentence
from shell.views.acls import fields_with_id

AclLeaf = Callable[[Uuid, Acl], Leaf]


def acl_directory(image: AclsImage) -> Directory:
    return fixed(
        {
            "id": lambda: _by_id(image, image.by_id, json_leaf),
            "byPrincipal": lambda: listing(
                lambda: _by_principal(image), lambda ids: _by_id(image, ids, json_leaf)
            ),
            "byResource": lambda: _by_resource(image),
        }
    )


def kafka_acls(image: AclsImage) -> Directory:
    return fixed({"byId": lambda: _by_id(image, image.by_id, kafka_leaf)})


def json_leaf(uuid: Uuid, acl: Acl) -> Leaf:
    """The record as JSON, with words for enum values (KIP-801, "Metadata Shell")."""
    return Leaf(fields_with_id(uuid_text(uuid), acl), sentence(acl))


def kafka_leaf(uuid: Uuid, acl: Acl) -> Leaf:
    return Leaf(
        f"StandardAcl[resourceType={acl.resource_type.name}, resourceName={acl.resource_name}, "
        f"patternType={acl.pattern_type.name}, principal={acl.principal}, host={acl.host}, "
        f"operation={acl.operation.name}, permissionType={acl.permission_type.name}]"
    )


def _by_id(image: AclsImage, ids: Iterable[Uuid], leaf: AclLeaf) -> Directory:
    def child(name: str) -> Node | None:
        try:
            uuid = parse_uuid(name)
        except ValueError:
            return None
        acl = image.by_id.get(uuid) if uuid in ids else None
        return None if acl is None else leaf(uuid, acl)

    return Directory(lambda: map(uuid_text, ids), child)


def _by_principal(image: AclsImage) -> dict[str, dict[Uuid, None]]:
    found: dict[str, dict[Uuid, None]] = {}
    for uuid, acl in image.by_id.items():
        found.setdefault(acl.principal, {})[uuid] = None
    return found


def _by_resource(image: AclsImage) -> Directory:
    def grouped() -> dict[str, dict[str, dict[str, dict[Uuid, None]]]]:
        found: dict[str, dict[str, dict[str, dict[Uuid, None]]]] = {}
        for uuid, acl in image.by_id.items():
            patterns = found.setdefault(acl.resource_type.name, {})
            resources = patterns.setdefault(acl.pattern_type.name, {})
            resources.setdefault(acl.resource_name, {})[uuid] = None
        return found

    return listing(
        grouped,
        lambda patterns: listing(
            lambda: patterns,
            lambda resources: listing(lambda: resources, lambda ids: _by_id(image, ids, json_leaf)),
        ),
    )
