"""ACLs and SCRAM users in ZooKeeper, and Kafka's change notifications.

The writer uses the format of Kafka up to 3.9. The reader also accepts the spellings of KIP-11
and KIP-290. ``kip11`` handles the JSON of one resource. This module must not know ZooKeeper's
client.
"""

from __future__ import annotations

import binascii
import json
import re
from base64 import b64decode
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple
from urllib.parse import unquote_plus

from metalog.acl import Acl, Operation, PatternType, ResourceType, camel
from metalog.errors import InvalidRequest
from metalog.scram import ScramCredential, ScramMechanism
from metalog.text.plurals import counted, plural
from metalog.text.whole_numbers import whole_number
from metalog_sources.formats.document import AclEntry, FilePosition, ScramUser
from metalog_sources.formats.nodes.json_nodes import json_values
from metalog_sources.formats.nodes.nodes import Node, fault, fields_of, text_of
from metalog_sources.formats.nodes.words import read_word
from metalog_sources.formats.zookeeper.kip11 import Resource, read_kip11

LITERAL_ROOT: Final = "/kafka-acl"
PREFIXED_ROOT: Final = "/kafka-acl-extended/prefixed"
ROOTS: Final[Mapping[str, PatternType]] = {
    LITERAL_ROOT: PatternType.LITERAL,
    PREFIXED_ROOT: PatternType.PREFIXED,
    "/kafka-extended-acl/prefixed": PatternType.PREFIXED,
    "/kafka-acls": PatternType.LITERAL,
}
"""The root nodes; below a root is ``<type>/<name>``. The last two are KIP-290's and KIP-11's."""
USERS_ROOT: Final = "/config/users"
EVENT_ROOTS: Final = ("/kafka-acl-changes", "/kafka-acl-extended-changes")
EVENT_PREFIX: Final = "acl_changes_"
MAX_BYTES: Final = 1_000_000
"""The limit on a node's data: ZooKeeper refuses a request above 1 MiB (``jute.maxbuffer``)."""

_WRITTEN_ROOTS: Final = {PatternType.LITERAL: LITERAL_ROOT, PatternType.PREFIXED: PREFIXED_ROOT}
_EVENT_KEYS: Final = ("version", "resourceType", "name", "patternType")
_KIP11_GROUP: Final = "CONSUMER_GROUP"
_CREDENTIAL_KEYS: Final = ("salt", "stored_key", "server_key", "iterations")
_MECHANISMS: Final = {mechanism.mechanism_name: mechanism for mechanism in ScramMechanism}
_FORBIDDEN: Final = re.compile("[\0-\x1f\x7f-\x9f\ud800-\uf8ff\ufff0-\uffff\U00010000-\U0010ffff]")


def path_of(resource: Resource) -> str:
    """The path of the node in which Kafka stores the ACLs of ``resource``."""
    resource_type, name, pattern_type = resource
    return f"{_WRITTEN_ROOTS[pattern_type]}/{camel(resource_type)}/{name}"


def why_not(acl: Acl) -> str | None:
    """Why Kafka up to 3.9 could not store ``acl`` in ZooKeeper, or None."""
    name = acl.resource_name
    if "/" in name:
        return "Kafka's AclAuthorizer stores no name with a slash: a slash separates znodes"
    if name in (".", "..") or _FORBIDDEN.search(name):
        return "no node of ZooKeeper can have that name"
    if acl.operation is Operation.TWO_PHASE_COMMIT:
        return "no Kafka version with ZooKeeper has TWO_PHASE_COMMIT"
    return None


def why_too_many(acls: int, size: int) -> str | None:
    """Why a node cannot hold this number of ACLs in ``size`` bytes, or None."""
    if size <= MAX_BYTES:
        return None
    return (
        f"{counted(acls, 'ACL')} of one resource {plural(acls, 'is', 'are')} {size:,}"
        " bytes, more than a node of ZooKeeper holds"
    )


def resource_at(root: str, type_name: str, name: str) -> Resource | None:
    """The resource of the node ``root/type_name/name``; None for an unknown type."""
    resource_type = _type_of(type_name)
    return None if resource_type is None else (resource_type, name, ROOTS[root])


