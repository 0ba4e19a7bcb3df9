"""ACLs as YAML that a person edits and reviews.

The reader uses PyYAML. The writer uses no library, so equal ACLs always give equal bytes. This
module must not know files.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence

from metalog_sources.formats.document import (
    Document,
    ScramUser,
    joined,
    most_entries,
    users_in_order,
)
from metalog_sources.formats.nodes.nodes import fault
from metalog_sources.formats.nodes.regroup import RegroupedRule, regrouped
from metalog_sources.formats.nodes.rules import NOTE_KEYS, SECRET_KEYS, own_fields, read_document
from metalog_sources.formats.nodes.yaml_nodes import yaml_documents
from metalog_sources.formats.nodes.yaml_text import is_plain, scalar
from metalog_sources.formats.strimzi import is_kubernetes_resource, read_kafka_user


def read_yaml(text: str, file: str) -> Document:
    """Read metalog's documents, Strimzi's KafkaUser resources, or both."""
    size, total, parts = len(text), 0, []
    for node in yaml_documents(text, file):
        read = read_kafka_user if is_kubernetes_resource(node) else read_document
        parts.append(read(node, size))
        total += len(parts[-1].entries) + len(parts[-1].owns)
        if total > most_entries(size):
            raise fault(node.position, f"the file expands to more than {most_entries(size):,} ACLs")
    return joined(parts)


def write_yaml(document: Document) -> str:
    lines: list[str] = []
    if document.owns:
        lines.append("owns:")
        for own in document.owns:
            lines += _mapping(own_fields(own))
    lines.append("acls:" if document.entries else "acls: []")
    for rule in regrouped(document.entries):
        lines += _mapping(_rule(rule))
    if document.users:
        lines.append("users:")
        for user in users_in_order(document.users):
            lines += _mapping(user_fields(user).items())
    return "\n".join(lines) + "\n"


def user_fields(user: ScramUser) -> dict[str, str | int]:
    """The keys of ``users --json``, and the credential's secrets if they are known."""
    salt, stored, server, iterations = user.credential
    fields: dict[str, str | int] = {
        "user": user.user,
        "mechanism": user.mechanism.name,
        "iterations": iterations,
    }
    if salt:
        secrets = (b64encode(secret).decode() for secret in (salt, stored, server))
        fields |= dict(zip(SECRET_KEYS, secrets, strict=True))
    return fields


def _rule(rule: RegroupedRule) -> Iterator[tuple[str, str | Sequence[str]]]:
    yield "principal", rule.principal
    yield "permissionType", rule.permission_type.name
    yield "operation", [operation.name for operation in rule.operations]
    yield "resourceType", rule.resource_type.name
    yield "resourceName", rule.names
    yield "patternType", rule.pattern_type.name
    yield "host", rule.hosts
    for key, note in zip(NOTE_KEYS, rule.notes, strict=True):
        if note is not None:
            yield key, note


def _mapping(pairs: Iterable[tuple[str, str | int | Sequence[str]]]) -> Iterator[str]:
    """The lines of one item of a YAML list."""
    for number, (key, value) in enumerate(pairs):
        lead = "    " if number else "  - "
        if isinstance(value, str | int):
            yield f"{lead}{key}: {value if isinstance(value, int) else scalar(value)}"
        elif len(value) == 1:
            yield f"{lead}{key}: {scalar(value[0])}"
        elif sum(map(len, value)) < 60 and all(map(is_plain, value)):
            yield f"{lead}{key}: [{', '.join(value)}]"
        else:
            yield f"{lead}{key}:"
            yield from (f"      - {scalar(item)}" for item in value)
