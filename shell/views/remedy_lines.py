"""Prints remedies, in words and as commands.

This module must not know how a remedy is found, nor which cluster its commands change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from authorizer.trace import Attribute, Question, is_allow
from metalog.acl import WILDCARD, Acl, Operation, PatternType, ResourceType
from metalog.text.visible_text import shown
from shell.output.output import Output
from shell.tasks.acl_words import host_words, resource_kind, sentence
from shell.tasks.command_target import CommandLine, CommandTarget

if TYPE_CHECKING:
    from authorizer.analysis.remedies.remedies import Remedy

_SHOWN: Final = 3
_ANONYMOUS: Final = "User:ANONYMOUS"
_USES: Final = {
    (Operation.READ, ResourceType.TOPIC): "if the client reads the topic",
    (Operation.WRITE, ResourceType.TOPIC): "if the client writes to the topic",
    (Operation.DELETE, ResourceType.TOPIC): "if the client deletes the topic",
    (Operation.READ, ResourceType.GROUP): "if the client joins the group",
    (Operation.WRITE, ResourceType.TRANSACTIONAL_ID): "if the client writes in transactions",
}


def command_lines(
    commands: Iterable[str], command_target: CommandTarget, output: Output, *, own: bool
) -> Iterator[str]:
    """Commands for kafka-acls; with ``own``, also for ``metalog kafka-acls``."""
    listed = list(commands)
    for command in command_target.commands(listed):
        yield CommandLine(f"  {output.paint(command, 'strong')}")
    if own:
        yield "  or, without Kafka's tools:"
        for command in command_target.own_commands(listed):
            yield CommandLine(f"  {output.paint(command, 'strong')}")


def remedy_lines(
    remedies: Sequence[Remedy],
    question: Question,
    command_target: CommandTarget,
    output: Output,
    *,
    whole: bool,
    checklists: Sequence[str] = (),
) -> Iterator[str]:
    """``whole``: not only the first few remedies. ``checklists`` are commands that explain all
    permissions of a client of the topic."""
    shown_ones = remedies if whole else remedies[:_SHOWN]
    added = [acl for remedy in shown_ones for acl in remedy.add]
    if question.principal == _ANONYMOUS and any(map(is_allow, added)):
        yield f"{_ANONYMOUS} is whoever connects without a login: have the client log in instead"
    if shown_ones and shown_ones[0].powers:
        yield "prefer a principal that has the right already: each change below grants more than an"
        yield "  application needs"
    elif shown_ones and shown_ones[0].use is not None:
        kind = resource_kind(question.resource_type)
        more = "--producer or --consumer gives every permission that a client needs"
        if shown_ones[0].use is Operation.DELETE:
            more, checklists = f"to delete the {kind}, a client needs DELETE, too", ()
        end = "" if checklists else ";"
        yield f"clients describe a {kind} before they use it, and DESCRIBE allows nothing else{end}"
        if not checklists:
            yield f"  {more}"
    for number, remedy in enumerate(shown_ones):
        if checklists and remedy.use is None and number and shown_ones[number - 1].use is not None:
            yield "these print commands for every permission of a consumer or a producer:"
            yield from (
                CommandLine(f"  {output.paint(command, 'strong')}") for command in checklists
            )
        yield f"{_change_text(remedy)}{_caution(remedy, question)}"
        for power in remedy.powers:
            yield f"  beware: {power}"
        own = number == 0 or remedy.use is not None
        yield from _step_lines(remedy, command_target, output, own=own)


def _step_lines(
    remedy: Remedy, command_target: CommandTarget, output: Output, *, own: bool
) -> Iterator[str]:
    if remedy.commands is not None:
        yield from command_lines(remedy.commands, command_target, output, own=own)
        return
    for sign, acls in ("+", remedy.add), ("-", remedy.remove):
        for acl in acls:
            yield f"  {sign} {sentence(acl)}"
    yield "  (kafka-acls has no command for this change)"


def _change_text(remedy: Remedy) -> str:
    if remedy.use is not None and remedy.mends is None:
        return f"{_USES[remedy.use, remedy.add[0].resource_type]}: add one ALLOW"
    if remedy.mends is not None and remedy.remove:
        return "replace the near miss by the ACL that was probably meant"
    if remedy.mends is not None:
        return "add the ACL that was probably meant"
    if not remedy.add:
        return f"remove {_several(remedy.remove)}"
    if not remedy.remove:
        return f"add {_several(remedy.add)}"
    return f"add {_several(remedy.add)}, and remove {_several(remedy.remove)}"


def _several(acls: Sequence[Acl]) -> str:
    kinds = {acl.permission_type for acl in acls}
    kind = "ACL" if len(kinds) > 1 else next(iter(kinds)).name
    return f"the {len(acls)} {kind}s" if len(acls) > 1 else f"one {kind}"


def _caution(remedy: Remedy, question: Question) -> str:
    more = [_beyond(attribute, remedy, question) for attribute in remedy.widens]
    if remedy.ends_default:
        where = (
            "on this name"
            if all(map(_is_exact, remedy.add))
            else "on all of these names without an ACL"
        )
        more.append(f"shuts out all others whom allow.everyone.if.no.acl.found allows {where}")
    return f", which {' and '.join(more)}" if more else ", no wider than the request"


def _beyond(attribute: Attribute, remedy: Remedy, question: Question) -> str:
    acls = (*remedy.add, *remedy.remove)
    if attribute is Attribute.HOST:
        hosts = {acl.host for acl in acls} - {question.host}
        return f"is for {' and '.join(sorted(map(host_words, hosts)))}"
    if attribute is Attribute.PATTERN:
        patterns = {_pattern_words(acl) for acl in acls if not _is_exact(acl)}
        return f"reaches {' and '.join(sorted(patterns))}"
    if attribute is Attribute.PRINCIPAL:
        principals = {shown(acl.principal) for acl in acls} - {shown(question.principal)}
        return f"is about {' and '.join(sorted(principals))}"
    if attribute is Attribute.OPERATION:
        what = {acl.operation.name for acl in acls} - {question.operation.name}
        return f"is about {' and '.join(sorted(what))}"
    return "is about another resource type"


def _is_exact(acl: Acl) -> bool:
    return acl.pattern_type is PatternType.LITERAL and acl.resource_name != WILDCARD


def _pattern_words(acl: Acl) -> str:
    if acl.pattern_type is PatternType.PREFIXED:
        return f"all names that begin with {shown(acl.resource_name)}"
    return "all names"
