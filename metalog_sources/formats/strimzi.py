"""Reads and writes the ACLs (``spec.authorization``) of Strimzi's ``KafkaUser`` resources.

The principal is ``User:CN=NAME`` if the user authenticates by TLS, else ``User:NAME``. The reader
ignores quotas, templates and the password's secret. This module must not know files.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby, product
from typing import Final, NamedTuple, TypeVar

from metalog.acl import (
    CLUSTER_NAME,
    WILDCARD,
    Acl,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
    camel,
    java_order,
)
from metalog.errors import InvalidRequest
from metalog.scram import ScramMechanism
from metalog_sources.formats.document import AclEntry, Document, bounded, in_order
from metalog_sources.formats.nodes.nodes import (
    Fields,
    Node,
    Text,
    fault,
    fields_of,
    items_of,
    near,
    text_of,
    texts_of,
)
from metalog_sources.formats.nodes.regroup import RegroupedRule, regrouped
from metalog_sources.formats.nodes.rules import checked
from metalog_sources.formats.nodes.words import read_word
from metalog_sources.formats.nodes.yaml_text import scalar

T = TypeVar("T")

KIND: Final = "KafkaUser"
LISTS: Final = ("List", "KafkaUserList")
_GROUP: Final = "kafka.strimzi.io/"
VERSIONS: Final = ("v1", "v1beta2")
"""The versions of Strimzi's API; the first version is the writer's default."""
_CLUSTER_LABEL: Final = "strimzi.io/cluster"
_MECHANISM: Final = ScramMechanism.SCRAM_SHA_512
_NO_RESOURCE_NAME: Final = "a Kubernetes resource cannot have this name"
_TLS: Final = ("tls", "tls-external")
_AUTHENTICATIONS: Final = (*_TLS, "scram-sha-512")
_ACL_KEYS: Final = ("resource", "host", "operation", "operations", "type")
_RESOURCE_KEYS: Final = ("type", "name", "patternType")
_TYPES: Final = {
    "topic": ResourceType.TOPIC,
    "group": ResourceType.GROUP,
    "cluster": ResourceType.CLUSTER,
    "transactionalId": ResourceType.TRANSACTIONAL_ID,
}
_TYPE_WORDS: Final = {member: word for word, member in _TYPES.items()}
_PATTERNS: Final = {"literal": PatternType.LITERAL, "prefix": PatternType.PREFIXED}
_PATTERN_WORDS: Final = {member: word for word, member in _PATTERNS.items()}
_COMMON_NAME: Final = "CN="
_SUBDOMAIN: Final = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*"
_RESOURCE_NAME: Final = re.compile(rf"(?=.{{1,253}}\Z){_SUBDOMAIN}")
"""A valid name of a Kubernetes resource: an RFC 1123 subdomain."""
_KAFKA_NAME: Final = re.compile(rf"(?=.{{1,63}}\Z){_SUBDOMAIN}")
"""A valid name of a Kubernetes resource that can also be a label's value."""


def is_kubernetes_resource(node: Node) -> bool:
    return isinstance(node, Fields) and {"kind", "apiVersion"} <= {
        key.value for key, _ in node.pairs
    }


def read_kafka_user(node: Node, size: int) -> Document:
    """Read a KafkaUser or a list of KafkaUsers. ``size`` is the length of the whole file."""
    fields = fields_of(node, "the resource", None)
    kind = text_of(_required(fields, "kind", node), "kind")
    if kind in LISTS:
        items = items_of(fields.get("items", node), "items")
        listed = (entry for item in items for entry in read_kafka_user(item, size).entries)
        return Document(tuple(bounded(listed, size)))
    version = text_of(_required(fields, "apiVersion", node), "apiVersion")
    if kind != KIND:
        raise fault(
            fields["kind"].position, f"a {kind} holds no ACLs; only Strimzi's {KIND} is read"
        )
    if not version.startswith(_GROUP):
        raise fault(
            fields["apiVersion"].position,
            f"apiVersion {version} is not Strimzi's; write {_GROUP}{VERSIONS[0]}",
        )
    metadata = fields_of(_required(fields, "metadata", node), "metadata", None)
    name = text_of(_required(metadata, "name", fields["metadata"]), "metadata.name")
    spec = fields_of(fields["spec"], "spec", None) if _has_value(fields, "spec") else {}
    principal = f"User:{_COMMON_NAME if _is_tls(spec) else ''}{name}"
    if not _has_value(spec, "authorization"):
        return Document()
    authorization = fields_of(spec["authorization"], "spec.authorization", ("type", "acls"))
    type_ = text_of(_required(authorization, "type", spec["authorization"]), "type")
    if type_ != "simple":
        position = authorization["type"].position
        raise fault(position, f"unknown authorization type {type_!r}; {near(type_, ('simple',))}")
    acls = items_of(authorization["acls"], "acls") if "acls" in authorization else ()
    entries = (entry for acl in acls for entry in _read_acl(acl, principal))
    return Document(tuple(bounded(entries, size)))


