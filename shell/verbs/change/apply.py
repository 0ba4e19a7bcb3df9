"""``metalog apply TARGET WANTED…|plan.json``: gives TARGET the ACLs of WANTED, or applies a plan.

``apply`` asks before it changes anything, unless it gets ``--yes`` or a saved plan. After an
interruption, a second run makes the remaining changes. This module must not know how a plan is
made.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Final

from metalog.errors import InvalidRequest
from metalog.text.plurals import counted
from metalog.text.visible_text import shown
from metalog_sources.targets.plan import Plan, PlanStep, SavedPlan, after, remaining, step_fields
from metalog_sources.targets.target import carry_out, likely_kafka, target_of
from shell.arguments.confirm import confirms, require_terminal
from shell.context import opened_source
from shell.inputs.credential_migration import add_credentials, moves
from shell.inputs.planning import (
    add_planning,
    config_of_saved,
    current_state,
    limits_of,
    limits_of_saved,
    planned,
)
from shell.output.output import Output
from shell.tasks.plans.checks import checked, default_findings
from shell.tasks.plans.gains import losses_refused
from shell.tasks.plans.planned import Planned
from shell.tasks.plans.saved import changed_since, config_text, plan_to_save, saved_plan
from shell.views.other_kafka import say_other_plan
from shell.views.plans.plan import print_steps
from shell.views.proofs import claim_text, joined

if TYPE_CHECKING:
    from authorizer.config import AuthorizerConfig
    from metalog.acl import Acl
    from metalog_sources.targets.target import Target
    from shell.inputs.credential_migration import CredentialMove
    from shell.tasks.plans.checks import Refusal
    from shell.tasks.plans.gains import GainLimit

USAGE: Final = "TARGET WANTED…|PLAN.json [--prune] [--yes] [options]"
FORMATS: Final = ("text", "json")
PAGED: Final = False
EPILOG: Final = """\
metalog apply cluster://broker:9092 acls/ --command-config admin.properties
metalog apply @prod plan.json                       a plan that metalog plan --save wrote
metalog apply FOLDER zookeeper://zk:2181/kafka --include-credentials

In a folder all changes are one metadata transaction. Elsewhere apply adds DENYs first, then
ALLOWs, and removes ALLOWs before DENYs. A saved plan is refused if the super users, the
default rule or the ACLs that its files own have changed, or if the plan would now change other
decisions than planned. A plan saved with --no-new-access or --only-gain may meet changed ACLs, but
it needs a new proof on them, and must not remove more access than planned.
Limits given to apply must hold, too.
Exit code: 0 done or nothing to do, 2 not done."""
_CHANGES_NAMED: Final = 20


def configure(parser: ArgumentParser) -> None:
    add_planning(parser, is_for_any=False)
    add_credentials(parser)
    parser.add_argument("--yes", action="store_true", help="do not ask")


def run(arguments: Namespace, output: Output) -> int:
    target = target_of(opened_source(arguments, output))
    try:
        return _apply(target, arguments, output)
    finally:
        target.close()


def _apply(target: Target, arguments: Namespace, output: Output) -> int:
    plan = _saved_plan(arguments)
    made = planned(arguments, output) if plan is None else _from_saved(plan, arguments, output)
    for finding in made.findings:
        output.warn(str(finding))
    say_other_plan(made, (), output)
    steps = made.plan.steps
    credentials = moves(made.users, target, arguments, output)
    limits = limits_of(made.source, arguments)
    if plan is not None:
        limits = limits_of_saved(plan, arguments.wanted[0], limits)
    refusal = checked(made, limits, target).refusal
    if output.is_text:
        print_steps(steps, output, credentials, refusal)
    if plan is not None and plan.proof is not None:
        _refuse_more_losses(plan, made)
    elif plan is not None:
        _refuse_changed(plan, made.current, made.config, output)
    _refuse(refusal)
    if plan is not None and limits.gains:
        output.note(_proven_text(limits.gains, made.config))
    count = len(steps) + len(credentials)
    if not count:
        return 0
    if plan is None and not arguments.yes:
        made = _confirmed(count, target, made, output)
        _refuse(checked(made, limits, target).refusal)
        steps = made.plan.steps
    users = [each.user for each in credentials]
    carry_out(target, steps, _progress(len(steps), output), users, before=made.current)
    _say_done(steps, credentials, output)
    return 0


def _refuse_changed(
    plan: SavedPlan,
    current: Collection[Acl],
    config: AuthorizerConfig,
    output: Output,
    advice: str = "make a new plan with metalog plan",
) -> None:
    found = list(changed_since(plan, current, config))
    for each in found[1:_CHANGES_NAMED]:
        output.warn(f"since this plan was made, {each}")
    if found:
        more = f", and {counted(len(found) - 1, 'more such change')}" if len(found) > 1 else ""
        raise InvalidRequest(
            f"the target has changed since this plan was made: {found[0]}{more}; {advice}"
        )


def _refuse_more_losses(plan: SavedPlan, made: Planned) -> None:
    """Raise ``InvalidRequest`` if the plan removes more access than when it was made."""
    planned_sets = plan.before, after(plan.before, plan.steps)
    refusal = losses_refused(made, planned_sets, made.config)
    if refusal is not None:
        raise InvalidRequest(
            f"the target has changed since this plan was made: {refusal}; make a new plan with"
            " metalog plan"
        )


def _proven_text(limits: Sequence[GainLimit], config: AuthorizerConfig) -> str:
    """Name the limits and super users, because somebody can have edited the plan's file."""
    claims = [[claim_text(each) for each in limit.claims] for limit in limits]
    exceptions = [f"but {joined(each, 'and')}" if each else "" for each in claims]
    gained = " and ".join(
        f"nobody gains access {each}".rstrip() for each in dict.fromkeys(exceptions)
    )
    return f"proven for the target as it is: {gained}; with {config_text(config)}"


