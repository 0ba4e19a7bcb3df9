"""``metalog pipeline what-if DIR PROPOSED``: the real requests that other ACLs would answer
differently.

This module must not know how requests are decided.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from metalog.acl import PermissionType, ResourceType
from metalog.errors import InvalidRequest
from metalog.text.plurals import counted
from metalog.text.visible_text import shown
from metalog_sources.formats.document import Document, joined
from metalog_sources.targets.plan import SavedPlan, after, make_plan
from shell.arguments.pipeline import add_spark, check_installed, opened_folder
from shell.context import add_command_config, add_config, broker_properties
from shell.inputs.acl_files import read_document
from shell.output.output import Cell, Output
from shell.tasks.acl_words import resource_kind
from shell.tasks.broker.broker_context import ALLOW_EVERYONE_KEY, KAFKA_VERSION_KEY, SUPER_USERS_KEY
from shell.tasks.plans.saved import changed_since, saved_plan
from shell.tasks.proof.meaning import Meaning, meaning
from shell.views.accepted_findings import (
    AcceptedFindings,
    accepted_json,
    accepted_text,
    add_accepted,
)
from shell.views.explanation import result_cell
from shell.views.meaning import meaning_records, print_meaning
from shell.views.pipeline.findings import (
    acl_json,
    acl_text,
    add_window,
    chosen_window,
    print_remedies,
    time_json,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from authorizer.config import AuthorizerConfig
    from metalog.acl import Acl
    from metalog.config.located_properties import LocatedProperties
    from metalog_spark.findings.windows.window import Window, WindowCoverage
    from metalog_spark.report.triage.accepted import Accepted
    from metalog_spark.store.table_store import Tables

USAGE: Final = "DIR PROPOSED… [--from MOMENT] [--to MOMENT] [options]"
FORMATS: Final = ("text", "json", "commands")
PAGED: Final = True
EPILOG: Final = """\
metalog pipeline what-if DIR acls/ --from -30d          requests that the files would break
metalog plan @prod acls/ --prune --save plan.json
metalog pipeline what-if DIR plan.json                  requests that the plan would break
metalog pipeline what-if DIR cluster://staging:9092     as if staging's ACLs were in force
metalog pipeline what-if DIR acls/ --prove              also changes that no request shows

PROPOSED is compared with the ACLs at the end of the history, not with those at the time of a
request. PROPOSED is the whole set of ACLs; files with the key owns replace only the ACLs that they
own, as metalog apply --prune does. -o commands prints commands that would keep today's decisions.

Exit code: 0 no decision changes, 1 some decisions change, or a principal could no longer
start an idempotent producer (audit lines do not show this), 2 no answer."""
_SHOWN: Final = 20
_NAMES_SHOWN: Final = 3
_ANSWERS: Final = {"DENIED": "denied instead of allowed", "ALLOWED": "allowed instead of denied"}
_FIELDS: Final = {
    "principal": "principal",
    "operation": "operation",
    "resource": "resource_type",
    "name": "resource_name",
}
"""A row's columns, by the fields of an entry of ``--accepted``."""


def configure(parser: ArgumentParser) -> None:
    add_window(parser)
    group = parser.add_argument_group("proposal")
    group.add_argument(
        "proposed", nargs="+", metavar="PROPOSED", help="files of ACLs, a saved plan, any SOURCE"
    )
    add_command_config(group)
    add_accepted(group)
    group.add_argument(
        "--prove",
        action="store_true",
        help="prove and list every change of a decision, also for requests that nobody made",
    )
    group.add_argument("--all", action="store_true", help="print long lists in full")
    add_config(parser)
    add_spark(parser)
    parser.set_defaults(at=None, committed=False, salvage=False)