def _is_tls(spec: dict[str, Node]) -> bool:
    if not _has_value(spec, "authentication"):
        return False
    node = spec["authentication"]
    authentication = fields_of(node, "spec.authentication", None)
    type_ = text_of(_required(authentication, "type", node), "type")
    if type_ not in _AUTHENTICATIONS:
        position = authentication["type"].position
        suggestion = near(type_, _AUTHENTICATIONS)
        raise fault(position, f"unknown authentication type {type_!r}; {suggestion}")
    return type_ in _TLS


def _read_acl(node: Node, principal: str) -> list[AclEntry]:
    fields = fields_of(node, "an ACL", _ACL_KEYS)
    resource_node = _required(fields, "resource", node)
    resource = fields_of(resource_node, "resource", _RESOURCE_KEYS)
    resource_type = _choice(_required(resource, "type", resource_node), "type", _TYPES)
    if resource_type is ResourceType.CLUSTER:
        name, pattern = CLUSTER_NAME, PatternType.LITERAL
    else:
        name = text_of(_required(resource, "name", resource_node), "name")
        pattern_type = resource.get("patternType")
        pattern = (
            PatternType.LITERAL
            if pattern_type is None
            else _choice(pattern_type, "patternType", _PATTERNS)
        )
    if "operation" in fields and "operations" in fields:
        raise fault(node.position, "operation and operations mean the same; keep operations")
    operations = fields.get("operations") or _required(fields, "operation", node)
    host = text_of(fields["host"], "host") if "host" in fields else WILDCARD
    permission = PermissionType.ALLOW
    if "type" in fields:
        text = text_of(fields["type"], "type")
        permission = read_word(PermissionType, text, "type", fields["type"].position)
    read = [
        read_word(Operation, text.value or "", "operation", text.position)
        for text in texts_of(operations, "operations")
    ]
    return [
        checked(
            AclEntry(
                Acl(resource_type, name, pattern, principal, host, operation, permission),
                position=node.position,
            )
        )
        for operation in read
    ]


def _choice(node: Node, what: str, choices: dict[str, T]) -> T:
    text = text_of(node, what)
    if text not in choices:
        raise fault(node.position, f"unknown {what} {text!r}; {near(text, choices)}")
    return choices[text]


def _has_value(fields: dict[str, Node], key: str) -> bool:
    node = fields.get(key)
    return node is not None and not (isinstance(node, Text) and node.value is None)


def _required(fields: dict[str, Node], key: str, within: Node) -> Node:
    if key not in fields:
        raise fault(within.position, f"there is no {key}")
    return fields[key]


class StrimziExport(NamedTuple):
    """The exported resources; ``authenticated`` counts the users with a SCRAM login.

    ``acls_left_out`` and ``users_left_out`` have the reasons for what ``text`` lacks.
    """

    text: str
    acls_left_out: tuple[tuple[Acl, str], ...]
    users_left_out: tuple[tuple[str, str], ...] = ()
    authenticated: int = 0


def write_strimzi(
    document: Document, *, version: str = VERSIONS[0], cluster: str | None = None
) -> StrimziExport:
    """Write one resource for each principal with an ACL or a credential that a KafkaUser can have.

    ``cluster`` names the ``Kafka`` resource. A SCRAM user gets a resource even without ACLs,
    because Strimzi's User Operator deletes the credentials of users without a resource.
    """
    entries = in_order(document.entries)
    refused = {entry.acl: why for entry in entries if (why := why_not(entry.acl))}
    rules: dict[str, list[RegroupedRule]] = {}
    kept = [entry for entry in entries if entry.acl not in refused]
    for principal, of_principal in groupby(kept, lambda entry: entry.acl.principal):
        rules[principal] = regrouped([*of_principal], len(kept))
    sha_512 = _sha_512_users(document)
    users_left_out = _inexpressible_users(document)
    logins = {f"User:{user}" for user in sha_512 - users_left_out.keys()}
    lead = _lead(version, cluster)
    resources = [
        _resource(lead, principal, rules.get(principal, ()), is_scram=principal in logins)
        for principal in sorted({*rules, *logins}, key=java_order)
    ]
    return StrimziExport(
        "---\n".join(resources), tuple(refused.items()), (*users_left_out.items(),), len(logins)
    )


