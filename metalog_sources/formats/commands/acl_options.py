"""Parses kafka-acls' options by kafka-acls' own rules.

This module refuses the same options as kafka-acls 4.3.1, with the same messages;
docs/reference/kafka-acls.md names the few differences. This module must not know where the options
come from, nor what the caller does with the result.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Final, NamedTuple

from metalog.acl import (
    CLUSTER_NAME,
    SUPPORTED_OPERATIONS,
    WILDCARD,
    AccessControlEntryFilter,
    Acl,
    Operation,
    PatternType,
    PermissionType,
    ResourcePatternFilter,
    ResourceType,
    camel,
)
from metalog.errors import InvalidRequest
from metalog_sources.formats.nodes.words import read_word

RESOURCES: Final = {
    "--topic": ResourceType.TOPIC,
    "--cluster": ResourceType.CLUSTER,
    "--group": ResourceType.GROUP,
    "--transactional-id": ResourceType.TRANSACTIONAL_ID,
    "--delegation-token": ResourceType.DELEGATION_TOKEN,
    "--user-principal": ResourceType.USER,
}
_PRINCIPAL_OPTIONS: Final = ("--allow-principal", "--allow-host", "--deny-principal", "--deny-host")
VALUED: Final = (
    *(option for option in RESOURCES if option != "--cluster"),
    *_PRINCIPAL_OPTIONS,
    "--principal",
    "--operation",
    "--resource-pattern-type",
)
FLAGS: Final = ("--cluster", "--producer", "--consumer", "--idempotent", "--force")
CONNECTING: Final = ("--bootstrap-server", "--bootstrap-controller", "--command-config")

_JAVA_BLANKS: Final = "".join(map(chr, range(0x21)))
_ROLE_EXCLUDES: Final = ("--operation", "--deny-principal", "--deny-host")
_PERMISSIONS: Final = {"allow": PermissionType.ALLOW, "deny": PermissionType.DENY}
_CLUSTER: Final = ResourcePatternFilter(ResourceType.CLUSTER, CLUSTER_NAME, PatternType.LITERAL)
_ROLES: Final = {
    "--producer": {
        ResourceType.TOPIC: (Operation.WRITE, Operation.DESCRIBE, Operation.CREATE),
        ResourceType.TRANSACTIONAL_ID: (Operation.WRITE, Operation.DESCRIBE),
    },
    "--consumer": {
        ResourceType.TOPIC: (Operation.READ, Operation.DESCRIBE),
        ResourceType.GROUP: (Operation.READ,),
    },
}


class AclAction(Enum):
    ADD = "--add"
    REMOVE = "--remove"
    LIST = "--list"


_EXCLUDES: Final = {
    AclAction.LIST.value: ("--producer", "--consumer", *_PRINCIPAL_OPTIONS),
    "--producer": _ROLE_EXCLUDES,
    "--consumer": _ROLE_EXCLUDES,
}


class CommandOptions(NamedTuple):
    """The values of each option in order, and the flags."""

    values: Mapping[str, Sequence[str]]
    flags: Collection[str]

    def of(self, option: str) -> list[str]:
        """The trimmed values of ``option``. As in kafka-acls, transactional ids keep blanks."""
        values = self.values.get(option, ())
        is_trimmed = option != "--transactional-id"
        return [text.strip(_JAVA_BLANKS) if is_trimmed else text for text in values]

    def has(self, option: str) -> bool:
        return option in self.flags or bool(self.values.get(option))


class EntriesByResource(NamedTuple):
    """The entries to add or remove for each resource. A removal without entries removes all ACLs
    of the resource.

    A listing shows the ACLs of ``principals``; empty means all principals.
    """

    action: AclAction
    entries: Mapping[ResourcePatternFilter, tuple[AccessControlEntryFilter, ...]]
    principals: tuple[str, ...] = ()

    def to_add(self) -> Iterator[Acl]:
        for (resource_type, name, pattern_type), entries in self.entries.items():
            for principal, host, operation, permission in entries:
                yield Acl(
                    resource_type,
                    name or "",
                    pattern_type,
                    principal or "",
                    host or "",
                    operation,
                    permission,
                )

    def matching(self, acls: Iterable[Acl], resource: ResourcePatternFilter) -> list[Acl]:
        """The ACLs in ``acls`` that match an entry of ``resource``."""
        entries = self.entries[resource] or (AccessControlEntryFilter(),)
        return [
            acl
            for acl in acls
            if resource.matches(acl) and any(entry.matches(acl) for entry in entries)
        ]


def entries_of(options: CommandOptions) -> EntriesByResource:
    """The action and entries of a command; ``InvalidRequest`` if the options are invalid."""
    action = _action(options)
    _check(options)
    if action is AclAction.LIST:
        principals = tuple(dict.fromkeys(map(_principal, options.of("--principal"))))
        return EntriesByResource(action, dict.fromkeys(_resources(options), ()), principals)
    pattern_type = _pattern_type(options)
    if action is AclAction.ADD and pattern_type in (PatternType.ANY, PatternType.MATCH):
        raise InvalidRequest(
            f"A '--resource-pattern-type' value of '{pattern_type.name}' is not valid when "
            "adding acls."
        )
    entries = _entries(options)
    for resource, wanted in entries.items():
        _check_operations(resource.resource_type, wanted)
    if not all(entries.values()):
        _refuse_no_entries(action, options)
    return EntriesByResource(action, entries)


def _action(options: CommandOptions) -> AclAction:
    actions = [action for action in AclAction if action.value in options.flags]
    if len(actions) != 1:
        raise InvalidRequest("Command must include exactly one action: --list, --add, --remove.")
    return actions[0]


def _check(options: CommandOptions) -> None:
    for option, others in _EXCLUDES.items():
        for other in others:
            if options.has(option) and options.has(other):
                raise InvalidRequest(
                    f'Option "[{option[2:]}]" can\'t be used with option "[{other[2:]}]"'
                )
    has, problem = options.has, None
    if has("--principal") and not has("--list"):
        problem = "The --principal option is only available if --list is set"
    elif has("--producer") and not has("--topic"):
        problem = "With --producer you must specify a --topic"
    elif has("--idempotent") and not has("--producer"):
        problem = "The --idempotent option is only available if --producer is set"
    elif has("--consumer") and not _fits_consumer(options):
        problem = (
            "With --consumer you must specify a --topic and a --group and no --cluster or "
            "--transactional-id option should be specified."
        )
    if problem is not None:
        raise InvalidRequest(problem)


def _fits_consumer(options: CommandOptions) -> bool:
    if not (options.has("--topic") and options.has("--group")):
        return False
    others = options.has("--cluster") or options.has("--transactional-id")
    return options.has("--producer") or not others


def _pattern_type(options: CommandOptions) -> PatternType:
    texts = options.of("--resource-pattern-type") or ["literal"]
    return read_word(PatternType, texts[-1], "resource-pattern-type", filter=True)


def _resources(options: CommandOptions) -> list[ResourcePatternFilter]:
    """Like kafka-acls, ignore the cluster if the pattern is not literal."""
    pattern_type = _pattern_type(options)
    resources = []
    for option, resource_type in RESOURCES.items():
        if resource_type is not ResourceType.CLUSTER:
            resources += [
                ResourcePatternFilter(resource_type, name, pattern_type)
                for name in options.of(option)
            ]
        elif pattern_type is PatternType.LITERAL and (
            options.has("--cluster") or options.has("--idempotent")
        ):
            resources.append(_CLUSTER)
    return list(dict.fromkeys(resources))


def _entries(
    options: CommandOptions,
) -> dict[ResourcePatternFilter, tuple[AccessControlEntryFilter, ...]]:
    resources = _resources(options)
    if not resources:
        raise InvalidRequest(
            "You must provide at least one resource: --topic <topic> or --cluster or --group "
            "<group> or --delegation-token <Delegation Token ID>"
        )
    roles = [operations for role, operations in _ROLES.items() if options.has(role)]
    if not roles:
        texts = options.of("--operation") or [camel(Operation.ALL)]
        operations = [read_word(Operation, text, "operation") for text in texts]
        return dict.fromkeys(resources, _entries_for(options, operations))
    entries = {}
    for resource in resources:
        wanted = [operation for role in roles for operation in role.get(resource.resource_type, ())]
        if wanted:
            entries[resource] = _entries_for(options, wanted)
    if options.has("--idempotent"):
        entries[_CLUSTER] = _entries_for(options, [Operation.IDEMPOTENT_WRITE])
    return entries


def _entries_for(
    options: CommandOptions, operations: Iterable[Operation]
) -> tuple[AccessControlEntryFilter, ...]:
    return tuple(
        AccessControlEntryFilter(principal, host, operation, permission)
        for word, permission in _PERMISSIONS.items()
        for principal in dict.fromkeys(map(_principal, options.of(f"--{word}-principal")))
        for host in dict.fromkeys(options.of(f"--{word}-host") or [WILDCARD])
        for operation in dict.fromkeys(operations)
    )


def _principal(text: str) -> str:
    if ":" not in text:
        raise InvalidRequest(
            f"expected a string in format principalType:principalName but got {text}"
        )
    return text


def _check_operations(
    resource_type: ResourceType, entries: Iterable[AccessControlEntryFilter]
) -> None:
    supported = SUPPORTED_OPERATIONS[resource_type] | {Operation.ALL}
    if any(entry.operation not in supported for entry in entries):
        words = ", ".join(map(camel, sorted(supported)))
        raise InvalidRequest(f"ResourceType {resource_type.name} only supports operations {words}")


def _refuse_no_entries(action: AclAction, options: CommandOptions) -> None:
    """Unlike kafka-acls, refuse a removal with an option that would have no effect."""
    if action is AclAction.ADD:
        raise InvalidRequest(
            "You must specify one of: --allow-principal, --deny-principal when trying to add ACLs."
        )
    ignored = [
        option
        for option in ("--operation", "--allow-host", "--deny-host", *_ROLES)
        if options.has(option)
    ]
    if ignored:
        raise InvalidRequest(
            f"--remove with {ignored[0]} and no principal would remove all ACLs of the resource; "
            f"give --allow-principal or --deny-principal, or leave out {ignored[0]}"
        )
