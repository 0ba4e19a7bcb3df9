"""``metalog plan TARGET WANTED…``: what apply would change, and for whom.

This module must not change a target.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from metalog.disk.files import write_out
from metalog.errors import InvalidRequest
from metalog.text.plurals import counted
from metalog.text.visible_text import safe
from metalog_sources.targets.plan import step_fields, write_saved
from shell.inputs.batch_questions import BatchQuestions
from shell.inputs.planning import add_planning, limits_of, planned
from shell.output.output import Cell, Output, in_markdown
from shell.tasks.acl_words import result_word
from shell.tasks.command_target import CommandTarget
from shell.tasks.plans.audit import Audit, audited, request_words
from shell.tasks.plans.checks import PlanLimits, Refusal, checked
from shell.tasks.plans.gains import saved_proof
from shell.tasks.plans.planned import Planned, summary
from shell.tasks.plans.saved import plan_to_save, refuse_saved
from shell.tasks.questions import QuestionGroup
from shell.views.other_kafka import say_other_plan
from shell.views.plans.plan import (
    print_annotations,
    print_cases,
    print_commands,
    print_steps,
    print_table,
)

if TYPE_CHECKING:
    from authorizer.analysis.cells.gains import GainProof

USAGE: Final = "TARGET WANTED… [--prune] [--audit FILE] [--save FILE] [options]"
FORMATS: Final = ("text", "json", "markdown", "commands", "github", "junit")
PAGED: Final = True
EPILOG: Final = """\
metalog plan cluster://broker:9092 acls/ --command-config admin.properties
metalog plan /var/kafka/metadata acls/ --audit kafka-authorizer.log   what it would break
metalog plan @prod acls/ --prune --save plan.json
metalog apply @prod plan.json                                         exactly these changes

