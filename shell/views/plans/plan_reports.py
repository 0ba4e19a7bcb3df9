"""Prints a plan for CI servers: GitHub's annotations on the lines of the files, and JUnit's XML.

This module must not know how a plan is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shell.output.ci_reports import Case, annotation, print_junit
from shell.tasks.acl_words import sentence
from shell.tasks.plans.audit import request_words
from shell.tasks.plans.planned import summary

if TYPE_CHECKING:
    from metalog_sources.targets.plan import PlanStep
    from shell.output.output import Output
    from shell.tasks.plans.audit import Audit, ChangedAnswers
    from shell.tasks.plans.checks import Refusal
    from shell.tasks.plans.planned import Planned

_TITLE = "metalog plan"


def print_annotations(
    made: Planned, audit: Audit | None, refusal: Refusal | None, output: Output
) -> None:
    """Print the summary, each step as a notice, findings and broken requests as warnings, and the
    refusal as an error."""
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
    """Print a case for the whole plan, which fails if it is refused or has findings about no step;
    one for each step; and with ``audit`` one that fails if logged requests would be denied."""
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
