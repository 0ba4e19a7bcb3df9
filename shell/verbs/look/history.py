"""``metalog history SOURCE``: changes of ACLs, users or one decision, newest first.

This module must not know how changes are found.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from authorizer.analysis.changes.changes import Change, CredentialChange
from authorizer.analysis.explain.since import Cause, DecisionChange, DecisionChanges
from authorizer.history.timeline import TimelineChange
from authorizer.trace import reaches
from metalog.errors import InvalidMoment, InvalidRequest, InvalidSource
from metalog.ids import uuid_text
from metalog.log.folder.layout import SEGMENT_SUFFIX
from metalog.principal import parse_principal
from metalog.text.visible_text import shown
from metalog_sources.moment import time_text
from metalog_sources.source_kinds import LOGS
from shell.arguments.question import as_java_writes, read_question
from shell.arguments.resources import add_resources, parse_operation, resources
from shell.context import (
    TIME_FORMS,
    add_config,
    add_source,
    begin_moment,
    context_over,
    opened_source,
    read_config,
    refuse_doubts_about,
    refuse_if_nothing_proven,
    replayed_source,
)
from shell.output.output import Cell, Output
from shell.repeated_options import refuse_config_options
from shell.tasks.acl_words import result_word, sentence
from shell.tasks.history import ChangeHistory, change_notes, history_of
from shell.tasks.queries import Queries
from shell.tasks.questions import ParsedQuestion
from shell.views.acls import fields_with_id
from shell.views.explanation import headline, result_cell
from shell.views.other_kafka import say_other_answers

if TYPE_CHECKING:
    from authorizer.config import AuthorizerConfig
    from authorizer.trace import Question
    from metalog.acl import Acl, Operation, ResourceType
    from metalog.ids import Uuid
    from metalog.loader import LoadDoubt
    from metalog_sources.replay import Replayed
    from shell.tasks.history import Iterations

USAGE: Final = "SOURCE [QUESTION | filters] [--from MOMENT] [--to MOMENT] [--follow] [options]"
FORMATS: Final = ("text", "json")
PAGED: Final = True
EPILOG: Final = """\
metalog history /var/kafka/metadata --from -7d            the changes of a week
metalog history SOURCE --principal User:billing           what changed for one principal
metalog history SOURCE User:billing Read topic:payments   when the decision changed, and why
metalog history /var/kafka/metadata --follow              changes as they are written

Each line begins with --at N, the state after the change; --at N-1 is the state before. A
principal, an operation and a resource together are a question. One or two of the three are
filters; a resource selects every ACL that reaches the resource. If the log begins after --from,
the log's start is used. --follow prints the oldest change first, and begins now or at --from."""


class Filter(NamedTuple):
    """None or an empty list matches everything. An ACL must reach one of ``resources``."""

    principal: str | None
    operation: Operation | None
    host: str | None
    resources: list[tuple[ResourceType, str]]

    def passes(self, acl: Acl) -> bool:
        return (
            self.principal in (None, acl.principal)
            and self.operation in (None, acl.operation)
            and self.host in (None, acl.host)
            and (not self.resources or any(reaches(acl, *each) for each in self.resources))
        )

    def passes_user(self, user: str) -> bool:
        return self.principal in (None, f"User:{user}") and self[1:] == (None, None, [])


class HistoryLine(NamedTuple):
    """A change with the ACL or the credential's iterations before the change, if known."""

    change: Change
    removed: Acl | None = None
    iterations_before: int | None = None


def configure(parser: ArgumentParser) -> None:
    add_source(parser, has_at=False, kinds=LOGS)
    question = parser.add_argument_group("question, or filters")
    question.add_argument(
        "question",
        nargs="*",
        metavar="QUESTION",
        help="PRINCIPAL OPERATION TYPE:NAME, or an audit line in quotes",
    )
    question.add_argument("--principal", metavar="TYPE:NAME")
    question.add_argument("--operation", metavar="NAME", help="in upper or lower case")
    add_resources(question)
    question.add_argument("--host", metavar="ADDRESS")
    when = parser.add_argument_group("when")
    when.add_argument(
        "--from", metavar="MOMENT", help=f"changes at or after an offset, or after {TIME_FORMS}"
    )
    when.add_argument("--to", metavar="MOMENT", help="changes up to this state (default: the end)")
    when.add_argument(
        "--follow", action="store_true", help="keep printing changes as they are written"
    )
    add_config(parser)


