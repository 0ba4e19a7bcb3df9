"""The kafka-acls command line that adds or removes one ACL, safe to paste into bash or zsh.

Some ACLs that a log may hold cannot be said to kafka-acls: it trims its values, and it
refuses operations that Kafka never asks for on a resource type. Those get no command.
This module must not know why an ACL is to be added or removed.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Final, NamedTuple

from metalog.acl import (
    CLUSTER_NAME,
    SUPPORTED_OPERATIONS,
    WILDCARD,
    Acl,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
    camel,
)

CONNECTION: Final = '--bootstrap-server "$BOOTSTRAP" --command-config "$CLIENT_CONFIG"'
"""Left to the reader's shell, so that a pasted line cannot reach a cluster by chance."""


_ZSH_PATH: Final = re.compile(r"=[^']*")
"""A word that zsh takes for the path of a command."""
_MEANS_SOMETHING_ESCAPED: Final = "\\'!"
"""Inside ``$'…'``; an older bash expands a ``!`` that follows an escaped quote there."""


class CommandKind(Enum):
    ADD = "--add"
    REMOVE = "--remove"


_RESOURCE_OPTIONS: Final[dict[ResourceType, str]] = {
    ResourceType.TOPIC: "--topic",
    ResourceType.GROUP: "--group",
    ResourceType.TRANSACTIONAL_ID: "--transactional-id",
    ResourceType.DELEGATION_TOKEN: "--delegation-token",
    ResourceType.USER: "--user-principal",
}


def why_no_command(acl: Acl) -> str | None:
    """Why kafka-acls can neither add nor remove ``acl``; None where it can."""
    values = {"principal": acl.principal, "host": acl.host, "resource name": acl.resource_name}
    for field, value in values.items():
        if (problem := _lost_of(value)) is not None:
            return f"kafka-acls {problem} the {field}"
    if ":" not in acl.principal:
        return "kafka-acls takes only principals such as User:name"
    supported = SUPPORTED_OPERATIONS.get(acl.resource_type, frozenset())
    kind = acl.resource_type.name
    if acl.operation is not Operation.ALL and acl.operation not in supported:
        return f"kafka-acls refuses the operation {acl.operation.name} on {kind}"
    if _resource_words(acl) is None:
        name = f" {quoted(acl.resource_name)}" if acl.resource_type is ResourceType.CLUSTER else ""
        return f"kafka-acls has no option for {acl.pattern_type.name} {kind}{name}"
    if acl.permission_type not in (PermissionType.ALLOW, PermissionType.DENY):
        return f"kafka-acls has no option for the permission {acl.permission_type.name}"
    return None


def acl_comment(acl: Acl) -> str:
    """``acl`` on one line, its names quoted as a shell would have them."""
    return (
        f"{acl.permission_type.name} {quoted(acl.principal)} {acl.operation.name} on"
        f" {acl.pattern_type.name} {acl.resource_type.name} {quoted(acl.resource_name)}"
        f" from host {quoted(acl.host)}"
    )


def kafka_acls_command(change: CommandKind, acl: Acl) -> str | None:
    """The command that makes ``change`` to exactly ``acl``; None where kafka-acls cannot.

    A removal does not ask: kafka-acls would take the next line that is pasted for the answer.
    """
    resource = _resource_words(acl)
    if resource is None or why_no_command(acl) is not None:
        return None
    permission = acl.permission_type.name.lower()
    words = ["kafka-acls", CONNECTION, change.value]
    if change is CommandKind.REMOVE:
        words.append("--force")
    words.append(_option(f"--{permission}-principal", acl.principal))
    if acl.host != WILDCARD:
        words.append(_option(f"--{permission}-host", acl.host))
    words.append(_option("--operation", camel(acl.operation)))
    return " ".join(words + resource)


_Kind = tuple[CommandKind, PermissionType]
_ADDS: Final = ((CommandKind.ADD, PermissionType.ALLOW), (CommandKind.ADD, PermissionType.DENY))
_NEEDED: Final[Mapping[_Kind, tuple[_Kind, ...]]] = {
    (CommandKind.ADD, PermissionType.DENY): (),
    (CommandKind.ADD, PermissionType.ALLOW): ((CommandKind.ADD, PermissionType.DENY),),
    (CommandKind.REMOVE, PermissionType.ALLOW): _ADDS,
    (CommandKind.REMOVE, PermissionType.DENY): (*_ADDS, (CommandKind.REMOVE, PermissionType.ALLOW)),
}
"""The changes of which none may be left out where such a one is made."""


class Commands(NamedTuple):
    """``unsayable`` are the changes that have no command; ``held_back`` counts those that have
    one and are not among ``lines``."""

    lines: tuple[str, ...]
    unsayable: tuple[tuple[CommandKind, Acl], ...]
    held_back: int


def kafka_acls_commands(changes: Iterable[tuple[CommandKind, Acl]]) -> Commands:
    """In their order. Where something to be added has no command nothing is removed: it may be
    what was to stand in for that. Nor is anything opened that might have stayed shut: nothing is
    allowed where a DENY cannot be added, and no DENY removed where an ALLOW cannot be."""
    said = [(change, acl, kafka_acls_command(change, acl)) for change, acl in changes]
    unsayable = tuple((change, acl) for change, acl, line in said if line is None)
    lacking = {(change, acl.permission_type) for change, acl in unsayable}
    lines = tuple(
        line
        for change, acl, line in said
        if line is not None and lacking.isdisjoint(_NEEDED[change, acl.permission_type])
    )
    return Commands(lines, unsayable, len(said) - len(unsayable) - len(lines))


def quoted(value: str) -> str:
    """``value`` as one word of bash or zsh; what cannot be seen is written as escapes."""
    if value.isprintable():
        return f"'{value}'" if _ZSH_PATH.fullmatch(value) else shlex.quote(value)
    return "$'" + "".join(map(_escaped, value)) + "'"


def _resource_words(acl: Acl) -> list[str] | None:
    if acl.resource_type is ResourceType.CLUSTER:
        is_the_cluster = acl.resource_name == CLUSTER_NAME
        return ["--cluster"] if is_the_cluster and acl.pattern_type is PatternType.LITERAL else None
    option = _RESOURCE_OPTIONS.get(acl.resource_type)
    if option is None or acl.pattern_type not in (PatternType.LITERAL, PatternType.PREFIXED):
        return None
    words = [_option(option, acl.resource_name)]
    if acl.pattern_type is PatternType.PREFIXED:
        words.append("--resource-pattern-type prefixed")
    return words


def _option(option: str, value: str) -> str:
    return f"{option}{'=' if value.startswith('-') else ' '}{quoted(value)}"


def _lost_of(value: str) -> str | None:
    """What the command line, or Java's ``trim()``, does to ``value``; None where it survives."""
    if not value:
        return "takes no empty text for"
    if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
        return "cannot be given, as one word of a command line,"
    if value[0] <= " " or value[-1] <= " ":
        return "cuts the blanks at the ends of"
    return None


def _escaped(character: str) -> str:
    if character.isprintable() and character not in _MEANS_SOMETHING_ESCAPED:
        return character
    return "".join(f"\\x{byte:02x}" for byte in character.encode(errors="surrogatepass"))
