"""Makes and shows the plan that ``plan`` and ``apply`` share.

This module must not change a target.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from authorizer.analysis.commands import CommandKind, kafka_acls_commands, why_no_command
from metalog.acl import Acl
from metalog.errors import InvalidRequest
from metalog.image.features import EMPTY, FeaturesImage
from metalog.plurals import counted, plural
from metalog_sources.formats.document import Document, ScramUser, joined
from metalog_sources.formats.rules import NOTE_KEYS
from metalog_sources.source_kinds import ACL_TARGETS, ANY
from metalog_sources.targets.plan import (
    ChangeKind,
    Plan,
    PlanStep,
    after,
    make_plan,
)
from metalog_sources.targets.target import likely_kafka
from shell.context import (
    add_command_config,
    add_config,
    add_place,
    opened_source,
    read_config,
    replayed_source,
    store_document,
)
from shell.output.output import Cell
from shell.tasks.acl_files import held_by
from shell.tasks.plan_checks import PlanFinding, Refusal, add_lockout, findings_of
from shell.views.acls import sentence
from shell.views.credential_migration import rows, said_in_summary

if TYPE_CHECKING:
    from authorizer.config import AuthorizerConfig
    from metalog_sources.source import Source
    from shell.output.output import Output
    from shell.views.credential_migration import CredentialMove
    from shell.views.pasted_commands import CommandTarget

SIGNS: Final = {ChangeKind.ADD: Cell("+", "good"), ChangeKind.REMOVE: Cell("-", "bad")}
_COMMANDS: Final = {ChangeKind.ADD: CommandKind.ADD, ChangeKind.REMOVE: CommandKind.REMOVE}
_WORDS: Final = {ChangeKind.ADD: "add", ChangeKind.REMOVE: "remove"}


class Planned(NamedTuple):
    """``current`` are all the ACLs that the target has, ``users`` those that are wanted.
    ``wanted`` is empty where the plan was a saved one, ``features`` are those of a log."""

    source: Source
    current: frozenset[Acl]
    config: AuthorizerConfig
    plan: Plan
    users: tuple[ScramUser, ...] = ()
    findings: tuple[PlanFinding, ...] = ()
    wanted: Document = Document()
    features: FeaturesImage = EMPTY

    @property
    def after(self) -> set[Acl]:
        return after(self.current, self.plan.steps)


def add_planning(parser: ArgumentParser, *, is_for_any: bool) -> None:
    """``is_for_any``: TARGET may be any SOURCE, since it is not written to."""
    add_place(parser, ANY if is_for_any else ACL_TARGETS, metavar="TARGET")
    parser.add_argument(
        "wanted", nargs="+", metavar="WANTED", help="files of ACLs, or any other SOURCE"
    )
    add_command_config(parser)
    changed = parser.add_argument_group("limits")
    changed.add_argument(
        "--prune", action="store_true", help="remove ACLs that the files own but do not list"
    )
    changed.add_argument("--max-removals", type=int, metavar="N", help="refuse to remove more")
    add_lockout(parser)
    add_config(parser)
    parser.set_defaults(at=None, committed=False, salvage=None)


def planned(arguments: Namespace, output: Output) -> Planned:
    """The plan from TARGET to WANTED; ``refusal_of`` tells whether it may be applied."""
    moves_users = getattr(arguments, "include_credentials", False)
    wanted = joined(
        held_by(text, arguments, output, rests_on_users=moves_users).document
        for text in arguments.wanted
    )
    source = opened_source(arguments, output)
    current, features = current_state(source, arguments, output)
    if arguments.prune and output.missing:
        raise InvalidRequest("--prune would remove what could not be read; plan without it")
    plan = make_plan(current, wanted, prune=arguments.prune)
    _point_out(plan, wanted, arguments, output)
    hosts = (acl.host for acl in current)
    kafka = likely_kafka(source.store, features)
    config = read_config(arguments, source, output).over(kafka, hosts).config
    findings = tuple(findings_of(plan.steps, wanted, current, config))
    return Planned(source, current, config, plan, wanted.users, findings, wanted, features)


def current_acls(source: Source, arguments: Namespace, output: Output) -> frozenset[Acl]:
    return current_state(source, arguments, output)[0]


def current_state(
    source: Source, arguments: Namespace, output: Output
) -> tuple[frozenset[Acl], FeaturesImage]:
    """The ACLs of the target, and the features of its log; a store does not tell any."""
    if source.store is None:
        image = replayed_source(arguments, output, source).image
        return frozenset(image.acls.by_id.values()), image.features
    return frozenset(store_document(source.store, arguments, output).acls), EMPTY


def _point_out(plan: Plan, wanted: Document, arguments: Namespace, output: Output) -> None:
    if arguments.prune and not wanted.owns:
        output.note("nothing is removed: no file has owns")
    if plan.unpruned:
        output.note(
            f"{_counted(plan.unpruned)} of the target that the files own and do not name; "
            "--prune removes them"
        )
    if plan.unowned:
        stay = plural(len(plan.unowned), "stays", "stay")
        output.note(f"{_counted(plan.unowned)} of the target that no file owns {stay}")


def _counted(acls: Sequence[Acl]) -> str:
    return counted(len(acls), "ACL")


def print_steps(
    steps: Sequence[PlanStep],
    output: Output,
    credentials: Sequence[CredentialMove] = (),
    refusal: Refusal | None = None,
) -> None:
    """One step a line, marked where the plan is refused for it, and a line that counts them."""
    refused = frozenset(() if refusal is None else refusal.steps)
    said: list[list[Cell | str]] = [
        [
            SIGNS[step.change],
            sentence(step.acl),
            Cell("<- refused", "bad") if step in refused else Cell(_noted(step), "faint"),
        ]
        for step in steps
    ]
    output.aligned([*said, *rows(credentials)])
    if credentials:
        acls = f"{summary(steps).removesuffix('.')}; " if steps else ""
        output.line(f"{acls}{said_in_summary(credentials)}.")
    else:
        output.line(summary(steps))


def print_table(steps: Sequence[PlanStep], output: Output) -> None:
    """A table for Markdown."""
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


def print_commands(steps: Sequence[PlanStep], place: CommandTarget, output: Output) -> None:
    """In the order of the steps, all that there are, to be run at ``place``."""
    said = kafka_acls_commands((_COMMANDS[step.change], step.acl) for step in steps)
    for change, acl in said.unsayable:
        why = why_no_command(acl)
        output.warn(f"no command can {change.name.lower()} {sentence(acl)}: {why}")
    if said.held_back:
        output.warn(
            f"left out: {counted(said.held_back, 'command')}, which "
            "alone would take away what was to stay, or open what was to stay shut; "
            "metalog apply can do all"
        )
    for line in place.commands(said.lines):
        output.line(line)


def summary(steps: Sequence[PlanStep]) -> str:
    if not steps:
        return "Nothing to do."
    counts = [
        f"{number:,} to {_WORDS[change]}"
        for change in ChangeKind
        if (number := sum(step.change is change for step in steps))
    ]
    principals = {step.acl.principal for step in steps}
    whom = min(principals) if len(principals) == 1 else counted(len(principals), "principal")
    return f"{', '.join(counts)}, for {whom}."


def _noted(step: PlanStep) -> str:
    from shell.output.safe import safe

    said = [
        note if key == "comment" else f"{key} {note}"
        for key, note in zip(NOTE_KEYS, step.notes, strict=True)
        if note is not None
    ]
    return safe("; ".join(said))
