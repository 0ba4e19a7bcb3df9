"""``kafka-acls --add`` commands, read as kafka-acls reads them.

The commands themselves are written by ``authorizer.insight.commands``. This module must not
know files, and it runs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from metalog.acl import (
    CLUSTER_NAME,
    WILDCARD,
    Acl,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from snapshot.exchange.formats.document import Document, Entry, Place
from snapshot.exchange.formats.nodes import fault, near
from snapshot.exchange.formats.rules import checked
from snapshot.exchange.formats.shell_words import Command, commands
from snapshot.exchange.formats.words import read_word

_NAMES: Final = ("kafka-acls", "kafka-acls.sh", "kafka-acls.bat")
_RESOURCES: Final = {
    "--topic": ResourceType.TOPIC,
    "--group": ResourceType.GROUP,
    "--transactional-id": ResourceType.TRANSACTIONAL_ID,
    "--delegation-token": ResourceType.DELEGATION_TOKEN,
    "--user-principal": ResourceType.USER,
}
_PERMISSIONS: Final = {"allow": PermissionType.ALLOW, "deny": PermissionType.DENY}
_VALUED: Final = (
    *_RESOURCES,
    *("--allow-principal", "--allow-host", "--deny-principal", "--deny-host"),
    *("--operation", "--resource-pattern-type"),
)
_CONNECTING: Final = ("--bootstrap-server", "--bootstrap-controller", "--command-config")
_FLAGS: Final = ("--add", "--cluster", "--producer", "--consumer", "--idempotent", "--force")
_ACTIONS: Final = ("--remove", "--list")
_PRODUCER: Final = {
    ResourceType.TOPIC: (Operation.WRITE, Operation.DESCRIBE, Operation.CREATE),
    ResourceType.TRANSACTIONAL_ID: (Operation.WRITE, Operation.DESCRIBE),
    ResourceType.CLUSTER: (Operation.IDEMPOTENT_WRITE,),
}
_CONSUMER: Final = {
    ResourceType.TOPIC: (Operation.READ, Operation.DESCRIBE),
    ResourceType.GROUP: (Operation.READ,),
}

Resource = tuple[ResourceType, str, PatternType]


class _Options(NamedTuple):
    """A command's options: the values of each in order, and the flags."""

    values: dict[str, list[str]]
    flags: frozenset[str]
    place: Place

    def of(self, option: str) -> list[str]:
        return self.values.get(option, [])


def read_kafka_acls(text: str, file: str) -> Document:
    """A script of kafka-acls commands; anything else in it is a mistake."""
    return Document(tuple(entry for command in commands(text, file) for entry in _entries(command)))


def _entries(command: Command) -> Iterator[Entry]:
    words, variables, place = command
    if PurePosixPath(words[0]).name not in _NAMES:
        raise fault(place, f"{words[0]!r} is no kafka-acls command")
    options = _read_options(words[1:], variables, place)
    _check(options)
    resources = _resources(options)
    if not resources:
        raise fault(place, "names no resource; give --topic, --group, --cluster or another")
    for resource, operations in _asked(options, resources).items():
        for permission, principal, host in _who(options):
            for operation in operations:
                acl = Acl(*resource, principal, host, operation, permission)
                yield checked(Entry(acl, place=place))


def _read_options(words: Sequence[str], variables: frozenset[str], place: Place) -> _Options:
    values: dict[str, list[str]] = {}
    flags = set()
    rest = iter(words)
    for word in rest:
        option, equals, value = word.partition("=")
        if option in _FLAGS and not equals:
            flags.add(option)
        elif option in _VALUED or option in _CONNECTING:
            given = value if equals else next(rest, None)
            if given is None:
                raise fault(place, f"{option} has no value")
            if option in _VALUED and variables & {word, given}:
                raise fault(place, f"{option} has a variable, {given}; write what it stands for")
            values.setdefault(option, []).append(_trimmed(option, given))
        elif option in _ACTIONS:
            raise fault(place, f"{option} says no ACL that is wanted; only --add does")
        else:
            known = (*_VALUED, *_FLAGS, *_CONNECTING)
            raise fault(place, f"unknown option {option!r}; {near(option, known)}")
    return _Options(values, frozenset(flags), place)


def _trimmed(option: str, value: str) -> str:
    """kafka-acls trims all values but transactional ids, as Java's ``trim`` does."""
    if option == "--transactional-id":
        return value
    return value.strip("".join(map(chr, range(0x21))))


def _check(options: _Options) -> None:
    role = options.flags & {"--producer", "--consumer"}
    problem = None
    if "--add" not in options.flags:
        problem = "has no --add, so it says no ACL that is wanted"
    elif role and any(map(options.of, ("--operation", "--deny-principal", "--deny-host"))):
        problem = f"{min(role)} takes no --operation, --deny-principal or --deny-host"
    elif role and not options.of("--topic"):
        problem = f"{min(role)} needs a --topic"
    elif "--consumer" in role and not options.of("--group"):
        problem = "--consumer needs a --group"
    elif "--idempotent" in options.flags and "--producer" not in role:
        problem = "--idempotent needs --producer"
    elif not (options.of("--allow-principal") or options.of("--deny-principal")):
        problem = "names no principal; give --allow-principal or --deny-principal"
    if problem is not None:
        raise fault(options.place, problem)


def _resources(options: _Options) -> list[Resource]:
    """As kafka-acls has it, the cluster is left out of a prefixed command."""
    texts = options.of("--resource-pattern-type") or ["literal"]
    pattern = read_word(PatternType, texts[-1], "resource pattern type", options.place)
    found = [
        (resource_type, name, pattern)
        for option, resource_type in _RESOURCES.items()
        for name in options.of(option)
    ]
    if options.flags & {"--cluster", "--idempotent"} and pattern is PatternType.LITERAL:
        found.append((ResourceType.CLUSTER, CLUSTER_NAME, pattern))
    return found


def _asked(
    options: _Options, resources: Sequence[Resource]
) -> dict[Resource, tuple[Operation, ...]]:
    roles = [
        operations
        for flag, operations in (("--producer", _PRODUCER), ("--consumer", _CONSUMER))
        if flag in options.flags
    ]
    if not roles:
        texts = options.of("--operation") or ["All"]
        operations = tuple(read_word(Operation, text, "operation", options.place) for text in texts)
        return dict.fromkeys(resources, operations)
    asked: dict[Resource, tuple[Operation, ...]] = {}
    for resource in resources:
        wanted = [each for role in roles for each in role.get(resource[0], ())]
        if resource[0] is ResourceType.CLUSTER and "--idempotent" not in options.flags:
            wanted = []
        asked[resource] = tuple(dict.fromkeys(wanted))
    return asked


def _who(options: _Options) -> Iterator[tuple[PermissionType, str, str]]:
    for word, permission in _PERMISSIONS.items():
        for principal in options.of(f"--{word}-principal"):
            for host in options.of(f"--{word}-host") or [WILDCARD]:
                yield permission, principal, host