def run(arguments: Namespace, output: Output) -> int:
    check_installed(output)
    from metalog_spark.findings.producers import losing, unseen_in
    from metalog_spark.findings.what_if import what_if
    from metalog_spark.findings.windows.answers import answers_in
    from metalog_spark.findings.windows.state import acls_now, config_now
    from metalog_spark.findings.windows.window import coverage_in
    from metalog_spark.report.triage.accepted_rows import marked, matching

    acceptances = AcceptedFindings(arguments.accepted, "what-if")
    read, settings = _read(arguments, output), _settings(arguments)
    with opened_folder(arguments, output) as tables:
        window = chosen_window(arguments, tables, output)
        current_acls, current_config = acls_now(tables), config_now(tables)
        config = _config(current_config, settings, arguments, output)
        proposed = _proposed(current_acls, read, config, output)
        changed = (
            meaning(current_acls, proposed, current_config, config) if arguments.prove else None
        )
        seen = coverage_in(tables, window)
        with output.busy("deciding"):
            timed = what_if(tables, window, proposed, config).selectExpr(
                "*", "unix_micros(last_time) AS last_us"
            )
            found = marked(timed, acceptances.entries, _FIELDS, acceptances.today).persist()
            open_rows, accepted = found.where("entry IS NULL"), found.where("entry IS NOT NULL")
            changes = _changes(open_rows)
            accepted_requests = _request_count(accepted) if acceptances.entries else 0
            acceptances.note_matched(matching(found, acceptances.entries, _FIELDS))
            total = answers_in(tables, window)
            lost = losing(unseen_in(tables, window), proposed, config)
        _say_missing(seen, lost, output)
        acceptances.warn_of_unmatched_or_ended(output)
        if output.format == "json":
            for row in _rows_of(open_rows.unionAll(accepted)):
                command = _command(tables, window, row)
                output.record(_as_json(row, acceptances.entry(row["entry"]), command))
            for record in () if changed is None else meaning_records(changed, None):
                output.record(record)
        elif output.format == "commands":
            print_remedies((row["remedy"] for row in _rows_of(open_rows)), output)
        else:
            _print_changes(changes, total, accepted_requests, output)
            _print_rows(open_rows, changes, arguments.all, output)
            if changes:
                first = _command(tables, window, next(_rows_of(open_rows.limit(1))))
                output.line()
                output.line(f"The first row's requests: {first}")
            for row in _rows_of(accepted) if acceptances.entries else ():
                entry = acceptances.entry(row["entry"])
                output.line(f"{_question(row)}: {'' if entry is None else accepted_text(entry)}")
            if changed is not None:
                _print_meaning(changed, bool(changes) or accepted_requests > 0, output)
        found.unpersist()
    return 1 if changes or lost or not (changed is None or changed.is_empty) else 0


class _Change(NamedTuple):
    """What gets the answer ``after`` instead. ``first`` are names of the first principals."""

    after: str
    rows: int
    requests: int
    principals: int
    first: Sequence[str]


def _changes(found: DataFrame) -> list[_Change]:
    """New denials come first."""
    from pyspark.sql import functions as f

    by_answer = found.groupBy("after").agg(
        f.count("*").alias("rows"),
        f.sum("requests").alias("requests"),
        f.count_distinct("principal").alias("principals"),
    )
    changes = []
    for row in by_answer.orderBy(f.desc("after")).collect():
        own = found.where(f.col("after") == row["after"]).select("principal").distinct()
        first = [
            each["principal"] for each in own.orderBy("principal").limit(_NAMES_SHOWN).collect()
        ]
        sums = row["rows"], row["requests"], row["principals"]
        changes.append(_Change(row["after"], *sums, first))
    return changes


def _request_count(found: DataFrame) -> int:
    from pyspark.sql import functions as f

    [row] = found.agg(f.sum("requests")).collect()
    return row[0] or 0


def _rows_of(found: DataFrame) -> Iterator[dict[str, Any]]:
    """The rows in order, never all in memory."""
    for row in found.toLocalIterator():
        yield row.asDict(recursive=True)


def _read(arguments: Namespace, output: Output) -> SavedPlan | Document:
    from metalog_spark.history.archive import is_pattern

    for text in arguments.proposed:
        if is_pattern(text):
            raise InvalidRequest(
                f"{text}: a pattern, which only --log takes; name one folder, or files"
            )
    plan = saved_plan(arguments.proposed[0])
    if plan is None:
        return joined(
            read_document(text, arguments, output).document for text in arguments.proposed
        )
    if len(arguments.proposed) > 1:
        raise InvalidRequest(
            f"{arguments.proposed[0]}: a saved plan must be the only PROPOSED; leave out the others"
        )
    return plan


def _proposed(
    current: Collection[Acl], read: SavedPlan | Document, config: AuthorizerConfig, output: Output
) -> Collection[Acl]:
    if isinstance(read, SavedPlan):
        for since in changed_since(read, current, config):
            output.warn(
                f"this plan was made for other ACLs than those at the history's end: {since}"
            )
            break
        return after(current, read.steps)
    if not read.owns:
        return read.acls
    plan_for_owned = make_plan(current, read, prune=True)
    others = len(plan_for_owned.unowned)
    stay = counted(others, "other ACL stays as it is", "other ACLs stay as they are")
    output.note(f"the files have the key owns; {stay}")
    return after(current, plan_for_owned.steps)


def _settings(arguments: Namespace) -> LocatedProperties:
    from authorizer.config import from_located

    file = None if arguments.config is None else Path(arguments.config)
    located = broker_properties(file, arguments)
    from_located(located)
    return located


def _config(
    current: AuthorizerConfig, settings: LocatedProperties, arguments: Namespace, output: Output
) -> AuthorizerConfig:
    """Settings that are missing come from ``current``: the Kafka version and, without ``--config``,
    super users and ``allow_everyone``."""
    from authorizer.config import from_properties

    today = {
        SUPER_USERS_KEY: ";".join(sorted(current.super_users)),
        ALLOW_EVERYONE_KEY: str(current.allow_everyone).lower(),
    }
    rest = {KAFKA_VERSION_KEY: current.kafka.value} | ({} if arguments.config else today)
    config, warnings = from_properties({**rest, **settings.properties})
    for warning in warnings:
        output.warn(settings.placed_text(warning))
    return config


