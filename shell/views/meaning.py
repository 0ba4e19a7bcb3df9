"""Prints who gains and who loses access, in words and as JSON.

This module must not know how a difference in meaning is found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from authorizer.analysis.cells.difference import BY_TYPE
from authorizer.analysis.cells.meaning import AccessChangeKind
from metalog.acl import WILDCARD, PatternType
from metalog.text.plurals import counted
from metalog.text.visible_text import shown
from shell.output.output import Cell, Output, in_markdown
from shell.tasks.acl_words import result_word
from shell.tasks.command_target import CommandLine
from shell.views.explain_commands import explain_command
from shell.views.explanation import host_text, resource_text
from shell.views.proofs import joined, pattern_text

if TYPE_CHECKING:
    from argparse import Namespace

    from authorizer.analysis.cells.difference import TypeChange
    from authorizer.analysis.cells.meaning import AccessChange
    from authorizer.analysis.cells.names import NamePattern
    from shell.tasks.proof.meaning import Meaning

_SIGNS: Final = {
    AccessChangeKind.GAINS: Cell("+", "good"),
    AccessChangeKind.LOSES: Cell("-", "bad"),
    AccessChangeKind.KEEPS: Cell("=", "faint"),
}
_MOST_LISTED: Final = 4
_EXCEPTED: Final = {
    (False, False): "but not {}",
    (True, False): "but no longer {}",
    (True, True): "already allowed before: {}",
    (False, True): "but now {}",
}
"""Phrases by (allowed before the change, allowed after)."""
_LOSS_TEXTS: Final = {(False, False): "already denied before: {}", (True, True): "but still {}"}


def change_text(change: AccessChange) -> str:
    """``User:b may READ topics that begin with pay-, but not topic pay-eu``."""
    operations = joined([operation.name for operation in change.operations], "and")
    names = pattern_text(change.kind, change.pattern)
    where = "" if change.host is None else f" from {shown(change.host)}"
    subject = joined([_principal_text(principal) for principal in change.principals], "and")
    if change.change is AccessChangeKind.KEEPS:
        may = "still may" if change.after else "still may not"
        return f"{subject} {may} {operations} {names}{where}"
    may = "may" if change.after else "may no longer"
    exceptions = _exceptions_text(change)
    return ", ".join([f"{subject} {may} {operations} {names}{where}", *exceptions])


def _exceptions_text(change: AccessChange) -> list[str]:
    groups: dict[tuple[bool, bool], list[str]] = {}
    for pattern, before, after in change.exceptions:
        groups.setdefault((before, after), []).append(pattern_text(change.kind, pattern))
    phrases = _EXCEPTED if change.after else {**_EXCEPTED, **_LOSS_TEXTS}
    return [phrases[turn].format(_listed(names)) for turn, names in sorted(groups.items())]


def _listed(names: list[str]) -> str:
    if len(names) > _MOST_LISTED:
        names = [*names[: _MOST_LISTED - 1], f"{len(names) - _MOST_LISTED + 1:,} others"]
    return joined(names, "and")


def _principal_text(principal: str | None) -> str:
    return "everybody" if principal is None else shown(principal)


def _type_change_text(change: TypeChange) -> str:
    operation, kind = BY_TYPE
    subject = _principal_text(change.session.principal if change.session.is_named else None)
    host = change.session.clients.host
    may, which = ("may", "at least one") if change.allowed else ("may no longer", "any")
    what = f"{operation.name} {which} {kind.name.lower()}"
    where = "" if host is None else f" from {shown(host)}"
    return f"{subject} {may} {what}{where} (InitProducerId requires one)"


def print_meaning(found: Meaning, arguments: Namespace | None, output: Output) -> None:
    """Print each change. Without ``arguments``, a witness is in words and not an ``explain``
    command, because no SOURCE has the ACLs after the change."""
    for change in found.changes:
        output.aligned([[_SIGNS[change.change], change_text(change)]])
        question = change.witness
        if arguments is None:
            what = f"{question.operation.name} {resource_text(question)}"
            witness = f"{shown(question.principal)} {what} from {host_text(question.host)}"
            output.line(f"  {output.paint(f'such as {witness}', 'faint')}")
        else:
            command = explain_command(question, arguments)
            output.line(CommandLine(f"  {output.paint(command, 'faint')}"))
    for by_type in found.by_type:
        sign = _SIGNS[AccessChangeKind.GAINS if by_type.allowed else AccessChangeKind.LOSES]
        output.aligned([[sign, _type_change_text(by_type)]])


def markdown_of_meaning(found: Meaning, output: Output) -> None:
    output.line(f"**metalog diff --meaning**: {meaning_summary(found)}")
    lines = [f"{_SIGNS[change.change].text} {change_text(change)}" for change in found.changes]
    lines += [_type_change_text(change) for change in found.by_type]
    if lines:
        output.line()
    for line in lines:
        output.line(f"- {in_markdown(line)}")


def meaning_summary(found: Meaning) -> str:
    cells = counted(found.cells, "cell")
    if found.is_empty:
        differing = (
            ""
            if not found.differing
            else f", though {counted(found.differing, 'ACL differs', 'ACLs differ')}"
        )
        return f"No difference in meaning{differing} ({cells})."
    counts = Counter(each.change for each in found.changes)
    counts[AccessChangeKind.GAINS] += sum(each.allowed for each in found.by_type)
    counts[AccessChangeKind.LOSES] += sum(not each.allowed for each in found.by_type)
    gains, losses = counts[AccessChangeKind.GAINS], counts[AccessChangeKind.LOSES]
    parts = [counted(gains, "gain")] if gains else []
    parts += [counted(losses, "loss", "losses")] if losses else []
    return f"{' and '.join(parts)} ({cells})."


def meaning_records(found: Meaning, arguments: Namespace | None) -> Iterable[dict[str, Any]]:
    """The JSON objects. Without ``arguments``, they have no ``explain`` command."""
    for change in found.changes:
        question = change.witness
        yield {
            "change": change.change.value,
            "principals": list(change.principals),
            "host": change.host,
            "operations": [each.name for each in change.operations],
            "resourceType": change.kind.name,
            **_pattern_fields(change.pattern),
            "exceptions": [
                {
                    **_pattern_fields(pattern),
                    "before": result_word(before),
                    "after": result_word(after),
                }
                for pattern, before, after in change.exceptions
            ],
            "before": result_word(change.before),
            "after": result_word(change.after),
            "message": change_text(change),
            "witness": {
                "principal": question.principal,
                "host": question.host,
                "operation": question.operation.name,
                "resourceType": question.resource_type.name,
                "resourceName": question.resource_name,
            },
            "explain": None if arguments is None else explain_command(question, arguments),
        }
    operation, kind = BY_TYPE
    for each in found.by_type:
        yield {
            "change": (AccessChangeKind.GAINS if each.allowed else AccessChangeKind.LOSES).value,
            "principals": [each.session.principal if each.session.is_named else None],
            "host": each.session.clients.host,
            "operations": [operation.name],
            "resourceType": kind.name,
            "resourceName": None,
            "patternType": None,
            "before": result_word(not each.allowed),
            "after": result_word(each.allowed),
            "message": _type_change_text(each),
        }


def _pattern_fields(pattern: NamePattern) -> dict[str, str]:
    kind = PatternType.LITERAL if pattern.is_literal or not pattern.name else PatternType.PREFIXED
    return {"resourceName": pattern.name or WILDCARD, "patternType": kind.name}