def run(arguments: Namespace, output: Output) -> int:
    parsed = _parsed_question(arguments)
    wanted = None if parsed is not None else _filter(arguments)
    if arguments.follow and arguments.to is not None:
        raise InvalidRequest("give --follow or --to, not both")
    if arguments.follow:
        output.disable_pager()
    source = opened_source(arguments, output)
    begin, arguments.at = getattr(arguments, "from"), arguments.to
    first = -1
    if begin is not None:
        moment = begin_moment(begin, source.log)
        output.note(f"changes since {moment.description}")
        first = moment.offset
    context = None if parsed is None else read_config(arguments, source, output)
    replayed = replayed_source(
        arguments,
        output,
        source._replace(opened=source.log),
        allows_doubts=True,
        notes=change_notes(),
    )
    if replayed.moment is not None and replayed.moment.offset < first:
        raise InvalidMoment(f"--from {begin} is after --to {arguments.to}; exchange them")
    context = None if context is None else context_over(context, source, replayed.image)
    refuse_if_nothing_proven(replayed, arguments)
    history = history_of(replayed, None if first < 0 else first)
    if history is None:
        raise InvalidSource(f"{source.text}: too damaged for a history; see metalog status")
    earliest = 0 if parsed is not None else first
    doubts = [each for each in history.doubts if not _is_before(each, earliest)]
    refuse_doubts_about(doubts, arguments, output)
    if history.start > max(first, 0):
        output.note(f"the log has no history before offset {history.start:,}")
    view = _HistoryView(history, replayed, first, arguments.follow, arguments.salvage)
    if parsed is not None and context is not None:
        if replayed.ready:
            queries = Queries(replayed, context, lambda: None)
            say_other_answers([parsed.question], queries, output)
        _show_answers(parsed.question, context.config, view, output)
    elif wanted is not None:
        _show_changes(wanted, view, output)
    return 0


class _HistoryView(NamedTuple):
    """Shows changes that take effect at offset ``first`` or later; with ``follows`` and a negative
    ``first``, only new changes."""

    history: ChangeHistory
    replayed: Replayed
    first: int
    follows: bool
    salvages: bool

    @property
    def shows_past(self) -> bool:
        return not self.follows or self.first >= 0


def _is_before(doubt: LoadDoubt, offset: int) -> bool:
    """Whether all records of ``doubt`` are certainly below ``offset``. ``fault.offset`` is only the
    first record's, and is not an offset of the log if ``fault`` is in a snapshot."""
    fault = doubt.fault
    in_log = fault.file is not None and fault.file.endswith(SEGMENT_SUFFIX)
    return in_log and doubt.records == 1 and fault.offset is not None and fault.offset < offset


def _parsed_question(arguments: Namespace) -> ParsedQuestion | None:
    named = arguments.principal and arguments.operation and resources(arguments)
    return read_question(arguments) if arguments.question or named else None


def _filter(arguments: Namespace) -> Filter:
    refuse_config_options(arguments, "changes of ACLs do not depend on it; give a whole question")
    principal, operation = arguments.principal, arguments.operation
    return Filter(
        None if principal is None else str(parse_principal(principal)),
        None if operation is None else parse_operation(operation),
        as_java_writes(arguments.host),
        resources(arguments),
    )


def _show_changes(wanted: Filter, view: _HistoryView, output: Output) -> None:
    in_force = _InForce(dict(view.history.acls), dict(view.history.iterations))
    passing = _lines(view.history.changes, in_force, wanted)
    lines = [line for line in passing if line.change.at > view.first]
    if not view.follows:
        _print(reversed(lines), output)
        if not lines:
            output.note("no change matches")
        return
    if view.shows_past:
        _print(lines, output)
    for changes in _following(view, output):
        _print(_lines(changes, in_force, wanted), output)


def _following(view: _HistoryView, output: Output) -> Iterator[list[Change]]:
    from shell.tasks.follow.changes import follow

    output.note("following; Ctrl-C ends it")
    output.flush()

    def warn(fault: Exception) -> None:
        output.warn(f"{fault}; trying again")

    for group in follow(view.replayed, warn, salvage=view.salvages):
        yield group
        output.flush()


class _InForce(NamedTuple):
    """The state before the next change."""

    acls: dict[Uuid, Acl]
    iterations: Iterations


