"""``metalog pipeline unused DIR``: unused ACLs, and which of them can go.

This module must not know how uses are counted.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from authorizer.analysis.lint.finding import Severity
from authorizer.trace import is_allow
from metalog.acl import acl_fields
from metalog.ids import uuid_text
from metalog.text.plurals import counted, plural
from shell.arguments.pipeline import add_spark, check_installed, opened_folder
from shell.output.output import Cell, Output
from shell.tasks.acl_words import sentence
from shell.views.accepted_findings import (
    AcceptedFindings,
    accepted_json,
    accepted_text,
    acl_words,
    add_accepted,
)
from shell.views.pipeline.findings import (
    FindingOptions,
    add_tolerance,
    add_window,
    chosen_window,
    day_text,
    print_basis,
    print_remedies,
    say_missing,
    severity_cell,
    time_json,
)

if TYPE_CHECKING:
    from metalog_spark.findings.unused import ClassifiedAcls
    from metalog_spark.findings.usage.usage_classes import Verdict
    from metalog_spark.report.triage.accepted import Accepted

USAGE: Final = "DIR [--from MOMENT] [--to MOMENT] [--tolerate SHARE] [options]"
FORMATS: Final = ("text", "json", "commands")
PAGED: Final = True
EPILOG: Final = """\
metalog pipeline unused DIR --from -90d              over the last 90 days of the audit logs
metalog pipeline unused DIR -o commands > remove.sh  kafka-acls' commands, to read and to run

