"""Reads ``kafka-acls --add`` commands as kafka-acls reads them.

``authorizer.analysis.remedies.commands`` writes such commands. This module runs no command, and
must not know files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from pathlib import PurePosixPath
from typing import Final

from metalog.errors import InvalidRequest
from metalog_sources.formats.commands.acl_options import (
    CONNECTING,
    FLAGS,
    VALUED,
    AclAction,
    CommandOptions,
    entries_of,
)
from metalog_sources.formats.commands.shell_words import Command, commands
from metalog_sources.formats.document import (
    MAX_ACLS_OF_A_RULE,
    AclEntry,
    Document,
    FilePosition,
    bounded,
)
from metalog_sources.formats.nodes.nodes import fault, near
from metalog_sources.formats.nodes.rules import checked

_NAMES: Final = ("kafka-acls", "kafka-acls.sh", "kafka-acls.bat")
_ACTIONS: Final = tuple(action.value for action in AclAction)


def read_kafka_acls(text: str, file: str) -> Document:
    """Read a script of kafka-acls commands; any other command is an error."""
    entries = (entry for command in commands(text, file) for entry in _entries(command))
    return Document(tuple(bounded(entries, len(text))))


def _entries(command: Command) -> Iterator[AclEntry]:
    words, with_variables, position = command
    if PurePosixPath(words[0]).name not in _NAMES:
        raise fault(position, f"{words[0]!r} is not a kafka-acls command")
    options = _read_options(words[1:], with_variables, position)
    for action in _ACTIONS:
        if action in options.flags and action != AclAction.ADD.value:
            raise fault(position, f"{action} is not read here; write each ACL with --add")
    if AclAction.ADD.value not in options.flags:
        raise fault(position, "the command has no --add; write each ACL with --add")
    if prod(len(options.of(option)) or 1 for option in VALUED) > MAX_ACLS_OF_A_RULE:
        raise fault(
            position, f"a command expands to more than {MAX_ACLS_OF_A_RULE:,} ACLs; split it"
        )
    try:
        acls = tuple(entries_of(options).to_add())
    except InvalidRequest as error:
        raise fault(position, str(error)) from None
    for acl in acls:
        yield checked(AclEntry(acl, position=position))


def _read_options(
    words: Sequence[str], with_variables: frozenset[str], position: FilePosition
) -> CommandOptions:
    values: dict[str, list[str]] = {}
    flags = set()
    rest = iter(words)
    for word in rest:
        option, equals, value = word.partition("=")
        if option in (*FLAGS, *_ACTIONS) and not equals:
            flags.add(option)
        elif option in VALUED or option in CONNECTING:
            text = value if equals else next(rest, None)
            if text is None:
                raise fault(position, f"{option} has no value")
            if option in VALUED and with_variables & {word, text}:
                raise fault(position, f"{option} has a variable, {text}; write its value")
            values.setdefault(option, []).append(text)
        else:
            options = (*VALUED, *FLAGS, AclAction.ADD.value, *CONNECTING)
            raise fault(position, f"unknown option {option!r}; {near(option, options)}")
    return CommandOptions(values, flags)
