"""Prints an answered checklist: a line for each permission, and the changes that make it pass.

This module must not know how a permission is answered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from authorizer.analysis.remedies.remedies import Remedy
from authorizer.permissions.table import Permission
from metalog.text.visible_text import shown
from shell.output.output import Cell, Output
from shell.tasks.acl_words import resource_kind, sentence
from shell.tasks.checklist import Checklist, ChecklistLine, check
from shell.tasks.command_target import target_lines
from shell.tasks.queries import Queries
from shell.views.explanation import host_text, resource_text, result_cell
from shell.views.other_kafka import say_other_answers
from shell.views.remedy_lines import command_lines


def answer_checklist(
    checklist: Checklist, queries: Queries, output: Output, more: Mapping[str, Any] | None = None
) -> int:
    """Each JSON record gets the keys of ``more``. Returns 1 if a required permission is denied."""
    lines = check(checklist, queries)
    for unknown in dict.fromkeys(
        unknown for line in lines if not line.any_name for unknown in queries.unknown(line.question)
    ):
        output.note(str(unknown))
    say_other_answers((line.question for line in lines if not line.any_name), queries, output)
    missing = [line for line in lines if line.required and not line.decision.result]
    if output.is_text:
        principal = output.paint(shown(checklist.principal), "strong")
        output.line(f"{principal}, as {checklist.title}, from {host_text(checklist.host)}")
        output.aligned((_row(line) for line in lines), indent="  ")
        if checklist.note:
            output.line(f"  {checklist.note}")
    else:
        for line in lines:
            output.record(_as_json(line, queries) | dict(more or {}))
    return 1 if missing else 0


def _row(line: ChecklistLine) -> list[Cell | str]:
    question, decision = line.question, line.decision
    kind = resource_kind(question.resource_type)
    on = f"at least one {kind}" if line.any_name else resource_text(question)
    why = decision.rule if decision.acl is None else sentence(decision.acl)
    if not decision.result:
        why += "".join(
            f"; {_permission_text(permission)} is denied too" for permission in line.denied
        )
        why += "".join(
            f"; {_permission_text(permission)} would also be enough" for permission in line.untried
        )
    return [
        result_cell(bool(decision.result)),
        f"{question.operation.name} on {on}",
        Cell(why, "faint"),
        "for " + ", ".join(line.apis) + (f", when {line.when}" if line.when else ""),
    ]


def _permission_text(permission: Permission) -> str:
    which = "any" if permission.any_name else "the"
    return f"{permission.operation.name} on {which} {resource_kind(permission.resource_type)}"


def _as_json(line: ChecklistLine, queries: Queries) -> dict[str, Any]:
    record = queries.answer_json(line.question, line.decision)
    if line.any_name:
        record["resourceName"] = None
    return record | {"apis": list(line.apis), "when": line.when, "required": line.required}


def checklist_remedy_lines(remedy: Remedy, queries: Queries, output: Output) -> Iterator[str]:
    yield "the whole checklist passes after these changes:"
    for power in remedy.powers:
        yield f"  beware: {power}; consider a principal that already has that right"
    if remedy.ends_default:
        yield "  they shut out all others whom allow.everyone.if.no.acl.found allows on these names"
    for acl in remedy.remove:
        yield f"  they remove: {sentence(acl)}"
    yield from command_lines(remedy.commands or (), queries.command_target, output, own=True)
    yield from target_lines(queries.command_target)