An ACL is used if it decided a request, and shadowed if other ACLs decided every request that it
matches. All ACLs that can go can be removed in one step: no decision of the window changes. An ACL
is not called unused if its use is unknown, for instance because it is younger than the window,
allowed lines (logged at DEBUG only) are missing in more hours than --tolerate accepts, the metadata
log has gaps, or only controllers log its operation (CREATE, DELETE, ALTER, …) and their logs are
missing.
The ACLs in --accepted stay although nobody used them, and do not change the exit code.
Exit code: 0 no ACL can go, 1 some ACLs can go, 2 no answer."""
_SHOWN: Final = 20


def configure(parser: ArgumentParser) -> None:
    add_window(parser)
    group = parser.add_argument_group("options")
    add_tolerance(group)
    add_accepted(group)
    group.add_argument("--all", action="store_true", help="print long lists in full")
    add_spark(parser)


def run(arguments: Namespace, output: Output) -> int:
    check_installed(output)
    from metalog_spark.findings.unused import classified_acls

    acceptances = AcceptedFindings(arguments.accepted, "unused")
    with opened_folder(arguments, output) as tables:
        window = chosen_window(arguments, tables, output)
        with output.busy("counting uses"):
            found = classified_acls(tables, window, tolerated=arguments.tolerate)
        options = FindingOptions(tables, window, arguments.tolerate)
    say_missing(options, found.seen, output)
    can_go = (verdict for verdict in found.verdicts if verdict.can_go)
    going, accepted = acceptances.split(can_go, lambda verdict: acl_words(verdict.acl))
    acceptances.warn_of_unmatched_or_ended(output)
    if output.format == "json":
        by_verdict = {id(verdict): entry for verdict, entry in accepted}
        for verdict in found.verdicts:
            output.record(_as_json(verdict, found, options, by_verdict.get(id(verdict))))
    elif output.format == "commands":
        unknown = found.totals.unknown
        is_used = plural(unknown, "is used", "are used")
        doubts = [f"whether {counted(unknown, 'grant')} {is_used}"] if unknown else []
        print_basis(options, found.seen, found.totals.requests, doubts, output)
        print_remedies((found.advice(verdict)[1] for verdict in going), output)
        for verdict, entry in accepted:
            output.line(f"# kept: {sentence(verdict.acl)}: {accepted_text(entry)}")
        for why, verdicts in _unknown(found).items():
            for verdict in filter(lambda each: is_allow(each.acl), verdicts):
                output.line(f"# kept: {sentence(verdict.acl)}: not known: {why}")
    else:
        _print(found, going, accepted, options, output, most=None if arguments.all else _SHOWN)
    return 1 if going else 0


def _print(
    found: ClassifiedAcls,
    going: Sequence[Verdict],
    accepted: Sequence[tuple[Verdict, Accepted]],
    options: FindingOptions,
    output: Output,
    *,
    most: int | None,
) -> None:
    totals = found.totals
    more = f" ({len(accepted):,} more are accepted)" if accepted else ""
    unknown = f"; the use of {totals.unknown:,} more is unknown" if totals.unknown else ""
    output.prose(
        f"{totals.used:,} of {counted(totals.grants, 'grant')}"
        f" {plural(totals.used, 'was', 'were')} used; "
        f"{totals.can_go - len(accepted):,}{more} can go without changing any of "
        f"{counted(totals.requests, 'answer')}{unknown}."
    )
    why = {id(each): [accepted_text(entry)] for each, entry in accepted}
    for title, verdicts in (*_sections(found, going), ("Accepted", [each for each, _ in accepted])):
        if not verdicts:
            continue
        output.line()
        output.line(f"{output.paint(title, 'strong')} ({len(verdicts):,})")
        rows = ([*_cells(each, found), *why.get(id(each), ())] for each in verdicts[:most])
        output.aligned(rows, indent="  ")
        if most is not None and len(verdicts) > most:
            output.line(f"  … and {len(verdicts) - most:,} more (--all)")
        commands = ((each, command) for each in verdicts if (command := _command(each, options)))
        for each, command in islice(commands, 1):
            output.line(f"  Requests of {sentence(each.acl)}: {command}")


def _sections(
    found: ClassifiedAcls, going: Sequence[Verdict]
) -> Iterable[tuple[str, Sequence[Verdict]]]:
    from metalog_spark.findings.usage.usage_classes import ObservedUse, UsageState

    for observed, title in (
        (ObservedUse.NEVER, "No request matched"),
        (ObservedUse.ONLY_DENIED, "A DENY denied every matching request"),
        (ObservedUse.SHADOWED, "Another ACL decided every matching request"),
    ):
        yield title, [each for each in going if each.observed is observed]
    yield (
        "DENYs that denied nothing: a precaution, or a typo",
        [
            each
            for each in found.verdicts
            if not is_allow(each.acl) and each.is_alive and each.state is UsageState.UNUSED
        ],
    )
    for why, verdicts in _unknown(found).items():
        yield f"Not known: {why}", verdicts


def _unknown(found: ClassifiedAcls) -> dict[str, list[Verdict]]:
    from metalog_spark.findings.usage.usage_classes import WHY_UNKNOWN

    alive = [verdict for verdict in found.verdicts if verdict.is_alive]
    return {
        why: [verdict for verdict in alive if verdict.reason is reason]
        for reason, why in WHY_UNKNOWN.items()
    }


def _cells(verdict: Verdict, found: ClassifiedAcls) -> list[Cell | str]:
    begin = verdict.lifetimes[-1].begin
    since = "" if begin is None else f"since {day_text(begin.time_ms * 1000)}"
    last_us = found.last_use(verdict)
    use = "" if last_us is None else f"used until {day_text(last_us)}"
    if verdict.shadow is not None:
        use = f"{counted(verdict.matched, 'request')}, decided by {sentence(verdict.shadow)}"
    severity, _ = found.advice(verdict)
    shown_severity = severity_cell(severity.name) if severity > Severity.INFO else ""
    return [shown_severity, sentence(verdict.acl), Cell(since, "faint"), use]


def _command(verdict: Verdict, options: FindingOptions) -> str | None:
    from metalog_spark.findings.windows.request_rows import command_for, of_acl

    decided = 0 if verdict.uses is None else verdict.uses.requests
    reason = None if verdict.reason is None else verdict.reason.value
    wanted = of_acl(uuid_text(verdict.lifetimes[-1].id), decided, verdict.matched, reason)
    return None if wanted is None else command_for(options.tables, options.window, wanted)


def _as_json(
    verdict: Verdict, found: ClassifiedAcls, options: FindingOptions, entry: Accepted | None
) -> dict[str, Any]:
    life = verdict.lifetimes[-1]
    uses = verdict.uses
    severity, remedy = found.advice(verdict)
    return {
        "id": uuid_text(life.id),
        **acl_fields(verdict.acl),
        "since": None if life.begin is None else time_json(life.begin.time_ms * 1000),
        "alive": verdict.is_alive,
        "seen": verdict.observed.value,
        "state": verdict.state.value,
        "reason": None if verdict.reason is None else verdict.reason.value,
        "requests": 0 if uses is None else uses.requests,
        "firstUse": None if uses is None else time_json(uses.first_us),
        "lastUse": time_json(found.last_use(verdict)),
        "matched": verdict.matched,
        "shadow": None if verdict.shadow is None else acl_fields(verdict.shadow),
        "canGo": verdict.can_go,
        "severity": severity.name,
        "remedy": remedy,
        "accepted": accepted_json(entry),
        "command": _command(verdict, options),
    }
