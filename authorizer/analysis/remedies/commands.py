"""Writes the kafka-acls command line that adds or removes one ACL, to paste into bash or zsh.

Some ACLs in a log have no command: kafka-acls trims values, and refuses operations that Kafka never
checks on a resource type. This module must not know why an ACL is added or removed.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Final, NamedTuple

from authorizer.trace import is_allow
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
"""The address is a shell variable, so that no pasted line changes a cluster by accident."""

_ZSH_PATH: Final = re.compile(r"=[^']*")
"""zsh replaces such a word by the path of a command."""
_TO_ESCAPE: Final = "\\'!"
"""To escape inside ``$'…'``. An older bash expands a ``!`` after an escaped quote."""


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
    """Why kafka-acls can neither add nor remove ``acl``; None if it can."""
    values = {"principal": acl.principal, "host": acl.host, "resource name": acl.resource_name}
    for field, value in values.items():
        if (problem := _problem_of(value)) is not None:
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
    """``acl`` on one line, its names quoted for a shell."""
    return (
        f"{acl.permission_type.name} {quoted(acl.principal)} {acl.operation.name} on"
        f" {acl.pattern_type.name} {acl.resource_type.name} {quoted(acl.resource_name)}"
        f" from host {quoted(acl.host)}"
    )


def kafka_acls_command(change: CommandKind, acl: Acl) -> str | None:
    """The command that adds or removes exactly ``acl``; None if kafka-acls cannot.

    A removal has ``--force``. Otherwise kafka-acls would read the next pasted line as the answer to
    its question.
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
"""The command of a kind (key) is printed only if every change of the kinds in its value has one."""


class Commands(NamedTuple):
    """``inexpressible`` has the changes without a command.

    ``held_back`` is the number of commands that are left out of ``lines``.
    """

    lines: tuple[str, ...]
    inexpressible: tuple[tuple[CommandKind, Acl], ...]
    held_back: int


def kafka_acls_commands(
    changes: Iterable[tuple[CommandKind, Acl]], *, allow_everyone: bool = False
) -> Commands:
    """The commands for ``changes``, in order.

    Some changes have no command. Other commands are then held back:

    - all removals, if an ACL to add has no command: the ACL can be a replacement;
    - all ALLOWs to add, if a DENY to add has no command, and all DENYs to remove, if an ALLOW to
      remove has none: otherwise somebody would get access that should be denied;
    - with ``allow_everyone``, all commands, if any change has none: one ACL on a name can shut out
      everybody else.

    An unknown permission counts as DENY, as in decisions.
    """
    lines_by_change = [(change, acl, kafka_acls_command(change, acl)) for change, acl in changes]
    inexpressible = tuple((change, acl) for change, acl, line in lines_by_change if line is None)
    lacking = {(change, _decided_as(acl)) for change, acl in inexpressible}
    lines = tuple(
        line
        for change, acl, line in lines_by_change
        if line is not None
        and lacking.isdisjoint(lacking if allow_everyone else _NEEDED[change, _decided_as(acl)])
    )
    return Commands(lines, inexpressible, len(lines_by_change) - len(inexpressible) - len(lines))


def _decided_as(acl: Acl) -> PermissionType:
    return PermissionType.ALLOW if is_allow(acl) else PermissionType.DENY


def quoted(value: str) -> str:
    """``value`` as one word of bash or zsh, with escapes for invisible characters."""
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


def _problem_of(value: str) -> str | None:
    """Why kafka-acls cannot pass on ``value``, as part of a message."""
    if not value:
        return "takes no empty text for"
    if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
        return "cannot get a NUL or a surrogate character in"
    if value[0] <= " " or value[-1] <= " ":
        return "cuts the blanks at the ends of"
    return None


def _escaped(character: str) -> str:
    if character.isprintable() and character not in _TO_ESCAPE:
        return character
    return "".join(f"\\x{byte:02x}" for byte in character.encode(errors="surrogatepass"))
