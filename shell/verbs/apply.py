"""``metalog apply TARGET WANTED…|plan.json``: gives a cluster the ACLs of files.

Asks on a terminal; elsewhere it needs ``--yes`` or a saved plan. Stopped in the middle, a
second run finishes it. This module must not know how a plan is made.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from metalog.errors import InvalidRequest
from shell.asking import need_somebody, says_yes
from shell.context import opened_text, read_config
from shell.moved import add_credentials, moves
from shell.output import Output
from shell.planning import (
    Planned,
    add_planning,
    current_acls,
    planned,
    print_steps,
    refuse_too_much,
    saved_plan,
)
from shell.safe import shown
from snapshot.exchange.plan import (
    Plan,
    SavedPlan,
    Step,
    fingerprint,
    remaining,
    step_fields,
)
from snapshot.exchange.target import carry_out, refuse_unwritable, target_of

if TYPE_CHECKING:
    from shell.moved import Move
    from snapshot.exchange.target import Target

USAGE: Final = "TARGET WANTED…|PLAN.json [--prune] [--yes] [options]"
FORMATS: Final = ("text", "json")
PAGED: Final = False
EPILOG: Final = """\
metalog apply cluster://broker:9092 acls/ --command-config admin.properties
metalog apply @prod plan.json                       what metalog plan --save wrote
metalog apply FOLDER zookeeper://zk:2181/kafka --include-credentials

To a folder all of it is one metadata transaction. Elsewhere DENYs are added first, then ALLOWs;
ALLOWs are removed, then DENYs. A saved plan is refused if the target has changed since.
Exit code: 0 done or nothing to do, 2 not done."""


def configure(parser: ArgumentParser) -> None:
    add_planning(parser)
    add_credentials(parser)
    parser.add_argument("--yes", action="store_true", help="do not ask")


def run(arguments: Namespace, output: Output) -> int:
    target = target_of(opened_text(arguments.source, arguments, output))
    try:
        return _apply(target, arguments, output)
    finally:
        target.close()


def _apply(target: Target, arguments: Namespace, output: Output) -> int:
    plan = _saved_plan(arguments)
    made = planned(arguments, output) if plan is None else _from_saved(plan, arguments, output)
    steps = made.plan.steps
    credentials = moves(made.users, target, arguments, output)
    refuse_unwritable(target, steps)
    if output.is_text:
        print_steps(steps, output, credentials)
    count = len(steps) + len(credentials)
    if not count:
        return 0
    if plan is None and not arguments.yes:
        _ask(count, target, made, output)
    users = [each.user for each in credentials]
    carry_out(target, steps, _progress(len(steps), output), users, before=made.current)
    _say_done(steps, credentials, output)
    return 0


def _saved_plan(arguments: Namespace) -> SavedPlan | None:
    """The plan that WANTED is, if it is one file and that holds one."""
    name = arguments.wanted[0]
    plan = saved_plan(name)
    if plan is not None and len(arguments.wanted) > 1:
        raise InvalidRequest(f"{name}: a saved plan is applied alone")
    if plan is not None and arguments.include_credentials:
        raise InvalidRequest(f"{name}: a saved plan has no credentials; give what it was made from")
    if plan is not None and arguments.prune:
        raise InvalidRequest(f"{name}: a saved plan says already what is removed; omit --prune")
    return plan


def _from_saved(plan: SavedPlan, arguments: Namespace, output: Output) -> Planned:
    source = opened_text(arguments.source, arguments, output)
    if plan.target != arguments.source:
        output.warn(f"this plan was made for {shown(plan.target)}, not {shown(arguments.source)}")
    current = current_acls(source, arguments, output)
    steps = remaining(plan, current)
    made = Planned(
        source, current, read_config(arguments, source, output).config, Plan(tuple(steps))
    )
    refuse_too_much(made, arguments)
    return made


def _ask(count: int, target: Target, made: Planned, output: Output) -> None:
    """Returns if a person says yes and nothing has changed while they thought about it."""
    need_somebody(output.err, "--yes, or a plan that metalog plan --save wrote")
    output.flush()
    output.err.write(f"Make {count:,} change{'' if count == 1 else 's'}? [y/N] ")
    output.err.flush()
    if not says_yes():
        raise InvalidRequest("nothing was changed")
    state = target.state()
    if state.doubts or fingerprint(state.document.acls) != fingerprint(made.current):
        raise InvalidRequest("the target has changed meanwhile; nothing was done, run it again")


def _progress(total: int, output: Output) -> Callable[[int], None]:
    def show(done: int) -> None:
        if output.err.isatty() and not output.quiet and done < total:
            output.err.write(f"\rchanged: {done:,} of {total:,}")
            output.err.flush()

    return show


def _say_done(steps: Sequence[Step], credentials: Sequence[Move], output: Output) -> None:
    if output.is_text:
        output.line("Done.")
        return
    for step in steps:
        output.record(step_fields(step))
    for each in credentials:
        output.record(each.fields())