def _lines(changes: Iterable[Change], in_force: _InForce, wanted: Filter) -> Iterator[HistoryLine]:
    """The changes that pass the filter. Every change updates ``in_force``."""
    for change in changes:
        if isinstance(change, CredentialChange):
            before = in_force.iterations.pop((change.user, change.mechanism), None)
            if change.iterations is not None:
                in_force.iterations[change.user, change.mechanism] = change.iterations
            if wanted.passes_user(change.user):
                yield HistoryLine(change, iterations_before=before)
            continue
        removed = in_force.acls.pop(change.id, None)
        if change.acl is not None:
            in_force.acls[change.id] = change.acl
        if any(acl is not None and wanted.passes(acl) for acl in (change.acl, removed)):
            yield HistoryLine(change, removed)


def _print(lines: Iterable[HistoryLine], output: Output) -> None:
    if output.is_text:
        output.aligned(map(_row, lines))
    else:
        for line in lines:
            output.record(_as_json(line))


def _row(line: HistoryLine) -> list[Cell | str]:
    change = line.change
    when: list[Cell | str] = [Cell(f"--at {change.at}", "name"), time_text(change.time_ms)]
    if isinstance(change, CredentialChange):
        named = "unknown mechanism" if change.mechanism is None else change.mechanism.mechanism_name
        text = f"user {shown(change.user)} {named}"
        if change.iterations is None:
            return [*when, Cell("-", "bad"), text]
        text = f"{text}, {change.iterations} iterations"
        if line.iterations_before is None:
            return [*when, Cell("+", "good"), text]
        return [*when, Cell("~", "warn"), f"{text}, {line.iterations_before} before"]
    return [*when, *_acl_cells(change, line.removed)]


def _acl_cells(change: TimelineChange, removed: Acl | None) -> list[Cell | str]:
    if change.acl is not None:
        return [Cell("+", "good"), sentence(change.acl)]
    text = f"the ACL {uuid_text(change.id)}" if removed is None else sentence(removed)
    return [Cell("-", "bad"), text]


def _when(change: Change) -> dict[str, Any]:
    return {"at": change.at, "timestamp": change.time_ms, "offset": change.offset}


def _as_json(line: HistoryLine) -> dict[str, Any]:
    change = line.change
    if isinstance(change, CredentialChange):
        return _when(change) | {
            "change": "remove" if change.iterations is None else "set",
            "user": change.user,
            "mechanism": None if change.mechanism is None else change.mechanism.name,
            "iterationsBefore": line.iterations_before,
            "iterations": change.iterations,
        }
    acl = change.acl if change.acl is not None else line.removed
    id_text = uuid_text(change.id)
    return (
        _when(change)
        | {"change": "remove" if change.acl is None else "add"}
        | ({"id": id_text} if acl is None else fields_with_id(id_text, acl))
    )


def _show_answers(
    question: Question, config: AuthorizerConfig, view: _HistoryView, output: Output
) -> None:
    history = view.history
    turns = DecisionChanges(history.acls.items(), config, question)
    allowed_at_start = turns.allowed
    every = turns.following(history.of_acls)
    found = [turn for turn in every if turn.change.at > view.first]
    if output.is_text:
        output.line(headline(question, turns.allowed, output))
    if not view.follows:
        _print_turns(reversed(found), output)
        if history.start > view.first:
            _print_start(allowed_at_start, history.start, output)
        return
    if view.shows_past:
        _print_turns(found, output)
    for changes in _following(view, output):
        of_acls = (each for each in changes if isinstance(each, TimelineChange))
        _print_turns(turns.following(of_acls), output)


def _print_turns(turns: Iterable[DecisionChange], output: Output) -> None:
    if output.is_text:
        output.aligned(map(_turn_row, turns), indent="  ")
        return
    for turn in turns:
        output.record(_turn_json(turn))


def _turn_row(turn: DecisionChange) -> list[Cell | str]:
    sign = Cell("+", "good") if turn.cause is Cause.ADDED else Cell("-", "bad")
    return [
        Cell(f"--at {turn.change.at}", "name"),
        time_text(turn.change.time_ms),
        result_cell(turn.allowed),
        sign,
        "" if turn.acl is None else sentence(turn.acl),
    ]


def _turn_json(turn: DecisionChange) -> dict[str, Any]:
    line = HistoryLine(turn.change, turn.acl)
    return _as_json(line) | {"result": result_word(turn.allowed)}


def _print_start(allowed: bool, start: int, output: Output) -> None:
    if output.is_text:
        word = output.paint(*result_cell(allowed))
        output.line(f"  {word} as far back as the log goes, offset {start:,}")
    else:
        result = result_word(allowed)
        nothing: dict[str, Any] = {"timestamp": None, "offset": None, "change": None}
        output.record({"at": start} | nothing | {"result": result})
