"""The summary that ``metalog pipeline build`` and ``follow`` print at the end.

This module must not know Spark, nor how anything is counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from metalog.text.plurals import counted, plural
from metalog.text.visible_text import safe
from shell.output.output import Cell, Output

if TYPE_CHECKING:
    from metalog_spark.findings.windows.window import WindowCoverage
    from metalog_spark.ingest.file_facts import FilesRead
    from metalog_spark.summary import Summary, TableTotals

_AN_HOUR: Final = timedelta(hours=1)
_WIDTH: Final = 13
_WHY_NOT: Final = " (in a gap of the log, or before the log; see pipeline report --section unseen)"
_CAUSES: Final = (
    "; a few differences around a change of ACLs are usual, many come from super users that no"
    " --config names, or from a wrong --zone"
)


def show_built(found: Summary, output: Output) -> None:
    if not output.is_text:
        output.record(
            {
                "allowed": found.allowed,
                "denied": found.denied,
                "brokers": found.brokers,
                "from": None if found.first is None else _hour(found.first),
                "to": None if found.last is None else _hour(found.last + _AN_HOUR),
                "hours": {
                    "both": found.seen.hours - found.seen.without_allowed,
                    "denialsOnly": found.seen.without_allowed - found.seen.without_any,
                    "nothing": found.seen.without_any,
                    "controller": found.seen.clock_hours - found.seen.without_controller,
                },
                "rejected": {"notAudit": found.not_audit, "broken": found.broken},
                "halves": found.halves,
                "upgraded": found.upgraded,
                "questions": found.usage_rows,
                "disagree": found.disagree,
                "notKnown": found.not_known,
                "later": 0 if found.later is None else found.later.requests,
                "acls": found.lifetimes,
                "aclsInForce": found.in_force,
                "gaps": found.gaps,
                "damages": found.damages,
            }
        )
        return
    requests = found.allowed + found.denied
    rows = [
        ("requests", requests, f"{found.allowed:,} allowed, {found.denied:,} denied{_when(found)}"),
        (
            "rejected",
            found.not_audit + found.broken,
            f"{counted(found.not_audit, 'that is not an audit line', 'that are not audit lines')}, "
            f"{found.broken:,} broken",
        ),
        ("coverage", found.seen.hours, _coverage_text(found.seen)),
        (
            "acl_changelog",
            found.lifetimes,
            f"{found.in_force:,} in force at the end; {counted(found.gaps, 'gap')} in the log",
        ),
        (
            "decisions",
            requests,
            f"{found.disagree:,} that the broker decided differently, {found.not_known:,} not known"
            f"{_WHY_NOT if found.not_known else ''}{_CAUSES if found.disagree else ''}",
        ),
        ("usage", found.usage_rows, "a row for each day, question and answer"),
    ]
    output.aligned(
        (Cell(name, "name"), f"{rows:>{_WIDTH},}", safe(text)) for name, rows, text in rows
    )
    if found.later is not None:
        output.note(found.later.text())
    for text in (*found.clocks, *_forms_text(found)):
        output.note(text)


def _forms_text(found: Summary) -> Iterator[str]:
    if found.upgraded:
        names = ", ".join(map(safe, found.upgraded))
        yield (
            f"earlier lines of {names} have no rule, and later lines have one: Kafka was upgraded;"
            " each line is read in the form of the Kafka that wrote the line"
        )
    if found.halves:
        yield (
            f"{counted(found.halves, 'line lacks', 'lines lack')} a part that earlier lines of the"
            f" broker have: {plural(found.halves, 'a half line', 'half lines')}; if Kafka"
            " was rolled back, use --broker-from to give the newer logs another broker name"
        )


def say_unchanged(files_read: FilesRead, output: Output) -> None:
    """Note that a build read no new file, and how many earlier days it decided again."""
    days = files_read.days_again
    if files_read.nothing_new:
        output.note("no new file: every audit file was read before and is unchanged")
    if files_read.nothing_new or days:
        were = plural(days, "was", "were")
        output.note(f"{counted(days, 'day')} of earlier builds {were} decided again")


def followed_text(before: TableTotals, now: TableTotals) -> str:
    decided, _, rejected, alerts = (late - early for late, early in zip(now, before, strict=True))
    return (
        f"in this run {counted(decided, 'request')} decided, {counted(rejected, 'line')} rejected,"
        f" {counted(alerts, 'alert')}; {counted(now.waiting, 'request')} waiting now"
    )


def _coverage_text(seen: WindowCoverage) -> str:
    from metalog_spark.findings.windows.window import broker_text

    worst = f" (most missing: {broker_text(seen.worst)}, {counted(seen.worst_hours, 'hour')})"
    return (
        f"broker-hours: allowed requests logged in {seen.hours - seen.without_allowed:,}, denials"
        f" alone in {seen.without_allowed - seen.without_any:,}, nothing in {seen.without_any:,}"
        f"{worst if seen.without_allowed else ''}; controllers logged allowed requests in"
        f" {seen.clock_hours - seen.without_controller:,} of {counted(seen.clock_hours, 'hour')}"
    )


def _when(found: Summary) -> str:
    if found.first is None or found.last is None:
        return ""
    brokers = f"{plural(len(found.brokers), 'broker')} {', '.join(found.brokers)}"
    return f"; {_hour(found.first)} to {_hour(found.last + _AN_HOUR)}; {brokers}"


def _hour(time: datetime) -> str:
    return f"{time:%Y-%m-%dT%H:%MZ}"