def _refuse(refusal: Refusal | None) -> None:
    if refusal is not None:
        raise InvalidRequest(refusal.message)


def _saved_plan(arguments: Namespace) -> SavedPlan | None:
    name = arguments.wanted[0]
    plan = saved_plan(name)
    if plan is not None and len(arguments.wanted) > 1:
        raise InvalidRequest(f"{name}: a saved plan must be the only WANTED; leave out the others")
    if plan is not None and arguments.include_credentials:
        raise InvalidRequest(
            f"{name}: a saved plan has no credentials; apply the files that it was made from"
        )
    if plan is not None and arguments.prune:
        raise InvalidRequest(f"{name}: a saved plan already states what is removed; omit --prune")
    return plan


def _from_saved(plan: SavedPlan, arguments: Namespace, output: Output) -> Planned:
    source = opened_source(arguments, output)
    if plan.target != arguments.source:
        output.warn(f"this plan was made for {shown(plan.target)}, not {shown(arguments.source)}")
    current, features = current_state(source, arguments, output)
    steps = remaining(plan, current)
    kafka = likely_kafka(source.opened, features)
    config = config_of_saved(plan, source, kafka, current, arguments, output)
    findings = tuple(default_findings(steps, current, config))
    return Planned(source, current, config, Plan(tuple(steps), owns=plan.owns), findings=findings)


def _confirmed(count: int, target: Target, made: Planned, output: Output) -> Planned:
    """The plan's remaining steps after a person's yes. Raises ``InvalidRequest`` after a no, or if
    the target has changed meanwhile so that the plan is no longer right."""
    require_terminal(output.err, "--yes, or a plan that metalog plan --save wrote")
    output.flush()
    output.err.write(f"Make {counted(count, 'change')}? [y/N] ")
    output.err.flush()
    if not confirms():
        raise InvalidRequest("nothing was changed")
    state = target.state()
    if state.doubts:
        raise InvalidRequest(
            "the target has changed meanwhile; nothing was changed: run apply again"
        )
    current = frozenset(state.document.acls)
    shown_plan = plan_to_save("", made.current, made.plan, made.config)
    _refuse_changed(
        shown_plan, current, made.config, output, "nothing was changed: run apply again"
    )
    steps = tuple(remaining(shown_plan, current))
    return made._replace(current=current, plan=made.plan._replace(steps=steps))


def _progress(total: int, output: Output) -> Callable[[int], None]:
    def show(done: int) -> None:
        if output.err.isatty() and not output.quiet and done < total:
            output.err.write(f"\rchanged: {done:,} of {total:,}")
            output.err.flush()

    return show


def _say_done(
    steps: Sequence[PlanStep], credentials: Sequence[CredentialMove], output: Output
) -> None:
    if output.is_text:
        output.line("Done.")
        return
    for step in steps:
        output.record(step_fields(step))
    for each in credentials:
        output.record(each.fields())
