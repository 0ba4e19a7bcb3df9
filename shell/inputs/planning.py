"""Reads the input of plan and apply: TARGET, WANTED, and the limits on a plan.

This module must not change a target.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from metalog.acl import Acl
from metalog.errors import InvalidRequest
from metalog.image.state.features import EMPTY, FeaturesImage
from metalog.text.plurals import counted, plural
from metalog_sources.formats.document import Document, joined
from metalog_sources.source_kinds import ACL_TARGETS, ANY
from metalog_sources.targets.plan import Plan, make_plan
from metalog_sources.targets.target import likely_kafka
from shell.arguments.yaml_files.claims import claim_texts, claims_of
from shell.context import (
    add_command_config,
    add_config,
    add_source_argument,
    opened_source,
    read_config,
    replayed_source,
    state_document,
)
from shell.inputs.acl_files import read_document
from shell.inputs.lockout import add_lockout, caller_of
from shell.tasks.plans.checks import PlanLimits, findings_of
from shell.tasks.plans.gains import GAIN_FORM, GainLimit, gain_limit
from shell.tasks.plans.planned import Planned
from shell.tasks.plans.saved import plan_config, refuse_other_config

if TYPE_CHECKING:
    from collections.abc import Collection

    from authorizer.config import AuthorizerConfig
    from metalog_sources.source import Source
    from metalog_sources.targets.plan import SavedPlan
    from shell.output.output import Output


def add_planning(parser: ArgumentParser, *, is_for_any: bool) -> None:
    """Add the arguments of ``plan`` and ``apply``. ``is_for_any``: TARGET may be any SOURCE."""
    add_source_argument(parser, ANY if is_for_any else ACL_TARGETS, metavar="TARGET")
    parser.add_argument(
        "wanted", nargs="+", metavar="WANTED", help="files of ACLs, or any other SOURCE"
    )
    add_command_config(parser)
    limits = parser.add_argument_group("limits")
    limits.add_argument(
        "--prune", action="store_true", help="remove ACLs that the files own but do not list"
    )
    limits.add_argument(
        "--max-removals", type=int, metavar="N", help="refuse to remove more than N ACLs"
    )
    limits.add_argument(
        "--no-new-access",
        action="store_true",
        help="refuse to give anybody more access (proven for every request)",
    )
    limits.add_argument(
        "--only-gain",
        action="append",
        metavar="CLAIM",
        help="refuse to give access that CLAIM (a file, or YAML: allow: {…}) does not allow",
    )
    add_lockout(parser)
    add_config(parser)
    parser.set_defaults(at=None, committed=False, salvage=None)


def planned(arguments: Namespace, output: Output) -> Planned:
    """The unchecked plan from TARGET to WANTED."""
    moves_users = getattr(arguments, "include_credentials", False)
    wanted = joined(
        read_document(text, arguments, output, rests_on_users=moves_users).document
        for text in arguments.wanted
    )
    source = opened_source(arguments, output)
    current, features = current_state(source, arguments, output)
    if arguments.prune and output.missing:
        raise InvalidRequest(
            "some ACLs could not be read, so --prune could remove too many; plan without it"
        )
    plan = make_plan(current, wanted, prune=arguments.prune)
    _note_unremoved(plan, wanted, arguments, output)
    hosts = (acl.host for acl in current)
    kafka = likely_kafka(source.opened, features)
    context = read_config(arguments, source, output).with_kafka(kafka, hosts)
    config, is_assumed = context.config, context.is_kafka_assumed
    findings = tuple(findings_of(plan.steps, wanted, current, config))
    users = wanted.users
    return Planned(source, current, config, plan, users, findings, wanted, features, is_assumed)


def current_acls(source: Source, arguments: Namespace, output: Output) -> frozenset[Acl]:
    return current_state(source, arguments, output)[0]


def current_state(
    source: Source, arguments: Namespace, output: Output
) -> tuple[frozenset[Acl], FeaturesImage]:
    """The ACLs of the target, and the features of its log; a store has no features."""
    if source.store is None:
        image = replayed_source(arguments, output, source).image
        return frozenset(image.acls.by_id.values()), image.features
    return frozenset(state_document(source.store.state(), arguments, output).acls), EMPTY


def _note_unremoved(plan: Plan, wanted: Document, arguments: Namespace, output: Output) -> None:
    if arguments.prune and not wanted.owns:
        output.note("nothing is removed: no file has the key `owns`")
    if plan.unpruned:
        output.note(
            f"the files own, but do not list, {counted(len(plan.unpruned), 'ACL')} of the target;"
            " --prune removes every such ACL"
        )
    if plan.unowned:
        acls = counted(len(plan.unowned), "ACL")
        why = plural(len(plan.unowned), "stays: no file owns it", "stay: no file owns them")
        output.note(f"{acls} of the target {why}")


def limits_of(source: Source, arguments: Namespace) -> PlanLimits:
    """The limits on a plan for ``source``.

    Raises:
        InvalidRequest: a limit is invalid, or excludes another limit.
    """
    removals = arguments.max_removals
    if removals is not None and removals < 0:
        raise InvalidRequest(f"--max-removals {removals}: give 0 or more")
    caller = None if arguments.allow_lockout else caller_of(source, arguments)
    return PlanLimits(removals, arguments.allow_lockout, caller, _gains_of(arguments))


def _gains_of(arguments: Namespace) -> tuple[GainLimit, ...]:
    if arguments.only_gain is None:
        return (GainLimit(),) if arguments.no_new_access else ()
    if arguments.no_new_access:
        raise InvalidRequest("give --no-new-access or --only-gain, not both")
    texts = claim_texts(arguments.only_gain, "--only-gain claim", GAIN_FORM)
    return (_limit_of_texts(texts),)


def limits_of_saved(plan: SavedPlan, file: str, limits: PlanLimits) -> PlanLimits:
    """The ``limits``, with the gain limit that the saved ``plan`` was proven to keep, if any."""
    if plan.proof is None:
        return limits
    texts = [(text, f"{file}, claim {number}") for number, text in enumerate(plan.proof.claims, 1)]
    return limits._replace(gains=(*limits.gains, _limit_of_texts(texts)))


def _limit_of_texts(texts: Sequence[tuple[str, str]]) -> GainLimit:
    claims = [claim for text, file in texts for claim in claims_of(text, file)]
    return gain_limit(claims, [text for text, _ in texts])


def config_of_saved(
    plan: SavedPlan,
    source: Source,
    kafka: str,
    current: Collection[Acl],
    arguments: Namespace,
    output: Output,
) -> AuthorizerConfig:
    """The configuration of the options and SOURCE, or else of the saved ``plan``.

    The default Kafka version is ``kafka``, the target's likely version.

    Raises:
        InvalidRequest: the options differ from the plan's configuration, or the target reads CIDR
            hosts differently.
    """
    from authorizer.config import read_kafka_version

    options = arguments.config, arguments.super_users, arguments.allow_everyone
    if source.config is None and options == (None, None, None):
        version = read_kafka_version(arguments.kafka or source.kafka_version or kafka)
        config = plan_config(plan)._replace(kafka_version=version)
    else:
        config = read_config(arguments, source, output).with_kafka(kafka, ()).config
    refuse_other_config(plan, config, current)
    return config