--no-new-access refuses a plan if anybody gains access. --only-gain refuses a plan if anybody
gains access that no CLAIM allows.
Exit code: 0 a plan; 1 changes (--exit-code) or newly denied requests (--fail-on-broken); 2 no
plan, a plan that apply would refuse, or a line of --audit or --requests that is not a request."""
_QUESTIONS_SHOWN: Final = 20
_WITH_FINDINGS: Final = ("markdown", "github", "junit")


def configure(parser: ArgumentParser) -> None:
    add_planning(parser, is_for_any=True)
    more = parser.add_argument_group("output")
    more.add_argument(
        "--audit",
        metavar="FILE",
        help="audit lines of Kafka: count the requests whose decision would change",
    )
    more.add_argument(
        "--requests", metavar="FILE", help="like --audit: JSON lines with the keys of can --json"
    )
    more.add_argument(
        "--exit-code", action="store_true", help="exit with 1 if something would change"
    )
    more.add_argument(
        "--fail-on-broken",
        action="store_true",
        help="exit with 1 if a request of --audit or --requests that is allowed now would be "
        "denied",
    )
    more.add_argument(
        "--salvage",
        action="store_true",
        default=False,
        help="continue past unreadable or missing records, and list them",
    )
    more.add_argument("--save", metavar="FILE", help="save the plan for metalog apply")


def run(arguments: Namespace, output: Output) -> int:
    has_requests = arguments.audit is not None or arguments.requests is not None
    if arguments.fail_on_broken and not has_requests:
        raise InvalidRequest("--fail-on-broken needs requests: give --audit or --requests FILE")
    refuse_saved(arguments.wanted)
    made = planned(arguments, output)
    if arguments.save is not None and output.missing:
        raise InvalidRequest("--save: a plan that ignores unreadable ACLs cannot be saved")
    limits = limits_of(made.source, arguments)
    refusal, gains = checked(made, limits, made.source.opened)
    audit, groups = _audited(made, arguments, output) if has_requests else (None, ())
    failure = _failure(audit, arguments)
    if output.format not in _WITH_FINDINGS:
        for finding in made.findings:
            output.warn(str(finding))
    say_other_plan(made, groups, output)
    if output.is_text:
        print_steps(made.plan.steps, output, refusal=refusal)
        if audit is not None:
            _print_audit(audit, output)
    else:
        printers = {
            "json": _as_json,
            "markdown": _as_markdown,
            "commands": _as_commands,
            "github": print_annotations,
            "junit": print_cases,
        }
        printers[output.format](made, audit, refusal or failure, output)
    if refusal is not None:
        raise InvalidRequest(refusal.message)
    if arguments.save is not None and _can_save(failure, arguments.save, output):
        _save(made, limits, gains, arguments)
    if audit is not None and audit.bad:
        return 2
    return 1 if failure or (arguments.exit_code and made.plan.steps) else 0


def _failure(audit: Audit | None, arguments: Namespace) -> Refusal | None:
    """Why this verb fails, though ``apply`` would take the plan."""
    if audit is None:
        return None
    if audit.bad:
        return Refusal(f"{counted(audit.bad, 'line')} of the requests could not be read", ())
    if arguments.fail_on_broken and (broken := sum(each.group.times for each in audit.broken)):
        words = counted(broken, "request")
        return Refusal(
            f"{words} that the present ACLs allow would be denied (--fail-on-broken)", ()
        )
    return None


def _can_save(failure: Refusal | None, file: str, output: Output) -> bool:
    if failure is not None:
        output.warn(f"the plan is not saved in {file}: {failure.message}")
    return failure is None


def _save(made: Planned, limits: PlanLimits, gains: GainProof | None, arguments: Namespace) -> None:
    proof = None
    if limits.gains and gains is not None:
        proof = saved_proof(limits.gains[0], gains)
    plan = plan_to_save(arguments.source, made.current, made.plan, made.config, proof)
    write_out(Path(arguments.save), write_saved(plan).encode())


def _audited(
    made: Planned, arguments: Namespace, output: Output
) -> tuple[Audit, list[QuestionGroup]]:
    """The plan's effect on a file's requests. The requests themselves are returned only if
    ``made.of_other_kafka`` needs them."""
    batch = BatchQuestions(
        Namespace(audit=arguments.audit, requests=arguments.requests, question=[])
    )
    kept: list[QuestionGroup] = []
    keeps = made.of_other_kafka is not None

    def groups() -> Iterator[QuestionGroup]:
        for group in batch.groups(output):
            if keeps:
                kept.append(group)
            yield group

    return audited(made, groups())._replace(bad=batch.bad), kept


def _print_audit(audit: Audit, output: Output) -> None:
    output.line()
    output.line(audit.text())
    output.aligned(
        [
            f"{each.group.times:>8,}",
            Cell("ALLOWED", "good") if each.are_allowed else Cell("DENIED", "bad"),
            "->",
            Cell("DENIED", "bad") if each.are_allowed else Cell("ALLOWED", "good"),
            *request_words(each),
        ]
        for each in audit.turned[:_QUESTIONS_SHOWN]
    )
    if (more := len(audit.turned) - _QUESTIONS_SHOWN) > 0:
        output.line(f"and {counted(more, 'more question')}; -o json has all")


def _as_json(made: Planned, audit: Audit | None, refusal: Refusal | None, output: Output) -> None:
    for step in made.plan.steps:
        output.record(step_fields(step))
    for was, group in ((each.are_allowed, each.group) for each in (audit.turned if audit else ())):
        question = group.parsed.question
        output.record(
            {
                "change": "answer",
                "principal": question.principal,
                "host": question.host,
                "operation": question.operation.name,
                "resourceType": question.resource_type.name,
                "resourceName": question.resource_name,
                "before": result_word(was),
                "after": result_word(not was),
                "count": group.times,
            }
        )


def _as_markdown(
    made: Planned, audit: Audit | None, refusal: Refusal | None, output: Output
) -> None:
    output.line(f"**metalog plan**: {in_markdown(summary(made.plan.steps))}")
    if refusal is not None:
        output.line()
        output.line(f"**refused**: {in_markdown(refusal.message)}")
    for finding in made.findings:
        output.line()
        output.line(f"**warning**: {in_markdown(str(finding))}")
    if audit is not None:
        output.line()
        output.line(audit.text())
    if made.plan.steps:
        output.line()
        print_table(made.plan.steps, output)
    if audit is not None and audit.turned:
        output.line()
        output.records(
            ("requests", "now", "after", "principal", "request", "host"),
            (
                (
                    each.group.times,
                    result_word(each.are_allowed),
                    result_word(not each.are_allowed),
                    *request_words(each),
                )
                for each in audit.turned[:_QUESTIONS_SHOWN]
            ),
        )


def _as_commands(
    made: Planned, audit: Audit | None, refusal: Refusal | None, output: Output
) -> None:
    """A refused plan has no commands, because a shell can run commands before this verb fails."""
    if refusal is not None:
        output.line(f"# no commands, because the plan is refused: {safe(refusal.message)}")
    else:
        allow_everyone, command_target = made.config.allow_everyone, CommandTarget.of(made.source)
        print_commands(made.plan.steps, command_target, output, allow_everyone=allow_everyone)
    if audit is not None:
        output.note(audit.text())
