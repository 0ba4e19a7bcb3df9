"""``metalog kafka-acls TARGET``: adds, removes and lists ACLs with kafka-acls' own options.

The verb prints what kafka-acls prints, in a stable order. Removals need a confirmation or
``--force``. This module must not know what the options mean; ``acl_options`` does.
"""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser, Namespace
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final

from metalog.acl import (
    AccessControlEntryFilter,
    Acl,
    Operation,
    PermissionType,
    ResourcePatternFilter,
    ResourceType,
)
from metalog.errors import InvalidRequest
from metalog.text.plurals import counted
from metalog.text.visible_text import safe
from metalog_sources.formats.commands.acl_options import (
    AclAction,
    CommandOptions,
    EntriesByResource,
    entries_of,
)
from metalog_sources.source_kinds import ACL_TARGETS
from metalog_sources.store import NarrowStore
from metalog_sources.targets.plan import ChangeKind, PlanStep, after
from metalog_sources.targets.target import carry_out, likely_kafka, refuse_unwritable, target_of
from shell.arguments.confirm import confirms, require_terminal
from shell.context import (
    add_command_config,
    add_config,
    add_source_argument,
    opened_source,
    opened_text,
    read_config,
    state_document,
)
from shell.inputs.lockout import CLUSTER_ACLS, add_lockout, caller_of
from shell.inputs.planning import current_acls
from shell.output.output import Output
from shell.tasks.broker.broker_context import Context
from shell.tasks.narrow_source import for_listing
from shell.tasks.plans.checks import default_findings
from shell.views.acls import listing_order

if TYPE_CHECKING:
    from metalog_sources.source import Source
    from metalog_sources.targets.target import Target

USAGE: Final = "TARGET --list|--add|--remove [options of kafka-acls]"
FORMATS: Final = ("text",)
PAGED: Final = False
EPILOG: Final = """\
metalog kafka-acls cluster://broker:9092 --list --topic payments --resource-pattern-type match
metalog kafka-acls @prod --add --allow-principal User:app --operation Read --topic payments
metalog kafka-acls @prod --add --allow-principal User:app --consumer --topic a --group g
metalog kafka-acls DIR --remove --allow-principal User:app --topic payments

Options may be repeated. --list takes any SOURCE. Exit code: 0 done, or declined at the prompt,
2 not done, or not in full."""
_VALUED: Final = {
    "who": (
        ("--allow-principal", "PRINCIPAL", "Type:name; User:* is everybody"),
        ("--deny-principal", "PRINCIPAL", "the principal of a DENY to add or remove"),
        ("--allow-host", "HOST", "the host of --allow-principal (default: *)"),
        ("--deny-host", "HOST", "the host of --deny-principal (default: *)"),
        ("--principal", "PRINCIPAL", "with --list: only the ACLs of this principal"),
    ),
    "may do what": (
        ("--operation", "OPERATION", "Read, Write, DescribeConfigs, … (default: All)"),
    ),
    "on what": (
        ("--topic", "TOPIC", "* is every topic"),
        ("--group", "GROUP", "* is every consumer group"),
        ("--transactional-id", "ID", "* is every transactional id"),
        ("--delegation-token", "TOKEN", "* is every token"),
        ("--user-principal", "PRINCIPAL", "a user as a resource, for CreateTokens"),
        (
            "--resource-pattern-type",
            "TYPE",
            "literal (default) or prefixed; for --list and --remove also any (patterns with this"
            " name) or match (patterns that match this name)",
        ),
    ),
}
_FLAGS: Final = {
    "do one of": (
        ("--list", "list all ACLs, or only those on the resources below"),
        ("--add", "add ACLs"),
        ("--remove", "remove ACLs; without a principal, all ACLs on the resources below"),
    ),
    "may do what": (
        ("--producer", "every permission of a producer to --topic"),
        ("--consumer", "every permission of a consumer of --topic in --group"),
        ("--idempotent", "with --producer: IdempotentWrite on the cluster too"),
    ),
    "on what": (("--cluster", "the cluster itself"),),
    "and": (("--force", "do not ask"),),
}
_UNSUPPORTED: Final = ("--bootstrap-server", "--bootstrap-controller", "--authorizer-properties")