def _print_changes(changes: Sequence[_Change], total: int, accepted: int, output: Output) -> None:
    turned = sum(each.requests for each in changes)
    not_counted = f", not counting {accepted:,} that are accepted" if accepted else ""
    output.prose(
        f"{turned:,} of {counted(total, 'request')} would get another answer{_by_answer(changes)}"
        f"{not_counted}."
    )


def _print_rows(
    found: DataFrame, changes: Sequence[_Change], is_whole: bool, output: Output
) -> None:
    if not changes:
        return
    output.line()
    output.aligned(map(_cells, _rows_of(found if is_whole else found.limit(_SHOWN))))
    left = sum(each.rows for each in changes) - _SHOWN
    if left > 0 and not is_whole:
        output.line(f"… and {counted(left, 'more row')} (--all)")


def _print_meaning(changed: Meaning, has_rows: bool, output: Output) -> None:
    """Print changes of the printed rows again, because a change can be about more hosts and names
    than the requests."""
    cells = counted(changed.cells, "cell")
    if changed.is_empty:
        otherwise = "else " if has_rows else ""
        output.prose(f"Nothing {otherwise}would change for any request: proven ({cells}).")
        return
    seen = (
        "These answers would change, including those to the requests above"
        if has_rows
        else "No answer in the window would change, but these answers would"
    )
    output.prose(f"{seen} ({cells}):")
    print_meaning(changed, None, output)


def _by_answer(changes: Sequence[_Change]) -> str:
    parts = [
        f"{each.requests:,} {_ANSWERS[each.after]} ({_names(each.first, each.principals)})"
        for each in changes
    ]
    return f": {', '.join(parts)}" if parts else ""


def _names(principals: Iterable[str], count: int) -> str:
    more = f" and {count - _NAMES_SHOWN:,} more" if count > _NAMES_SHOWN else ""
    return f"{', '.join(sorted(map(shown, principals)))}{more}"


def _cells(row: Mapping[str, Any]) -> list[Cell | str]:
    kind = resource_kind(ResourceType[row["resource_type"]])
    return [
        f"{row['requests']:>8,}",
        result_cell(row["before"] == "ALLOWED"),
        "->",
        result_cell(row["after"] == "ALLOWED"),
        Cell(shown(row["principal"]), "strong"),
        f"{row['operation']} on {kind} {shown(row['resource_name'])}",
        _because(row),
    ]


def _because(row: Mapping[str, Any]) -> Cell | str:
    if row["acl"] is None:
        return Cell(row["remedy"], "faint")
    is_allow = row["acl"]["permission_type"] == PermissionType.ALLOW.name
    is_missing = is_allow is (row["after"] == "DENIED")
    return Cell(f"{'without' if is_missing else 'by'} {acl_text(row['acl'])}", "faint")


def _question(row: Mapping[str, Any]) -> str:
    kind = resource_kind(ResourceType[row["resource_type"]])
    return f"{shown(row['principal'])} {row['operation']} on {kind} {shown(row['resource_name'])}"


def _command(tables: Tables, window: Window, row: Mapping[str, Any]) -> str:
    from metalog_spark.findings.windows.request_rows import RequestFilter, command_for

    wanted = RequestFilter(
        principal=row["principal"],
        operation=row["operation"],
        resource_type=row["resource_type"],
        resource_name=row["resource_name"],
    )
    return command_for(tables, window, wanted)


def _as_json(row: Mapping[str, Any], entry: Accepted | None, command: str) -> dict[str, Any]:
    return {
        "principal": row["principal"],
        "operation": row["operation"],
        "resourceType": row["resource_type"],
        "resourceName": row["resource_name"],
        "before": row["before"],
        "after": row["after"],
        "rule": row["after_rule"],
        "requests": row["requests"],
        "hosts": row["hosts"],
        "lastTime": time_json(row["last_us"]),
        "acl": acl_json(row["acl"]),
        "severity": row["severity"],
        "remedy": row["remedy"],
        "accepted": accepted_json(entry),
        "command": command,
    }


def _say_missing(seen: WindowCoverage, lost: Collection[str], output: Output) -> None:
    if seen.broken:
        output.warn(f"{seen.broken_text()}; not counted here")
    for each in seen.clocks:
        output.warn(each)
    if seen.ambiguous:
        output.warn(f"{seen.ambiguous_text()}: only the likeliest reading counts here")
    if seen.without_allowed:
        output.warn(f"{seen.text()}: what the proposal would break in those hours is unknown")
    if seen.without_controller:
        output.warn(
            f"{seen.controllers_text()}: what the proposal would break in those hours is unknown"
        )
    if lost:
        names = _names(sorted(lost)[:_NAMES_SHOWN], len(lost))
        output.warn(
            f"{names} could no longer start an idempotent producer, which no audit line shows:"
            " give them WRITE on one topic, or IDEMPOTENT_WRITE on the cluster"
        )
