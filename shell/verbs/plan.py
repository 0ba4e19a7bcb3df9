"""``metalog plan TARGET WANTED…``: what apply would change, and for whom.

Exit code 0 is nothing to do, 1 is changes, 2 is no plan. This module must not change a
target.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from metalog.errors import InvalidRequest
from metalog.files import LOCAL_FILES, replace_whole
from shell.output import Cell, Output
from shell.planning import (
    Planned,
    add_planning,
    planned,
    print_commands,
    print_steps,
    print_table,
    summary,
)
from shell.safe import shown
from snapshot.exchange.plan import saved, step_fields, write_saved

if TYPE_CHECKING:
    from shell.many import Group

USAGE: Final = "TARGET WANTED… [--prune] [--audit FILE] [--save FILE] [options]"
FORMATS: Final = ("text", "json", "markdown", "commands")
PAGED: Final = True
EPILOG: Final = """\
metalog plan cluster://broker:9092 acls/ --command-config admin.properties
metalog plan /var/kafka/metadata acls/ --audit kafka-authorizer.log   what it would break
metalog plan @prod acls/ --prune --save plan.json
metalog apply @prod plan.json                                         no more than that

Exit code: 0 nothing to do, 1 changes, 2 no plan."""
_SHOWN: Final = 20


class Turned(NamedTuple):
    """Requests of the audit log that would get another answer than now."""

    group: Group
    was: bool


class Audit(NamedTuple):
    turned: list[Turned]
    requests: int
    bad: int

    def said(self) -> str:
        times = sum(each.group.times for each in self.turned)
        return f"{times:,} of {self.requests:,} requests would get another answer."


def configure(parser: ArgumentParser) -> None:
    add_planning(parser)
    more = parser.add_argument_group("what is made of it")
    more.add_argument(
        "--audit", metavar="FILE", help="audit lines of Kafka: count those answered otherwise"
    )
    more.add_argument(
        "--salvage",
        action="store_true",
        default=False,
        help="go by what can be read where something cannot, and say what is missing",
    )
    more.add_argument("--save", metavar="FILE", help="the plan, for metalog apply")


def run(arguments: Namespace, output: Output) -> int:
    made = planned(arguments, output)
    if arguments.save is not None and output.missing:
        raise InvalidRequest("--save: a plan that lacks what could not be read is not saved")
    audit = None if arguments.audit is None else _audited(made, arguments, output)
    if output.is_text:
        print_steps(made.plan.steps, output)
        if audit is not None:
            _print_audit(audit, output)
    else:
        {"json": _as_json, "markdown": _as_markdown, "commands": _as_commands}[output.format](
            made, audit, output
        )
    if arguments.save is not None:
        text = write_saved(saved(arguments.source, made.current, made.plan))
        replace_whole(LOCAL_FILES, Path(arguments.save), text.encode())
    if audit is not None and audit.bad:
        return 2
    return 1 if made.plan.steps else 0


def _audited(made: Planned, arguments: Namespace, output: Output) -> Audit:
    from shell.many import Many

    many = Many(Namespace(audit=arguments.audit, requests=None, question=[]))
    before, after = (_decider(acls, made) for acls in (made.current, made.after))
    turned = []
    requests = 0
    for group in many.groups(output):
        requests += group.times
        was = before(group)
        if was is not after(group):
            turned.append(Turned(group, was))
    return Audit(turned, requests, many.bad)


def _decider(acls: Any, made: Planned) -> Any:
    from authorizer.api import Action, RequestContext, ResourcePattern
    from authorizer.standard import StandardAuthorizer

    config = made.config
    authorizer = StandardAuthorizer.from_acls(
        acls, super_users=config.super_users, allow_everyone=config.allow_everyone
    )

    def allowed(group: Group) -> bool:
        question = group.asked.question
        resource = ResourcePattern(question.resource_type, question.resource_name)
        context = RequestContext(question.principal, question.host or "")
        return authorizer.is_allowed(context, Action(question.operation, resource))

    return allowed


def _print_audit(audit: Audit, output: Output) -> None:
    output.line()
    output.line(audit.said())
    output.aligned(
        [
            f"{each.group.times:>8,}",
            Cell("ALLOWED", "good") if each.was else Cell("DENIED", "bad"),
            "->",
            Cell("DENIED", "bad") if each.was else Cell("ALLOWED", "good"),
            *_asked(each),
        ]
        for each in audit.turned[:_SHOWN]
    )
    if len(audit.turned) > _SHOWN:
        output.line(f"and {len(audit.turned) - _SHOWN:,} more kinds of request; -o json has all")


def _asked(turned: Turned) -> Iterator[str]:
    question = turned.group.asked.question
    yield shown(question.principal)
    yield f"{question.operation.name} on {question.resource_type.name} " + shown(
        question.resource_name
    )
    yield f"from {shown(question.host or '')}"


def _as_json(made: Planned, audit: Audit | None, output: Output) -> None:
    for step in made.plan.steps:
        output.record(step_fields(step))
    for was, group in ((each.was, each.group) for each in (audit.turned if audit else ())):
        question = group.asked.question
        output.record(
            {
                "change": "answer",
                "principal": question.principal,
                "host": question.host,
                "operation": question.operation.name,
                "resourceType": question.resource_type.name,
                "resourceName": question.resource_name,
                "before": "ALLOWED" if was else "DENIED",
                "after": "DENIED" if was else "ALLOWED",
                "count": group.times,
            }
        )


def _as_markdown(made: Planned, audit: Audit | None, output: Output) -> None:
    """For a pull request: nothing that a name holds can become markup."""
    output.line(f"**metalog plan**: {summary(made.plan.steps)}")
    if audit is not None:
        output.line()
        output.line(audit.said())
    if made.plan.steps:
        output.line()
        print_table(made.plan.steps, output)
    if audit is not None and audit.turned:
        output.line()
        output.records(
            ("requests", "now", "then", "principal", "asked", "host"),
            ((each.group.times, *_then(each.was), *_asked(each)) for each in audit.turned[:_SHOWN]),
        )


def _then(was: bool) -> tuple[str, str]:
    return ("ALLOWED", "DENIED") if was else ("DENIED", "ALLOWED")


def _as_commands(made: Planned, audit: Audit | None, output: Output) -> None:
    """In the plan's order; a removal asks, as kafka-acls does."""
    print_commands(made.plan.steps, output)
    if audit is not None:
        output.note(audit.said())
