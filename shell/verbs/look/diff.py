"""``metalog diff A B``: the differences between two sources, or between two moments of one source.

``--meaning`` compares decisions. This module must not change anything.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from authorizer.analysis.changes.diff import Difference, UserDifference, Users, difference
from metalog.errors import InvalidRequest
from metalog.text.plurals import counted
from metalog.text.visible_text import shown
from metalog_sources.formats.document import acl_order
from metalog_sources.targets.plan import ChangeKind, PlanStep, phases, step_fields
from metalog_sources.targets.target import likely_kafka
from shell.context import (
    MOMENT_FORMS,
    add_config,
    add_source,
    begin_moment,
    context_over,
    opened_text,
    read_config,
    refuse_doubts_about,
    replayed_source,
)
from shell.output.output import Cell, Output
from shell.repeated_options import refuse_config_options
from shell.tasks.acl_words import sentence
from shell.tasks.command_target import CommandTarget
from shell.tasks.proof.meaning import meaning
from shell.views.meaning import markdown_of_meaning, meaning_records, meaning_summary, print_meaning
from shell.views.plans.plan import SIGNS, print_commands, print_table

if TYPE_CHECKING:
    from authorizer.config import AuthorizerConfig
    from metalog.acl import Acl
    from metalog.image.metadata import MetadataImage
    from metalog.loader import LoadDoubt
    from metalog_sources.source import Source

USAGE: Final = "A B [options], or SOURCE --from MOMENT [--to MOMENT]"
FORMATS: Final = ("text", "json", "markdown", "commands")
PAGED: Final = True
EPILOG: Final = """\
metalog diff cluster://broker:9092 acls/              ACLs the files would add (+) and remove (-)
metalog diff /var/kafka/metadata --from -24h          the changes of a day
metalog diff blue/metadata green/metadata --exit-code
metalog diff @main @dr --meaning --config server.properties       who gains and loses access

If the log begins after --from, the log's start is used. ACLs are compared by their fields, not
by their ids. -o commands prints the commands that give A the ACLs of B, but none if one change
has no command; unlike plan, it checks no lockout. --meaning compares the decisions for every
kind of request whose decision an ACL of only A or only B can change.
Exit code: 0 compared, 1 anything differs (with --exit-code), 2 no answer."""


class _State(NamedTuple):
    acls: frozenset[Acl]
    users: Users
    knows_users: bool
    """False for a store in which no user was found."""
    unread_users: tuple[LoadDoubt, ...]
    command_target: CommandTarget
    source: Source
    image: MetadataImage


def configure(parser: ArgumentParser) -> None:
    add_source(parser, has_at=False)
    group = parser.add_argument_group("comparison")
    group.add_argument(
        "other", nargs="?", metavar="B", help="the second SOURCE (default: A, the first SOURCE)"
    )
    group.add_argument("--from", metavar="MOMENT", help=f"the state of A at {MOMENT_FORMS}")
    group.add_argument(
        "--to", metavar="MOMENT", help="the state of B at a moment (default: the end of B)"
    )
    group.add_argument("--exit-code", action="store_true", help="exit with 1 if anything differs")
    group.add_argument(
        "--meaning", action="store_true", help="who may do more or less in B, not which ACLs differ"
    )
    add_config(parser)


def run(arguments: Namespace, output: Output) -> int:
    start = getattr(arguments, "from")
    if arguments.other is None and start is None:
        raise InvalidRequest("nothing to compare: give two sources, or --from MOMENT")
    if not arguments.meaning:
        refuse_config_options(
            arguments, "ACLs do not depend on this option; add --meaning to compare decisions"
        )
    one = _state(arguments.source, start, arguments, output, is_from=True)
    other = _state(arguments.other or arguments.source, arguments.to, arguments, output)
    if arguments.meaning:
        return _compare_meaning(one, other, arguments, output)
    if _both_know_users(one, other):
        refuse_doubts_about((*one.unread_users, *other.unread_users), arguments, output)
    found = _difference(one, other, output)
    steps = [PlanStep(ChangeKind.ADD, acl) for acl in found.added]
    steps += [PlanStep(ChangeKind.REMOVE, acl) for acl in found.removed]
    steps.sort(key=lambda step: (acl_order(step.acl), step.change is ChangeKind.ADD))
    _print_difference(steps, found, one.command_target, output)
    return 1 if arguments.exit_code and not found.is_empty else 0


def _print_difference(
    steps: list[PlanStep], found: Difference, command_target: CommandTarget, output: Output
) -> None:
    if output.is_text:
        _print(steps, found, output)
    elif output.format == "json":
        for step in steps:
            output.record(step_fields(step))
        for each in found.users:
            output.record(_as_json(each))
    elif output.format == "markdown":
        output.line(f"**metalog diff**: {_summary(found)}")
        if steps:
            output.line()
            print_table(steps, output)
        _print_users_table(found, output)
    else:
        if steps:
            output.note(
                "not checked: whether these changes lock somebody out; metalog plan checks it, by"
                " the broker's configuration"
            )
        # A's allow.everyone.if.no.acl.found is unknown; True gives commands for either value.
        print_commands(list(chain(*phases(steps))), command_target, output, allow_everyone=True)
        if found.users:
            changes = counted(len(found.users), "change")
            output.note(
                f"left out: {changes} of SCRAM users; kafka-acls has no command for SCRAM users"
            )


def _state(
    text: str, moment: str | None, arguments: Namespace, output: Output, *, is_from: bool = False
) -> _State:
    """``is_from``: the state at the log's start if the log begins after ``moment``."""
    source = opened_text(text, arguments, output)
    at = begin_moment(moment, source.log) if is_from and moment is not None else moment
    options = Namespace(**{**vars(arguments), "source": text, "at": at})
    replayed = replayed_source(options, output, source)
    image, unread_users = replayed.image, replayed.unread_users
    users = {
        (user, mechanism): credential
        for mechanism, users in image.scram.mechanisms.items()
        for user, credential in users.items()
    }
    acls = frozenset(image.acls.by_id.values())
    knows_users = source.store is None or bool(users or unread_users)
    return _State(acls, users, knows_users, unread_users, CommandTarget.of(source), source, image)