def configure(parser: ArgumentParser) -> None:
    more = "; with --list any other SOURCE, too"
    add_source_argument(parser, ACL_TARGETS, metavar="TARGET", more=more).nargs = "?"
    for title in ("do one of", "who", "may do what", "on what", "and"):
        group = parser.add_argument_group(title)
        for option, line in _FLAGS.get(title, ()):
            group.add_argument(option, action="store_true", help=line)
        for option, metavar, line in _VALUED.get(title, ()):
            group.add_argument(option, action="append", default=[], metavar=metavar, help=line)
    parser.add_argument("--yes", dest="force", action="store_true", help="the same as --force")
    add_command_config(parser)
    add_lockout(parser)
    add_config(parser)
    for option in (*_UNSUPPORTED, "--authorizer"):
        parser.add_argument(option, action="append", default=[], help=SUPPRESS)
    parser.set_defaults(at=None, committed=False, salvage=None)


def run(arguments: Namespace, output: Output) -> int:
    _check_target(arguments)
    wanted = entries_of(_options(arguments))
    if wanted.action is AclAction.LIST:
        source = opened_text(arguments.source, arguments, output)
        if wanted.entries:
            source = for_listing(source, list(wanted.entries))
        _list(wanted, current_acls(source, arguments, output), output)
        return 0
    source = opened_source(arguments, output)
    context = _context_of(wanted, source, arguments, output)
    target = target_of(source)
    try:
        if wanted.action is AclAction.ADD:
            _add(wanted, target, context, arguments, output)
        else:
            _remove(wanted, target, context, arguments, output)
    finally:
        target.close()
    return 0


def _check_target(arguments: Namespace) -> None:
    for option in _UNSUPPORTED:
        for value in _values(arguments, option):
            raise InvalidRequest(f"{option} is not supported; {_instead(option, value)}")
    if arguments.source is None:
        raise InvalidRequest(
            "name a cluster or folder: metalog kafka-acls cluster://HOST:PORT …, or the folder of "
            "a stopped node"
        )


def _instead(option: str, value: str) -> str:
    scheme = "zookeeper" if option == "--authorizer-properties" else "cluster"
    address = value.removeprefix("zookeeper.connect=")
    return f"type metalog kafka-acls {scheme}://{address} …"


def _values(arguments: Namespace, option: str) -> list[str]:
    found: list[str] = getattr(arguments, option.removeprefix("--").replace("-", "_"))
    return found


def _options(arguments: Namespace) -> CommandOptions:
    valued = [option for group in _VALUED.values() for option, _, _ in group]
    flags = [option for group in _FLAGS.values() for option, _ in group]
    return CommandOptions(
        {option: _values(arguments, option) for option in valued},
        {option for option in flags if _values(arguments, option)},
    )


def _list(wanted: EntriesByResource, existing: Iterable[Acl], output: Output) -> None:
    found = [
        acl
        for acl in sorted(existing, key=listing_order)
        if not wanted.entries or any(resource.matches(acl) for resource in wanted.entries)
    ]
    for principal in wanted.principals:
        output.line(f"ACLs for principal `{safe(principal)}`")
        _print_acls([acl for acl in found if acl.principal == principal], output)
    if not wanted.principals:
        _print_acls(found, output)


def _print_acls(acls: Iterable[Acl], output: Output) -> None:
    for resource, group in groupby(acls, _resource_of):
        output.line(f"Current ACLs for resource `{_pattern_text(resource)}`:")
        for acl in group:
            output.line("\t" + _entry_text(_entry_of(acl)))
        output.line()


def _context_of(
    wanted: EntriesByResource, source: Source, arguments: Namespace, output: Output
) -> Context:
    """Kafka's defaults, if no configuration is given and no lock-out is possible."""
    from authorizer.config import AuthorizerConfig

    options = source.config, arguments.config, arguments.super_users, arguments.allow_everyone
    types = {resource.resource_type for resource in wanted.entries}
    is_given = any(each is not None for each in options)
    if is_given or types & {ResourceType.CLUSTER, ResourceType.ANY}:
        return read_config(arguments, source, output)
    return Context(AuthorizerConfig(), ())


def _add(
    wanted: EntriesByResource,
    target: Target,
    context: Context,
    arguments: Namespace,
    output: Output,
) -> None:
    existing = set(_acls_on(wanted.entries, target, arguments, output))
    acls = [*wanted.to_add()]
    steps = [PlanStep(ChangeKind.ADD, acl) for acl in acls if acl not in existing]
    refuse_unwritable(target, steps)
    _refuse_lockout(steps, target, context, arguments, output)
    _warn_of_default(steps, target, context, arguments, output)
    for resource, group in groupby(acls, _resource_of):
        listed = [*group]
        for acl in listed:
            if acl in existing:
                output.line(
                    f"Acl (pattern={_pattern_text(resource)}, entry={_entry_text(_entry_of(acl))}) "
                    "already exists."
                )
        entries = [_entry_of(acl) for acl in listed if acl not in existing]
        if entries:
            output.line(f"Adding ACLs for resource `{_pattern_text(resource)}`: ")
            _print_entries(entries, output)
            output.line()
    output.flush()
    carry_out(target, steps)


