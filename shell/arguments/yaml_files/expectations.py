"""Reads expectations from YAML: requests that must be allowed or denied, and claims.

The format is in docs/formats/expectations.md. This module must not know what is decided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from authorizer.analysis.changes.expectations import Expectation
from authorizer.engine.decide import DEFAULT_ALLOW, DEFAULT_DENY, MATCHING_ACL, SUPER_USER
from authorizer.trace import Question
from metalog.acl import SUPPORTED_OPERATIONS, Operation, ResourceType
from metalog.errors import InvalidRequest
from metalog.principal import parse_principal
from metalog_sources.formats.document import MAX_ACLS_OF_A_RULE, bounded
from metalog_sources.formats.nodes.nodes import Node, fault, fields_of, near, text_of, texts_of
from shell.arguments.question import as_java_writes
from shell.arguments.resources import parse_operation, parse_resource
from shell.arguments.yaml_files.claims import (
    claim_documents,
    claim_keys,
    claim_of,
    entries_of,
    is_claim,
    read_at,
    yaml_texts,
)
from shell.tasks.proof.proofs import CLAIM_WORDS, StatedClaim

if TYPE_CHECKING:
    from metalog_sources.formats.document import FilePosition

_RESULTS: Final = {"allow": True, "deny": False}
KEYS: Final = ("principal", "operation", "resource", "host", "rule", "comment")
RULES: Final = {
    "allow": (MATCHING_ACL, SUPER_USER, DEFAULT_ALLOW),
    "deny": (MATCHING_ACL, DEFAULT_DENY),
}
_Value = TypeVar("_Value")


class Expected(NamedTuple):
    """An expectation and its entry in the file."""

    expectation: Expectation
    position: FilePosition
    comment: str | None


def read_expectations(paths: list[str]) -> list[Expected | StatedClaim]:
    """All expectations in YAML files and folders.

    Raises:
        InvalidRequest: an entry is invalid, or there is no expectation.
        InvalidSource: a file is not UTF-8.
    """
    expectations = [
        expectation
        for path in paths
        for text, file in yaml_texts(_file(path))
        for expectation in expectations_of(text, file)
    ]
    if not expectations:
        raise InvalidRequest(
            f"{', '.join(paths)}: has no expectations; write entries under allow: or deny:"
        )
    return expectations


def _file(path: str) -> Path:
    file = Path(path)
    if path.startswith("@") and not file.exists():
        raise InvalidRequest(
            f"{path} is a SOURCE, not a file of expectations; write metalog test {path} FILE"
        )
    return file


def expectations_of(text: str, file: str) -> Iterator[Expected | StatedClaim]:
    """All expectations in ``text``. ``file`` is the name of ``text`` in errors.

    Raises:
        InvalidRequest: an entry is invalid, or there are too many questions.
    """
    return bounded(_expected(text, file), len(text), "questions")


def _expected(text: str, file: str) -> Iterator[Expected | StatedClaim]:
    for document in claim_documents(text, file):
        sections = fields_of(document, "a file of expectations", CLAIM_WORDS)
        for word, entries in sections.items():
            for entry in entries_of(entries, word):
                if word in _RESULTS:
                    fields = fields_of(entry, "an expectation", KEYS)
                    if not is_claim(fields):
                        yield from _of_entry(fields, entry.position, word)
                        continue
                fields = fields_of(entry, "a claim", claim_keys(word))
                yield claim_of(word, fields, entry.position)


def _of_entry(
    fields: Mapping[str, Node], position: FilePosition, result: str
) -> Iterator[Expected]:
    for key in ("principal", "operation", "resource"):
        if key not in fields:
            raise fault(position, f"an expectation has no {key}")
    rule = text_of(fields["rule"], "rule") if "rule" in fields else None
    if rule is not None and rule not in RULES[result]:
        raise fault(
            fields["rule"].position, f"no rule {rule!r} of {result}; {near(rule, RULES[result])}"
        )
    comment = text_of(fields["comment"], "comment") if "comment" in fields else None
    principals = _each(fields["principal"], "principal", lambda text: str(parse_principal(text)))
    operations = _each(fields["operation"], "operation", parse_operation)
    resources = _each(fields["resource"], "resource", parse_resource)
    hosts = _each(fields["host"], "host", as_java_writes) if "host" in fields else [None]
    lists = principals, resources, operations, hosts
    if prod(map(len, lists)) > MAX_ACLS_OF_A_RULE:
        raise fault(
            position,
            f"an expectation expands to more than {MAX_ACLS_OF_A_RULE:,} questions; split it",
        )
    for principal, (kind, name), operation, host in product(*lists):
        for checked in _checked_operations(operation, kind):
            question = Question(principal, checked, kind, name, host)
            expectation = Expectation(question, _RESULTS[result], rule)
            yield Expected(expectation, position, comment)


def _each(node: Node, key: str, read: Callable[[str], _Value]) -> list[_Value]:
    return [read_at(text, read) for text in texts_of(node, key)]


def _checked_operations(operation: Operation, kind: ResourceType) -> list[Operation]:
    """Kafka never checks ALL, so ALL means each operation that Kafka checks on a ``kind``."""
    if operation is not Operation.ALL:
        return [operation]
    return sorted(SUPPORTED_OPERATIONS.get(kind, (operation,)))