def _compare_meaning(one: _State, other: _State, arguments: Namespace, output: Output) -> int:
    config, file = _config_of_both(one, other, arguments, output)
    found = meaning(one.acls, other.acls, config)
    explaining = Namespace(**{**vars(arguments), "source": other.source.text, "at": arguments.to})
    explaining.config = file
    if likely_kafka(other.source.store, other.image.features) != config.kafka.value:
        explaining.kafka = config.kafka.value
    if output.is_text:
        print_meaning(found, explaining, output)
        output.line(meaning_summary(found))
    elif output.format == "json":
        for record in meaning_records(found, explaining):
            output.record(record)
    elif output.format == "markdown":
        markdown_of_meaning(found, output)
    else:
        raise InvalidRequest(
            "-o commands does not work with --meaning; leave out --meaning to get the commands "
            "that give A the ACLs of B"
        )
    return 1 if arguments.exit_code and not found.is_empty else 0


def _config_of_both(
    one: _State, other: _State, arguments: Namespace, output: Output
) -> tuple[AuthorizerConfig, str | None]:
    """The configuration for both sides, and its file, if any."""
    sides = [one, other] if one.source.config or not other.source.config else [other, one]
    first = read_config(arguments, sides[0].source, output, decides=True)
    if sides[0].source.config and sides[1].source.config:
        second = read_config(arguments, sides[1].source, output, decides=True)
        for key in ("super_users", "allow_everyone", "kafka_version"):
            if getattr(first.config, key) != getattr(second.config, key):
                raise InvalidRequest(
                    f"{key.replace('_', ' ')}: A and B are configured differently; give --config,"
                    " --super-users, --allow-everyone or --kafka for both"
                )
    config = context_over(first, sides[0].source, sides[0].image).config
    file = arguments.config or sides[0].source.config
    return config, None if file is None else str(file)


def _both_know_users(one: _State, other: _State) -> bool:
    return one.knows_users and other.knows_users


def _difference(one: _State, other: _State, output: Output) -> Difference:
    are_read = not (one.unread_users or other.unread_users)
    compared = are_read and _both_know_users(one, other)
    if are_read and not compared and (one.users or other.users):
        side = "A" if not one.knows_users else "B"
        output.note(f"SCRAM users are not compared, because {side} has no SCRAM users")
    no_users: Users = {}
    return difference(
        one.acls,
        other.acls,
        one.users if compared else no_users,
        other.users if compared else no_users,
    )


def _print(steps: list[PlanStep], found: Difference, output: Output) -> None:
    output.aligned([SIGNS[step.change], sentence(step.acl)] for step in steps)
    output.aligned([_sign(each), _user_text(each)] for each in found.users)
    output.line(_summary(found))


def _sign(change: UserDifference) -> Cell:
    if change.before is None:
        return SIGNS[ChangeKind.ADD]
    return SIGNS[ChangeKind.REMOVE] if change.after is None else Cell("~", "warn")


def _user_text(change: UserDifference) -> str:
    mechanism = change.mechanism.mechanism_name
    text = f"user {shown(change.user)} {mechanism}"
    if change.before is None or change.after is None:
        return f"{text}, {change.after or change.before} iterations"
    if change.before == change.after:
        return f"{text}: another password, or salt"
    return f"{text}: from {change.before} to {change.after} iterations"


def _summary(found: Difference) -> str:
    if found.is_empty:
        return "No difference."
    signs = Counter(_sign(each).text for each in found.users)
    counts = [
        (len(found.added), "ACL", "added"),
        (len(found.removed), "ACL", "removed"),
        (signs["+"], "SCRAM credential", "added"),
        (signs["-"], "SCRAM credential", "removed"),
        (signs["~"], "SCRAM credential", "changed"),
    ]
    parts = [f"{counted(count, what)} {done}" for count, what, done in counts if count]
    return f"{', '.join(parts)}."


def _as_json(change: UserDifference) -> dict[str, Any]:
    kind = {"+": "add", "-": "remove", "~": "change"}[_sign(change).text]
    return {
        "change": kind,
        "user": change.user,
        "mechanism": change.mechanism.name,
        "iterationsBefore": change.before,
        "iterations": change.after,
    }


def _print_users_table(found: Difference, output: Output) -> None:
    if found.users:
        output.line()
        output.records(
            ("change", "user", "mechanism", "iterations before", "iterations"),
            (
                ["" if each is None else each for each in _as_json(user).values()]
                for user in found.users
            ),
        )
