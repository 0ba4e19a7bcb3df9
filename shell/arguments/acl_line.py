"""Parses ACLs that are written as one line, in the order of a question: principal, operations,
resource.

An example: ``ALLOW User:app READ,DESCRIBE topic:payments --prefixed --host 10.0.0.1``. This module
must not know what the ACLs are used for.
"""

from __future__ import annotations

import shlex
from typing import Final

from metalog.acl import WILDCARD, Acl, Operation, PatternType, PermissionType
from metalog.errors import InvalidRequest
from metalog_sources.formats.nodes.words import read_word
from shell.arguments.words import parse_operation, parse_resource

FORM: Final = "ALLOW|DENY PRINCIPAL OPERATION[,…] TYPE:NAME [--prefixed] [--host H]"


def parse_acl_line(text: str) -> list[Acl]:
    """One ACL for each operation.

    Raises:
        InvalidRequest: the line does not have this form.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InvalidRequest(f"ACL {text!r}: {error}") from None
    pattern_type, host = PatternType.LITERAL, WILDCARD
    plain: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--prefixed":
            pattern_type = PatternType.PREFIXED
        elif word == "--host":
            host = next(rest, "")
        else:
            plain.append(word)
    if len(plain) != 4 or not host:
        raise InvalidRequest(f"ACL {text!r} is not of the form {FORM}")
    permission, principal, operations, resource = plain
    resource_type, name = parse_resource(resource)
    return [
        Acl(resource_type, name, pattern_type, principal, host, operation, _permission(permission))
        for operation in _operations(operations)
    ]


def _operations(text: str) -> list[Operation]:
    return [parse_operation(word) for word in text.split(",")]


def _permission(text: str) -> PermissionType:
    return read_word(PermissionType, text, "permission")
