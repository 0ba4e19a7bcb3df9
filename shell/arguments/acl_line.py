"""Parses a line of ACLs: ``ALLOW User:app READ,DESCRIBE topic:orders --prefixed --host 10.0.0.1``.

This module must not know what the ACLs are used for.
"""

from __future__ import annotations

import shlex
from typing import Final

from metalog.acl import WILDCARD, Acl, PatternType, PermissionType
from metalog.errors import InvalidRequest
from metalog_sources.formats.nodes.words import read_word
from shell.arguments.resources import parse_operation, parse_resource

FORM: Final = "ALLOW|DENY PRINCIPAL OPERATION[,…] TYPE:NAME [--prefixed] [--host H]"


def parse_acl_line(text: str) -> list[Acl]:
    """One ACL for each operation.

    Raises:
        InvalidRequest: the line is not of the form ``FORM``, or a word is unknown.
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
    permission_type = read_word(PermissionType, permission, "permission")
    chosen = [parse_operation(word) for word in operations.split(",")]
    resource_type, name = parse_resource(resource)
    return [
        Acl(resource_type, name, pattern_type, principal, host, operation, permission_type)
        for operation in chosen
    ]