def _remove(
    wanted: EntriesByResource,
    target: Target,
    context: Context,
    arguments: Namespace,
    output: Output,
) -> None:
    if not arguments.force:
        require_terminal(output.out, "--force")
    _refuse_unrepresentable(wanted, target)

    def removals(resource: ResourcePatternFilter) -> list[PlanStep]:
        existing = _acls_on([resource], target, arguments, output)
        matching = sorted(wanted.matching(existing, resource), key=listing_order)
        return [PlanStep(ChangeKind.REMOVE, acl) for acl in matching]

    for resource, entries in wanted.entries.items():
        if context.config.allow_everyone:
            _warn_of_default(removals(resource), target, context, arguments, output)
        if not arguments.force:
            _print_question(resource, entries, output)
            if not confirms():
                continue
        steps = removals(resource)
        _refuse_lockout(steps, target, context, arguments, output)
        carry_out(target, steps)
        output.note(f"removed {counted(len(steps), 'ACL')}" if steps else "no ACL matched")


def _refuse_lockout(
    steps: Sequence[PlanStep],
    target: Target,
    context: Context,
    arguments: Namespace,
    output: Output,
) -> None:
    from shell.tasks.plans.lockout import lockout_text

    if arguments.allow_lockout or not any(
        step.acl.resource_type is ResourceType.CLUSTER for step in steps
    ):
        return
    source = opened_source(arguments, output)
    before = _acls_on([CLUSTER_ACLS], target, arguments, output)
    config = context.with_kafka(likely_kafka(target), ()).config
    warning = lockout_text(before, after(before, steps), config, caller_of(source, arguments))
    if warning is not None:
        raise InvalidRequest(warning)


def _warn_of_default(
    steps: Sequence[PlanStep],
    target: Target,
    context: Context,
    arguments: Namespace,
    output: Output,
) -> None:
    if context.config.allow_everyone:
        existing = _acls_on([ResourcePatternFilter()], target, arguments, output)
        for finding in default_findings(steps, existing, context.config):
            output.warn(str(finding))


def _refuse_unrepresentable(wanted: EntriesByResource, target: Target) -> None:
    """Without this check, the removal of such ACLs would only say that no ACL matched."""
    anybody = AccessControlEntryFilter("User:*", "*", Operation.ALL, PermissionType.ALLOW)
    for resource, entries in wanted.entries.items():
        probe = EntriesByResource(wanted.action, {resource: entries or (anybody,)})
        refuse_unwritable(target, [PlanStep(ChangeKind.REMOVE, acl) for acl in probe.to_add()])


def _print_question(
    resource: ResourcePatternFilter, entries: Sequence[AccessControlEntryFilter], output: Output
) -> None:
    question = f"resource filter `{_pattern_text(resource)}`? (y/n)"
    if entries:
        output.line("Are you sure you want to remove ACLs: ")
        _print_entries(entries, output)
        output.line(f" from {question}")
    else:
        output.line(f"Are you sure you want to delete all ACLs for {question}")
    output.flush()


def _print_entries(entries: Sequence[AccessControlEntryFilter], output: Output) -> None:
    """As in kafka-acls, the first entry has one more blank."""
    for number, entry in enumerate(entries):
        output.line(f"{'' if number else ' '}\t{_entry_text(entry)}")


def _acls_on(
    patterns: Iterable[ResourcePatternFilter], target: Target, arguments: Namespace, output: Output
) -> tuple[Acl, ...]:
    """The ACLs that ``patterns`` match, and perhaps others."""
    if isinstance(target, NarrowStore):
        state = target.state_about(list(patterns))
    else:
        state = target.state()
    return state_document(state, arguments, output).acls


def _resource_of(acl: Acl) -> ResourcePatternFilter:
    return ResourcePatternFilter(acl.resource_type, acl.resource_name, acl.pattern_type)


def _entry_of(acl: Acl) -> AccessControlEntryFilter:
    return AccessControlEntryFilter(acl.principal, acl.host, acl.operation, acl.permission_type)


def _pattern_text(resource: ResourcePatternFilter) -> str:
    return (
        f"ResourcePattern(resourceType={resource.resource_type.name}, "
        f"name={safe(resource.name or '')}, patternType={resource.pattern_type.name})"
    )


def _entry_text(entry: AccessControlEntryFilter) -> str:
    return (
        f"(principal={safe(entry.principal or '')}, host={safe(entry.host or '')}, "
        f"operation={entry.operation.name}, permissionType={entry.permission_type.name})"
    )