def has_resources(document: Document) -> bool:
    """Whether ``document`` has an ACL or a user that a KafkaUser can express."""
    if any(why_not(acl) is None for acl in document.acls):
        return True
    return bool(_sha_512_users(document) - _inexpressible_users(document).keys())


def _sha_512_users(document: Document) -> set[str]:
    return {user.user for user in document.users if user.mechanism is _MECHANISM}


def _inexpressible_users(document: Document) -> dict[str, str]:
    sha_512 = _sha_512_users(document)
    users = sorted({user.user for user in document.users})
    return {user: why for user in users if (why := _why_no_user(user, sha_512))}


def _why_no_user(user: str, sha_512: Collection[str]) -> str | None:
    if not _RESOURCE_NAME.fullmatch(user):
        return _NO_RESOURCE_NAME
    return None if user in sha_512 else "Strimzi's only SCRAM mechanism is SCRAM-SHA-512"


def why_not(acl: Acl) -> str | None:
    """Why a KafkaUser cannot express ``acl``, or None."""
    principal_type, _, name = acl.principal.partition(":")
    if principal_type != "User":
        return "a KafkaUser is a principal of type User"
    if not _RESOURCE_NAME.fullmatch(name.removeprefix(_COMMON_NAME)):
        return _NO_RESOURCE_NAME
    if acl.resource_type not in _TYPE_WORDS:
        return f"Strimzi has no ACLs on a {acl.resource_type.name}"
    if acl.resource_type is ResourceType.CLUSTER and acl.pattern_type is PatternType.PREFIXED:
        return "Strimzi's ACLs on the cluster are literal"
    if acl.operation is Operation.TWO_PHASE_COMMIT:
        return "Strimzi does not know this operation"
    return None


def _lead(version: str, cluster: str | None) -> tuple[list[str], list[str]]:
    """The lines of a resource before its name, and the labels after its name."""
    if cluster is not None and not _KAFKA_NAME.fullmatch(cluster):
        raise InvalidRequest(
            f"--cluster {cluster}: a Kafka resource cannot have this name: use 1 to 63 characters"
            " from a-z, 0-9, - and ., with a letter or digit at both ends and beside each ."
        )
    labels = [] if cluster is None else ["  labels:", f"    {_CLUSTER_LABEL}: {scalar(cluster)}"]
    return [f"apiVersion: {_GROUP}{version}", f"kind: {KIND}", "metadata:"], labels


def _resource(
    lead: tuple[list[str], list[str]],
    principal: str,
    rules: Sequence[RegroupedRule],
    *,
    is_scram: bool,
) -> str:
    before, labels = lead
    name = principal.partition(":")[2]
    lines = [*before, f"  name: {scalar(name.removeprefix(_COMMON_NAME))}", *labels, "spec:"]
    if name.startswith(_COMMON_NAME):
        lines += ["  authentication:", "    type: tls-external"]
    elif is_scram:
        lines += ["  authentication:", "    type: scram-sha-512"]
    if rules:
        lines += ["  authorization:", "    type: simple", "    acls:"]
    for rule in rules:
        for name, host in product(rule.names, rule.hosts):
            lines += _acl_lines(rule, name, host)
    return "\n".join(lines) + "\n"


def _acl_lines(rule: RegroupedRule, name: str, host: str) -> Iterator[str]:
    yield "      - resource:"
    yield f"          type: {_TYPE_WORDS[rule.resource_type]}"
    if rule.resource_type is not ResourceType.CLUSTER:
        yield f"          name: {scalar(name)}"
        yield f"          patternType: {_PATTERN_WORDS[rule.pattern_type]}"
    yield f"        operations: [{', '.join(map(camel, rule.operations))}]"
    yield f"        host: {scalar(host)}"
    yield f"        type: {rule.permission_type.name.lower()}"