def read_acls(data: bytes, file: str, resource: Resource) -> list[AclEntry]:
    """The ACLs in a node; a node without data has no ACLs."""
    return read_kip11(_text(data, file), file, resource) if data else []


def event_of(resource: Resource) -> tuple[str, bytes]:
    """The notification of a change to ``resource``: its root node, and its data."""
    resource_type, name, pattern_type = resource
    if pattern_type is PatternType.LITERAL:
        return EVENT_ROOTS[0], f"{resource_type.name}:{name}".encode()
    values = (1, resource_type.name, name, pattern_type.name)
    event = dict(zip(_EVENT_KEYS, values, strict=True))
    return EVENT_ROOTS[1], json.dumps(event, separators=(",", ":"), ensure_ascii=False).encode()


def read_event(data: bytes, file: str) -> Resource | None:
    """The resource that a change notification names; None if the resource type is unknown.

    The notification is ``TYPE:NAME``, for a LITERAL pattern, or JSON.
    """
    text = _text(data, file)
    if not text.startswith("{"):
        kind, separator, name = text.partition(":")
        if not separator:
            raise InvalidRequest(f"{file}: not a change of ACLs: it has no colon")
        return resource_at(LITERAL_ROOT, kind, name)
    node = _only_value(text, file)
    fields = fields_of(node, "a change of ACLs", None)
    for key in _EVENT_KEYS:
        if key not in fields:
            raise fault(node.position, f"a change of ACLs has no {key}")
    kind, name = (text_of(fields[key], key) for key in _EVENT_KEYS[1:3])
    pattern = read_word(
        PatternType, text_of(fields["patternType"], "patternType"), "patternType", node.position
    )
    return resource_at(_WRITTEN_ROOTS[pattern], kind, name)


def user_of(name: str) -> str:
    """The user of the node ``name`` below ``USERS_ROOT``."""
    return unquote_plus(name)


def read_user(data: bytes, file: str, user: str) -> Iterator[ScramUser]:
    """The credentials in a user's node."""
    if not data:
        return
    fields = fields_of(_only_value(_text(data, file), file), "a user's settings", None)
    if "config" not in fields:
        return
    for name, value in fields_of(fields["config"], "config", None).items():
        mechanism = _MECHANISMS.get(name)
        if mechanism is not None:
            yield ScramUser(
                user, mechanism, _credential(text_of(value, name), name, value.position)
            )


class _Parts(NamedTuple):
    salt: str
    stored_key: str
    server_key: str
    iterations: str

    def __repr__(self) -> str:
        return "_Parts([hidden])"


def _credential(text: str, name: str, position: FilePosition) -> ScramCredential:
    """Parse ``salt=…,stored_key=…,server_key=…,iterations=…``. No error shows ``text``."""
    values = dict(part.partition("=")[::2] for part in text.split(","))
    if sorted(values) != sorted(_CREDENTIAL_KEYS):
        raise fault(position, f"{name}: a credential is {', '.join(_CREDENTIAL_KEYS)}")
    parts = _Parts(**values)
    iterations = whole_number(parts.iterations)
    if iterations is None:
        raise fault(position, f"{name}: its iterations are not a number")
    try:
        salt, stored, server = (b64decode(part, validate=True) for part in parts[:3])
    except (binascii.Error, ValueError):
        raise fault(position, f"{name}: its salt or a key is not base64") from None
    return ScramCredential(salt, stored, server, iterations)


def _type_of(text: str) -> ResourceType | None:
    if text.upper() == _KIP11_GROUP:
        return ResourceType.GROUP
    try:
        return read_word(ResourceType, text, "type", None)
    except InvalidRequest:
        return None


def _text(data: bytes, file: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise InvalidRequest(f"{file}: not UTF-8") from None


def _only_value(text: str, file: str) -> Node:
    nodes = list(json_values(text, file))
    if len(nodes) != 1:
        raise InvalidRequest(f"{file}: {counted(len(nodes), 'JSON value')} where one is expected")
    return nodes[0]
