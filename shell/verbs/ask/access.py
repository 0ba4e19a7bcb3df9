"""``metalog access SOURCE PRINCIPAL``: everything that a principal may do.

This module must not know how permissions are found.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from authorizer.analysis.access.access import NameAccess, Names, PrincipalAccess, access
from authorizer.analysis.access.allowed_patterns import PatternAccess
from authorizer.analysis.explain.json import acl_json
from authorizer.trace import Question
from metalog.acl import (
    CLUSTER_NAME,
    SUPPORTED_OPERATIONS,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    Operation,
    PatternType,
    ResourceType,
)
from metalog.principal import parse_principal
from metalog.text.visible_text import shown
from shell.arguments.question import as_java_writes
from shell.context import add_config, add_source
from shell.inputs.queries import queries_of
from shell.output.output import Cell, Output
from shell.tasks.acl_words import resource_kind, sentence
from shell.tasks.queries import Queries
from shell.views.explanation import notes_on_host
from shell.views.other_kafka import say_other_result

if TYPE_CHECKING:
    from metalog.image.metadata import MetadataImage

USAGE: Final = "SOURCE PRINCIPAL [options]"
FORMATS: Final = ("text", "json")
PAGED: Final = True
EPILOG: Final = """\
metalog access /var/kafka/metadata User:billing
metalog access SOURCE User:billing --host 10.0.4.12 --at 151

READ, WRITE, DELETE and ALTER imply DESCRIBE; ALTER_CONFIGS implies DESCRIBE_CONFIGS.
Exit code: 0 the principal may do something, 1 it may do nothing, 2 no answer."""
_NAMES_SHOWN: Final = 20
_BY_DEFAULT: Final = (
    "everything on each resource that no ACL reaches (allow.everyone.if.no.acl.found)"
)


def configure(parser: ArgumentParser) -> None:
    add_source(parser)
    question = parser.add_argument_group("question")
    question.add_argument("principal", metavar="PRINCIPAL", help="TYPE:NAME, such as User:billing")
    question.add_argument(
        "--host", metavar="ADDRESS", help="from this address only (default: from anywhere)"
    )
    question.add_argument("--all", action="store_true", help="print long lists in full")
    add_config(parser)


def run(arguments: Namespace, output: Output) -> int:
    principal = str(parse_principal(arguments.principal))
    host = as_java_writes(arguments.host)
    queries = queries_of(arguments, output)
    question = Question(principal, Operation.DESCRIBE, ResourceType.CLUSTER, CLUSTER_NAME, host)
    queries.check_ready(question)
    for unknown in queries.unknown(question):
        output.note(str(unknown))
    for note in notes_on_host(host):
        output.note(note)
    is_super_user = principal in queries.context.config.super_users
    names = _names(queries.image)
    acls = dict.fromkeys(queries.image.acls.by_id.values())
    found = access(tuple(acls), queries.context.config, principal, names, host)
    other = None if is_super_user else queries.of_other_kafka
    if (
        other is not None
        and access(tuple(acls), other.context.config, principal, names, host) != found
    ):
        matching = (acl for acl in acls if acl.principal in (principal, WILDCARD_PRINCIPAL))
        say_other_result(matching, queries.context.config.kafka, output)
    if output.is_text:
        if is_super_user:
            output.line(f"{shown(principal)} is a super user, and may do everything.")
        else:
            _print(principal, found, queries, output, whole=arguments.all)
    else:
        for record in _records(principal, found, queries, is_super_user=is_super_user):
            output.record(record)
        if queries.context.config.allow_everyone and not is_super_user:
            output.note(f"{shown(principal)} may do {_BY_DEFAULT}")
    is_open = is_super_user or queries.context.config.allow_everyone
    return 0 if is_open or any(map(_allows_any, found)) else 1


def _allows_any(part: PrincipalAccess) -> bool:
    return any(on.operations for on in part.patterns) or any(on.operations for on in part.names)


def _names(image: MetadataImage) -> Names:
    """A log has no names of groups and transactional ids."""
    return {ResourceType.TOPIC: image.topics.by_name.keys()}


def _print(
    principal: str, found: list[PrincipalAccess], queries: Queries, output: Output, *, whole: bool
) -> None:
    general, *others = found
    who = output.paint(shown(principal), "strong")
    host = "any host" if general.host is None else shown(general.host)
    if not (general.patterns or general.names):
        nothing = "nothing by ACLs" if queries.context.config.allow_everyone else "nothing"
        output.line(f"{who} may do {nothing}{'' if general.host is None else f' from {host}'}.")
    else:
        output.line(f"{who} may, from {host}")
        _print_part(general, output, whole=whole)
    for part in others:
        assert part.host is not None
        output.line(f"from {output.paint(shown(part.host), 'strong')}, these permissions differ")
        _print_part(part, output, whole=whole)
    if queries.context.config.allow_everyone:
        output.line(f"and {_BY_DEFAULT}")


def _print_part(part: PrincipalAccess, output: Output, *, whole: bool) -> None:
    output.aligned(_pattern_rows(part.patterns), indent="  ")
    if not part.names:
        return
    output.line("  on existing topics")
    kept = part.names if whole else part.names[:_NAMES_SHOWN]
    output.aligned(
        ([Cell(shown(on.name), "strong"), _operations(on)] for on in kept), indent="    "
    )
    if len(kept) < len(part.names):
        output.line(f"    … and {len(part.names) - len(kept):,} more (--all)")


def _pattern_rows(patterns: Sequence[PatternAccess]) -> Iterator[list[Cell | str]]:
    for on in patterns:
        yield [_pattern(on), _operations(on)]
        for deny in on.exceptions:
            yield ["", Cell(f"but {sentence(deny)}", "warn")]


def _pattern(on: PatternAccess) -> Cell:
    kind = resource_kind(on.resource_type)
    if on.pattern_type is PatternType.LITERAL and on.name == WILDCARD:
        return Cell(f"any {kind}", "strong")
    begins = "names that begin with " if on.pattern_type is not PatternType.LITERAL else ""
    return Cell(f"{kind} {begins}{shown(on.name)}", "strong")


def _operations(on: PatternAccess | NameAccess) -> str:
    if not on.operations:
        return "nothing"
    if on.operations == SUPPORTED_OPERATIONS.get(on.resource_type):
        return "everything"
    return ", ".join(each.name for each in sorted(on.operations))


def _records(
    principal: str, found: Iterable[PrincipalAccess], queries: Queries, *, is_super_user: bool
) -> Iterator[dict[str, Any]]:
    for part in found:
        accesses: list[PatternAccess | NameAccess] = [*part.patterns, *part.names]
        for on in accesses:
            record: dict[str, Any] = {
                "principal": principal,
                "host": part.host,
                "superUser": is_super_user,
                "resourceType": on.resource_type.name,
                "resourceName": on.name,
                "patternType": None,
                "operations": [each.name for each in sorted(on.operations)],
                "kafkaVersion": queries.context.config.kafka.value,
                "assumed": list(queries.context.assumed),
            }
            if isinstance(on, PatternAccess):
                record |= {
                    "patternType": on.pattern_type.name,
                    "acls": [acl_json(acl, queries.id_of) for acl in on.acls],
                    "exceptions": [acl_json(acl, queries.id_of) for acl in on.exceptions],
                }
            yield record
