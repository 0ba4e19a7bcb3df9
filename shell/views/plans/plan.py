"""Prints a plan: its steps, a Markdown table, commands, GitHub's annotations or JUnit's XML.

This module must not know how a plan is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from authorizer.analysis.remedies.commands import CommandKind, kafka_acls_commands, why_no_command
from metalog.text.plurals import counted
from metalog.text.visible_text import safe
from metalog_sources.formats.nodes.rules import NOTE_KEYS
from metalog_sources.targets.plan import ChangeKind, PlanStep
from shell.inputs.credential_migration import rows, summary_text
from shell.output.ci_reports import Case, annotation, print_junit
from shell.output.output import Cell
from shell.tasks.acl_words import sentence
from shell.tasks.plans.audit import request_words
from shell.tasks.plans.checks import Refusal
from shell.tasks.plans.planned import summary

if TYPE_CHECKING:
    from shell.inputs.credential_migration import CredentialMove
    from shell.output.output import Output
    from shell.tasks.command_target import CommandTarget
    from shell.tasks.plans.audit import Audit, ChangedAnswers
    from shell.tasks.plans.planned import Planned

SIGNS: Final = {ChangeKind.ADD: Cell("+", "good"), ChangeKind.REMOVE: Cell("-", "bad")}
_COMMANDS: Final = {ChangeKind.ADD: CommandKind.ADD, ChangeKind.REMOVE: CommandKind.REMOVE}
_TITLE = "metalog plan"


def print_steps(
    steps: Sequence[PlanStep],
    output: Output,
    credentials: Sequence[CredentialMove] = (),
    refusal: Refusal | None = None,
) -> None:
    refused = frozenset(() if refusal is None else refusal.steps)
    step_rows: list[list[Cell | str]] = [
        [
            SIGNS[step.change],
            sentence(step.acl),
            Cell("<- refused", "bad") if step in refused else Cell(_noted(step), "faint"),
        ]
        for step in steps
    ]
    output.aligned([*step_rows, *rows(credentials)])
    if credentials:
        acls = f"{summary(steps).removesuffix('.')}; " if steps else ""
        output.line(f"{acls}{summary_text(credentials)}.")
    else:
        output.line(summary(steps))


def print_table(steps: Sequence[PlanStep], output: Output) -> None:
    keys = ("change", "permissionType", "principal", "operation", "resource", "host", "notes")
    output.records(keys, map(_row, steps))


def _row(step: PlanStep) -> tuple[str, ...]:
    acl = step.acl
    return (
        step.change.value,
        acl.permission_type.name,
        acl.principal,
        acl.operation.name,
        f"{acl.resource_type.name} {acl.pattern_type.name} {acl.resource_name}",
        acl.host,
        "; ".join(note for note in step.notes if note is not None),
    )


def print_commands(
    steps: Sequence[PlanStep],
    command_target: CommandTarget,
    output: Output,
    *,
    allow_everyone: bool = False,
) -> None:
    """Print commands in the plan's order, and warn of steps without a command."""
    changes = ((_COMMANDS[step.change], step.acl) for step in steps)
    commands = kafka_acls_commands(changes, allow_everyone=allow_everyone)
    for change, acl in commands.inexpressible:
        why = why_no_command(acl)
        output.warn(f"no command can {change.name.lower()} {sentence(acl)}: {why}")
    if commands.held_back:
        output.warn(
            f"left out: {counted(commands.held_back, 'command')}: alone, they would remove access"
            " that should stay, or give access that should stay denied; metalog apply can make all"
            " changes"
        )
    for line in command_target.commands(commands.lines):
        output.line(line)


def _noted(step: PlanStep) -> str:
    notes = [
        note if key == "comment" else f"{key} {note}"
        for key, note in zip(NOTE_KEYS, step.notes, strict=True)
        if note is not None
    ]
    return safe("; ".join(notes))


def print_annotations(
    made: Planned, audit: Audit | None, refusal: Refusal | None, output: Output
) -> None:
    """Steps are notices, findings and broken requests are warnings, the refusal is an error."""
    positions = {entry.acl: entry.position for entry in reversed(made.wanted.entries)}
    output.line(annotation("notice", _TITLE, summary(made.plan.steps)))
    if refusal is not None:
        output.line(annotation("error", _TITLE, refusal.message))
    for finding in made.findings:
        message = str(finding._replace(position=None))
        output.line(annotation("warning", _TITLE, message, *(finding.position or ())))
    for broken in audit.broken if audit is not None else ():
        output.line(annotation("warning", f"{_TITLE}: broken", _broken_text(broken)))
    for step in made.plan.steps:
        position = positions.get(step.acl) or ()
        output.line(
            annotation("notice", f"{_TITLE}: {step.change.value}", step_text(step), *position)
        )


def print_cases(
    made: Planned, audit: Audit | None, refusal: Refusal | None, output: Output
) -> None:
    """Print a test case for the whole plan, for each step and, with ``audit``, for the requests.

    The plan's case fails if the plan is refused, or if a finding is about no step.
    """
    refused = frozenset(() if refusal is None else refusal.steps)
    messages: dict[object, list[str]] = {}
    for finding in made.findings:
        messages.setdefault(finding.acl, []).append(str(finding))
    whole = [*messages.pop(None, ()), *(() if refusal is None else (refusal.message,))]
    cases = [Case(summary(made.plan.steps), whole)]
    for step in made.plan.steps:
        failures = [*messages.get(step.acl, ())]
        if refusal is not None and step in refused:
            failures.append(refusal.message)
        cases.append(Case(step_text(step), failures))
    if audit is not None:
        cases.append(Case("requests", [_broken_text(request) for request in audit.broken]))
    print_junit(_TITLE, cases, output)


def step_text(step: PlanStep) -> str:
    return f"{step.change.value} {sentence(step.acl)}"


def _broken_text(turned: ChangedAnswers) -> str:
    return f"{turned.group.times:,} x {' '.join(request_words(turned))}: ALLOWED -> DENIED"
