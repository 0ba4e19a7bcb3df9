"""``metalog acls SOURCE``: the ACLs, filtered as kafka-acls filters them.

This module must not know what an ACL decides.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Final

from metalog.acl import (
    ACL_KEYS,
    AccessControlEntryFilter,
    Acl,
    AclFilter,
    Operation,
    PatternType,
    PermissionType,
    ResourcePatternFilter,
    words_of,
)
from metalog.ids import uuid_text
from metalog.principal import parse_principal
from metalog.text.plurals import counted, plural
from metalog.text.visible_text import shown
from metalog_sources.formats.nodes.words import read_word
from shell.arguments.resources import add_resources, resources
from shell.context import add_source, opened_source, replayed_source
from shell.output.output import Cell, Output
from shell.views import acls

if TYPE_CHECKING:
    from metalog.image.state.acls import AclsImage
    from metalog_sources.replay import Replayed
    from metalog_sources.source import Source

USAGE: Final = "SOURCE [filters] [options]"
FORMATS: Final = ("text", "json", "csv", "markdown")
PAGED: Final = True
EPILOG: Final = """\
With a name and no --resource-pattern-type, only LITERAL ACLs of the name are listed, as by
kafka-acls; --resource-pattern-type match lists every ACL that reaches the name. A repeated option
lists the ACLs of each value."""


def configure(parser: ArgumentParser) -> None:
    add_source(parser)
    wanted = parser.add_argument_group("filters, as in kafka-acls")
    add_resources(wanted)
    wanted.add_argument(
        "--resource-pattern-type", metavar="TYPE", help="any, match, literal or prefixed"
    )
    wanted.add_argument("--principal", action="append", metavar="TYPE:NAME")
    wanted.add_argument(
        "--operation", action="append", metavar="NAME", help="in upper or lower case"
    )
    wanted.add_argument("--host", action="append", metavar="HOST")
    wanted.add_argument("--permission", action="append", metavar="TYPE", help="allow or deny")


def run(arguments: Namespace, output: Output) -> int:
    patterns = _pattern_filters(arguments)
    entry_filters = _entry_filters(arguments)
    source = _source(arguments, patterns, entry_filters, output)
    replayed = replayed_source(arguments, output, source)
    with output.busy(f"listing {counted(len(replayed.image.acls), 'ACL')}"):
        _list(replayed, patterns, entry_filters, arguments, output)
    return 0


def _source(
    arguments: Namespace,
    patterns: list[ResourcePatternFilter],
    entry_filters: list[AccessControlEntryFilter],
    output: Output,
) -> Source:
    """The part of SOURCE to list. If no ACL matches, all of SOURCE, because a note counts its
    ACLs."""
    from shell.tasks.narrow_source import for_listing

    reaching = patterns
    if arguments.resource_pattern_type is None:
        reaching = [each._replace(pattern_type=PatternType.MATCH) for each in patterns]
    wanted = [AclFilter(pattern, entry) for pattern in patterns for entry in entry_filters]
    return for_listing(
        opened_source(arguments, output),
        reaching,
        lambda acls: any(each.matches(acl) for acl in acls for each in wanted),
    )


def _list(
    replayed: Replayed,
    patterns: list[ResourcePatternFilter],
    entry_filters: list[AccessControlEntryFilter],
    arguments: Namespace,
    output: Output,
) -> None:
    image, has_ids = replayed.image, replayed.source.store is None
    admitted = [
        (uuid_text(uuid) if has_ids else "", acl)
        for uuid, acl in image.acls.by_id.items()
        if any(each.matches(acl) for each in entry_filters)
    ]
    found = [
        (id_text, acl)
        for id_text, acl in admitted
        if any(pattern.matches(acl) for pattern in patterns)
    ]
    if output.is_text:
        found.sort(key=lambda pair: (acls.listing_order(pair[1]), pair[0]))
        output.aligned([*acls.cells(acl), Cell(id_text, "faint")] for id_text, acl in found)
    else:
        found.sort()
        output.records(("id", *ACL_KEYS), ((id_text, *words_of(acl)) for id_text, acl in found))
    if not (found or output.missing) and output.is_text:
        output.note(_nothing(image.acls, arguments.principal or ()))
    if arguments.resource_pattern_type is None:
        for pattern in patterns:
            _say_left_out(pattern, (acl for _, acl in admitted), output)


def _nothing(image: AclsImage, principals: Collection[str]) -> str:
    if not len(image):
        return "there are no ACLs"
    from authorizer.analysis.explain.names import nearest_principal

    text = f"none of the {counted(len(image), 'ACL')} passes these filters"
    known = {acl.principal for acl in image.by_id.values()}
    found = (nearest_principal(each, known) for each in principals if each not in known)
    near = [shown(each) for each in found if each is not None]
    return f"{text}; did you mean {' or '.join(near)}?" if near else text


def _pattern_filters(arguments: Namespace) -> list[ResourcePatternFilter]:
    text = arguments.resource_pattern_type
    named = resources(arguments)
    if text is None:
        pattern_type = PatternType.LITERAL if named else PatternType.ANY
    else:
        pattern_type = read_word(PatternType, text, "pattern type", filter=True)
    if not named:
        return [ResourcePatternFilter(pattern_type=pattern_type)]
    return [ResourcePatternFilter(kind, name, pattern_type) for kind, name in named]


def _entry_filters(arguments: Namespace) -> list[AccessControlEntryFilter]:
    operations = [
        read_word(Operation, text, "operation", filter=True)
        for text in arguments.operation or ("any",)
    ]
    permissions = [
        read_word(PermissionType, text, "permission", filter=True)
        for text in arguments.permission or ("any",)
    ]
    principals = [str(parse_principal(text)) for text in arguments.principal or ()]
    return [
        AccessControlEntryFilter(principal, host, operation, permission)
        for principal in principals or (None,)
        for host in arguments.host or (None,)
        for operation in operations
        for permission in permissions
    ]


def _say_left_out(pattern: ResourcePatternFilter, admitted: Iterable[Acl], output: Output) -> None:
    """Note ACLs that reach the name, but that the list leaves out, as kafka-acls does."""
    if pattern.name is None:
        return
    reaching = pattern._replace(pattern_type=PatternType.MATCH)
    kinds = [
        "prefixed" if acl.pattern_type is PatternType.PREFIXED else "wildcard"
        for acl in admitted
        if reaching.matches(acl) and not pattern.matches(acl)
    ]
    counts = [(kinds.count(kind), kind) for kind in ("prefixed", "wildcard") if kind in kinds]
    if counts:
        text = " and ".join(f"{count} {kind}" for count, kind in counts)
        reach = plural(len(kinds), "ACL also reaches", "ACLs also reach")
        output.note(
            f"{text} {reach} {pattern.name}; --resource-pattern-type match lists every such ACL"
        )
