"""Reads the nodes of a parsed file into ACLs.

A rule has the keys of ``acls --json``; a key with a list gives an ACL for each item. An ACL that
Kafka would not create is an error, with Kafka's message. This module must not know the file's
format.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from enum import IntEnum
from itertools import product
from math import prod
from typing import Final, NamedTuple, TypeVar

from metalog.acl import (
    ACL_KEYS,
    CLUSTER_NAME,
    WILDCARD,
    Acl,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from metalog.controller.acl import why_not
from metalog.controller.scram import name_problem
from metalog.records.primitives.text import has_lone_surrogate
from metalog.scram import ScramCredential, ScramMechanism
from metalog.text.whole_numbers import whole_number
from metalog_sources.formats.document import (
    MAX_ACLS_OF_A_RULE,
    AclEntry,
    AclNotes,
    Document,
    FilePosition,
    Own,
    OwnsEntry,
    ScramUser,
    bounded,
    most_entries,
)
from metalog_sources.formats.nodes.nodes import (
    Fields,
    Items,
    Node,
    Text,
    fault,
    fields_of,
    items_of,
    text_of,
    texts_of,
)
from metalog_sources.formats.nodes.words import read_word

Word = TypeVar("Word", bound=IntEnum)

NOTE_KEYS: Final = ("comment", "owner", "ticket", "expires")
OWN_KEYS: Final = ("resourceType", "resourceName", "patternType", "principal")
SECRET_KEYS: Final = ("salt", "storedKey", "serverKey")
USER_KEYS: Final = ("user", "mechanism", "iterations", *SECRET_KEYS)
DOCUMENT_KEYS: Final = ("owns", "acls", "users")
_FULL: Final = frozenset(ACL_KEYS)
_PLAIN_KEYS: Final = frozenset((*ACL_KEYS, *NOTE_KEYS[:-1], "id"))


def read_document(node: Node, size: int) -> Document:
    """Read a mapping of the lists ``owns``, ``acls`` and ``users``, or a list of ACLs.

    ``size`` is the length of the whole file.
    """
    if isinstance(node, Items):
        return Document(tuple(bounded(_entries(node), size)))
    fields = fields_of(node, "the file", DOCUMENT_KEYS)
    owns = items_of(fields["owns"], "owns") if "owns" in fields else ()
    users = items_of(fields["users"], "users") if "users" in fields else ()
    owned = _owned(owns, size)
    return Document(
        tuple(bounded(_entries(fields["acls"]), size)) if "acls" in fields else (),
        tuple(entry.own for entry in owned),
        tuple(map(read_user, users)),
        owns_entries=owned,
    )


def _owned(nodes: Sequence[Node], size: int) -> tuple[OwnsEntry, ...]:
    owned: list[OwnsEntry] = []
    for node in nodes:
        owned += (OwnsEntry(own, node.position) for own in read_own(node))
        if len(owned) > most_entries(size):
            raise fault(node.position, f"the file owns more than {most_entries(size):,} patterns")
    return tuple(owned)


def _entries(node: Node) -> Iterator[AclEntry]:
    for item in items_of(node, "acls"):
        yield from read_rule(item)


class FileRule(NamedTuple):
    """Every combination of these values is an ACL."""

    types: list[ResourceType]
    names: list[str]
    patterns: list[PatternType]
    principals: list[str]
    hosts: list[str]
    operations: list[Operation]
    permissions: list[PermissionType]


def read_rule(node: Node, ignored: tuple[str, ...] = ()) -> list[AclEntry]:
    """All ACLs of one rule; keys in ``ignored`` are allowed and have no effect."""
    fields = fields_of(node, "an ACL", (*ACL_KEYS, *NOTE_KEYS, *ignored))
    types = _words(ResourceType, fields, "resourceType", node)
    name_required_by = None if set(types) == {ResourceType.CLUSTER} else node
    rule = FileRule(
        types,
        _texts(fields, "resourceName", name_required_by, CLUSTER_NAME),
        _words(PatternType, fields, "patternType", None, PatternType.LITERAL),
        _texts(fields, "principal", node),
        _texts(fields, "host", None, WILDCARD),
        _words(Operation, fields, "operation", node),
        _words(PermissionType, fields, "permissionType", None, PermissionType.ALLOW),
    )
    return expanded(rule, _notes(fields), node.position)


def plain_entry(fields: dict[str, str], position: FilePosition) -> AclEntry | None:
    """A fast path for an object with all keys; None if ``read_rule`` must read the object."""
    if not _FULL <= fields.keys() <= _PLAIN_KEYS:
        return None
    try:
        acl = Acl(
            ResourceType[fields["resourceType"]],
            fields["resourceName"],
            PatternType[fields["patternType"]],
            fields["principal"],
            fields["host"],
            Operation[fields["operation"]],
            PermissionType[fields["permissionType"]],
        )
    except KeyError:
        return None
    if why_not(acl) or any(map(has_lone_surrogate, fields.values())):
        return None
    if len(fields) == len(ACL_KEYS):
        return AclEntry(acl, position=position)
    return AclEntry(acl, AclNotes(*(fields.get(key) for key in NOTE_KEYS)), position)


def expanded(rule: FileRule, notes: AclNotes, position: FilePosition) -> list[AclEntry]:
    if prod(len(values) for values in rule) > MAX_ACLS_OF_A_RULE:
        raise fault(position, f"a rule expands to more than {MAX_ACLS_OF_A_RULE:,} ACLs; split it")
    return [checked(AclEntry(Acl(*values), notes, position)) for values in product(*rule)]


def checked(entry: AclEntry) -> AclEntry:
    """``entry``; ``InvalidRequest`` if Kafka would not create its ACL."""
    error = why_not(entry.acl)
    if error:
        raise fault(entry.position, f"Kafka refuses this ACL: {error.message}")
    return entry


def read_own(node: Node) -> list[Own]:
    fields = fields_of(node, "owns", OWN_KEYS)
    if not fields:
        raise fault(
            node.position,
            "an empty entry owns nothing; write resourceType, resourceName or principal",
        )
    types = [ResourceType.ANY]
    if "resourceType" in fields and not _is_any(fields["resourceType"]):
        types = _words(ResourceType, fields, "resourceType", node)
    names: list[str | None] = [None]
    if "resourceName" in fields:
        names = [*_texts(fields, "resourceName", node)]
        if "" in names:
            position = fields["resourceName"].position
            raise fault(position, "resourceName is empty; leave it out to own ACLs on any name")
    elif "patternType" in fields:
        raise fault(
            fields["patternType"].position, "patternType without a resourceName owns nothing"
        )
    principals: list[str | None] = [None]
    if "principal" in fields:
        principals = [*_texts(fields, "principal", node)]
    patterns = _words(PatternType, fields, "patternType", None, PatternType.LITERAL)
    if len(types) * len(names) * len(principals) * len(patterns) > MAX_ACLS_OF_A_RULE:
        raise fault(node.position, f"owns more than {MAX_ACLS_OF_A_RULE:,} patterns; split it")
    return [Own(*values) for values in product(types, names, patterns, principals)]


def own_fields(own: Own) -> Iterator[tuple[str, str]]:
    """The keys and values that ``read_own`` reads."""
    if own.resource_type.name != "ANY" or own.name is own.principal is None:
        yield "resourceType", own.resource_type.name
    if own.name is not None:
        yield "resourceName", own.name
        yield "patternType", own.pattern_type.name
    if own.principal is not None:
        yield "principal", own.principal


def _is_any(node: Node) -> bool:
    return isinstance(node, Text) and (node.value or "").casefold() == "any"


def read_user(node: Node) -> ScramUser:
    """Read a line of ``users --json``, with or without the secrets of the credential."""
    fields = fields_of(node, "a user", USER_KEYS)
    for key in USER_KEYS[:3]:
        if key not in fields:
            raise fault(node.position, f"a user has no {key}")
    mechanism = read_word(
        ScramMechanism, text_of(fields["mechanism"], "mechanism"), "mechanism", node.position
    )
    written = text_of(fields["iterations"], "iterations")
    iterations = whole_number(written)
    if iterations is None:
        raise fault(fields["iterations"].position, f"iterations is not a number: {written!r}")
    present = [key for key in SECRET_KEYS if key in fields]
    if present and len(present) < len(SECRET_KEYS):
        raise fault(node.position, f"a credential is {', '.join(SECRET_KEYS)}; give all or none")
    salt, stored, server = (
        _bytes(fields[key], key) if key in fields else b"" for key in SECRET_KEYS
    )
    user = text_of(fields["user"], "user")
    if problem := name_problem(user):
        raise fault(fields["user"].position, problem)
    return ScramUser(user, mechanism, ScramCredential(salt, stored, server, iterations))


def is_user(node: Node) -> bool:
    """Whether a JSON object is a line of ``users --json``, not of ``acls --json``."""
    return isinstance(node, Fields) and any(key.value == "user" for key, _ in node.pairs)


def _bytes(node: Node, key: str) -> bytes:
    try:
        return b64decode(text_of(node, key), validate=True)
    except (binascii.Error, ValueError):
        raise fault(node.position, f"{key} is not base64") from None


def _texts(
    fields: dict[str, Node], key: str, required_by: Node | None, default: str = ""
) -> list[str]:
    if key not in fields:
        if required_by is not None:
            raise fault(required_by.position, f"an ACL has no {key}")
        return [default]
    return [text.value or "" for text in texts_of(fields[key], key)]


def _words(
    kind: type[Word],
    fields: dict[str, Node],
    key: str,
    required_by: Node | None,
    default: Word | None = None,
) -> list[Word]:
    if key not in fields:
        if required_by is not None or default is None:
            raise fault(
                None if required_by is None else required_by.position, f"an ACL has no {key}"
            )
        return [default]
    return [
        read_word(kind, text.value or "", key, text.position) for text in texts_of(fields[key], key)
    ]


def _notes(fields: dict[str, Node]) -> AclNotes:
    notes = AclNotes(*(text_of(fields[key], key) if key in fields else None for key in NOTE_KEYS))
    if notes.expires is not None and not _is_moment(notes.expires):
        position = fields["expires"].position
        raise fault(position, f"expires is not a date: {notes.expires!r}; write it as 2026-12-31")
    return notes


def _is_moment(text: str) -> bool:
    for read in (date.fromisoformat, datetime.fromisoformat):
        try:
            read(text)
        except ValueError:
            continue
        return True
    return False
