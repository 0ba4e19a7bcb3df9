"""What turns an answer, in words and as commands that run as they are pasted.

A command is for the place that SOURCE names, with the client's settings, where it names one;
else it takes both from the reader's shell. This module must not know how a remedy is found.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from authorizer.insight.commands import BOOTSTRAP, quoted
from authorizer.trace import Attribute, Question
from metalog.acl import WILDCARD, Acl, Operation, PatternType, ResourceType
from shell.acls import host_said, resource_kind
from shell.output import Output
from shell.safe import shown

if TYPE_CHECKING:
    from authorizer.insight.remedies import Remedy
    from snapshot.exchange.source import Source

_SHOWN: Final = 3
_KAFKA_ACLS: Final = f"kafka-acls {BOOTSTRAP} "
_OPTIONS: Final = {"cluster": "--bootstrap-server", "quorum": "--bootstrap-controller"}
_USES: Final = {
    (Operation.READ, ResourceType.TOPIC): "if it reads the topic",
    (Operation.WRITE, ResourceType.TOPIC): "if it writes to the topic",
    (Operation.READ, ResourceType.GROUP): "if it joins the group",
    (Operation.WRITE, ResourceType.TRANSACTIONAL_ID): "if it writes in transactions",
}


class CommandLine(str):
    """A line to copy: on a terminal too it stays one."""


class Place(NamedTuple):
    """Where commands go: kafka-acls' options for it, and the TARGET of metalog's verb."""

    options: str
    target: str

    @classmethod
    def of(cls, source: Source) -> Place:
        """The cluster or the controllers that ``source`` is connected to, by its settings."""
        option = _OPTIONS.get(source.kind)
        if option is None:
            return ANY_PLACE
        config = source.command_config
        settings = "" if config is None else f" --command-config {quoted(str(config))}"
        address = quoted(source.describe.partition("://")[2])
        target = quoted(source.text) if source.kind == "cluster" else ANY_CLUSTER
        return cls(f"{option} {address}{settings}", f"{target}{settings}")

    def commands(self, lines: Iterable[str]) -> list[str]:
        return [line.replace(BOOTSTRAP, self.options, 1) for line in lines]

    def own_commands(self, lines: Iterable[str]) -> list[str]:
        """The same by ``metalog kafka-acls``."""
        own = f"metalog kafka-acls {self.target} "
        return [line.replace(_KAFKA_ACLS, own, 1) for line in lines]


ANY_CLUSTER: Final = 'cluster://"$BOOTSTRAP"'
_OF_THE_SHELL: Final = '--command-config "$CLIENT_CONFIG"'
ANY_PLACE: Final = Place(f"{BOOTSTRAP} {_OF_THE_SHELL}", f"{ANY_CLUSTER} {_OF_THE_SHELL}")
"""Left to the reader's shell, so that a pasted line cannot reach a cluster by chance."""


def remedy_lines(
    remedies: Sequence[Remedy], question: Question, place: Place, output: Output, *, whole: bool
) -> Iterator[str]:
    """All of ``remedies``, or the first few."""
    shown_ones = remedies if whole else remedies[:_SHOWN]
    if shown_ones and shown_ones[0].powers:
        yield "have somebody do it who may already: all that follows makes a super user of whoever"
        yield "  is allowed it, or nearly one"
    elif shown_ones and shown_ones[0].use is not None:
        kind = resource_kind(question.resource_type)
        yield f"clients look a {kind} up before they use it, and DESCRIBE lets them do no more;"
        yield "  --producer or --consumer gives all that an application needs"
    for number, remedy in enumerate(shown_ones):
        yield f"{_change_said(remedy)}{_caution(remedy, question)}"
        for power in remedy.powers:
            yield f"  beware: {power}"
        if remedy.commands is None:
            yield "  (kafka-acls has no command for that)"
            continue
        own = number == 0 or remedy.use is not None
        yield from command_lines(remedy.commands, place, output, own=own)


def command_lines(
    commands: Iterable[str], place: Place, output: Output, *, own: bool
) -> Iterator[str]:
    """kafka-acls' commands, and, if ``own``, the same by metalog."""
    listed = list(commands)
    for command in place.commands(listed):
        yield CommandLine(f"  {output.paint(command, 'strong')}")
    if own:
        yield "  or, without Kafka's tools:"
        for command in place.own_commands(listed):
            yield CommandLine(f"  {output.paint(command, 'strong')}")


def _change_said(remedy: Remedy) -> str:
    if remedy.use is not None and remedy.mends is None:
        return f"{_USES[remedy.use, remedy.add[0].resource_type]}: add one ALLOW"
    if remedy.mends is not None and remedy.remove:
        return "replace what nearly matched by what was probably meant"
    if remedy.mends is not None:
        return "add what was probably meant"
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
    """In what the change does more than was asked for."""
    more = [_beyond(attribute, remedy, question) for attribute in remedy.widens]
    if remedy.ends_default:
        where = "here" if all(map(_is_exact, remedy.add)) else "on all names there without an ACL"
        more.append(f"shuts out all others whom allow.everyone.if.no.acl.found allows {where}")
    return f", which {' and '.join(more)}" if more else ", no wider than the question"


def _beyond(attribute: Attribute, remedy: Remedy, question: Question) -> str:
    acls = (*remedy.add, *remedy.remove)
    if attribute is Attribute.HOST:
        hosts = {acl.host for acl in acls} - {question.host}
        return f"is for {' and '.join(sorted(map(host_said, hosts)))}"
    if attribute is Attribute.PATTERN:
        reach = {_reach(acl) for acl in acls if not _is_exact(acl)}
        return f"reaches {' and '.join(sorted(reach))}"
    if attribute is Attribute.PRINCIPAL:
        who = {shown(acl.principal) for acl in acls} - {shown(question.principal)}
        return f"is about {' and '.join(sorted(who))}"
    if attribute is Attribute.OPERATION:
        what = {acl.operation.name for acl in acls} - {question.operation.name}
        return f"is about {' and '.join(sorted(what))}"
    return "is about another resource type"


def _is_exact(acl: Acl) -> bool:
    return acl.pattern_type is PatternType.LITERAL and acl.resource_name != WILDCARD


def _reach(acl: Acl) -> str:
    if acl.pattern_type is PatternType.PREFIXED:
        return f"all names that begin with {shown(acl.resource_name)}"
    return "all names"
