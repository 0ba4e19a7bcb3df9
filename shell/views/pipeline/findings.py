"""The common part of verbs that show findings: options, the window, and the words of a row.

This module must not know Spark, nor how findings are computed.
"""

from __future__ import annotations

import re
import shlex
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from metalog.acl import ACL_KEYS, Acl
from metalog.errors import InvalidRequest
from metalog.text.plurals import counted
from metalog.text.visible_text import safe, shown
from shell.arguments.pipeline import add_folder
from shell.output.output import Cell, Output
from shell.tasks.acl_words import sentence

if TYPE_CHECKING:
    from argparse import _ArgumentGroup

    from metalog_spark.findings.windows.window import Window, WindowCoverage
    from metalog_spark.store.table_store import Tables

_PERCENT: Final = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,6})?)(%?)")
STYLES: Final = {"ERROR": "bad", "WARNING": "warn", "INFO": "faint"}


class FindingOptions(NamedTuple):
    """``tolerated`` is the share of hours that may lack allowed lines."""

    tables: Tables
    window: Window
    tolerated: float


def add_window(parser: ArgumentParser) -> None:
    add_folder(parser)
    group = parser.add_argument_group("which requests")
    group.add_argument(
        "--from",
        dest="start",
        type=_moment,
        metavar="MOMENT",
        help="requests at MOMENT or later: ISO 8601, @MILLIS, -90d (before the audit logs end), or "
        "an offset (default: where the audit logs begin)",
    )
    group.add_argument(
        "--to",
        dest="end",
        type=_moment,
        metavar="MOMENT",
        help="requests before MOMENT (default: where the audit logs end)",
    )


def _moment(text: str) -> str:
    """Checks the text before Spark starts, because the start takes long."""
    from metalog_sources.moment import parse_moment

    parse_moment(text)
    return text


def add_tolerance(group: _ArgumentGroup) -> None:
    group.add_argument(
        "--tolerate",
        type=share_of("--tolerate"),
        default=0.0,
        metavar="SHARE",
        help="accept this share of broker hours without allowed lines, such as 0.5%% "
        "(default: none)",
    )


def share_of(option: str) -> Callable[[str], float]:
    """A parser for a share: ``0.5%`` or ``0.005``, but not ``1``, because ``1`` can mean 1%."""

    def share(text: str) -> float:
        match = _PERCENT.fullmatch(text)
        fraction = float(match[1]) / (100 if match[2] else 1) if match else 2.0
        if fraction > 1 or (fraction == 1 and not (match and match[2])):
            reason = "can mean 1%" if fraction == 1 else "not a share up to 100%"
            raise InvalidRequest(f"{option} {text}: {reason}; write a share such as 0.5% or 0.005")
        return fraction

    return share


def chosen_window(arguments: Namespace, tables: Tables, output: Output) -> Window:
    from metalog_spark.findings.windows.pending import uncounted_in, waiting_in
    from metalog_spark.findings.windows.window import window_of

    with output.busy("looking for the window"):
        window = window_of(tables, arguments.start, arguments.end, say=output.note)
    output.note(f"requests of {window}")
    if waiting := waiting_in(tables):
        output.warn(waiting.uses_text())
    if uncounted := uncounted_in(tables):
        output.warn(uncounted.uses_text())
    return window


def section_command(
    tables: Tables, window: Window, tolerated: float, desired: Tables | None = None
) -> str:
    """The command that prints a table of the report. The caller appends the table's name."""
    from metalog_sources.moment import time_text

    start, end = (time_text(us // 1000) for us in window)
    words = ["metalog", "pipeline", "report", str(tables.path), "--from", start, "--to", end]
    if tolerated:
        words += ["--tolerate", _percent(tolerated)]
    if desired is not None:
        words += ["--compare", str(desired.path)]
    return shlex.join([*words, "-o", "csv", "--section"])


def say_missing(options: FindingOptions, seen: WindowCoverage, output: Output) -> None:
    for line in _missing(options, seen):
        output.warn(line)


def _missing(options: FindingOptions, seen: WindowCoverage) -> Iterator[str]:
    from metalog_spark.findings.windows.request_rows import unseen_command
    from metalog_spark.findings.windows.tolerance import tolerance

    tolerated = options.tolerated
    if seen.broken:
        yield f"{seen.broken_text()}; {unseen_command(options.tables)} says where"
    yield from seen.clocks
    if seen.ambiguous:
        yield f"{seen.ambiguous_text()}: a grant with such a use is not called unused"
    if seen.later is not None:
        yield seen.later.text()
    if seen.share_without_controller > tolerated:
        yield seen.kept_text()
    if not seen.without_allowed:
        return
    if seen.share_without_allowed > tolerated:
        least = tolerance(seen.share_without_allowed)
        advice = f"so no ALLOW is called unused; --tolerate {least} accepts such hours"
    else:
        advice = "which --tolerate accepts"
    yield f"{seen.text()}, {advice}"


def print_basis(
    options: FindingOptions,
    seen: WindowCoverage,
    requests: int,
    unknown: Iterable[str],
    output: Output,
) -> None:
    """Print the commands' basis as comments, because commands are often mailed without other
    output."""
    tables, window, tolerated = options
    answers = counted(requests, "answer")
    output.line(f"# Basis: {answers} of {window}, in the tables of {shown(str(tables.path))}.")
    if tolerated:
        hours = f"{_percent(tolerated)} of the brokers' hours"
        output.line(f"# Tolerated: {hours} may be without allowed lines.")
    doubts = (doubt for doubt in (seen.waiting, seen.uncounted) if doubt is not None)
    for remark in (*_missing(options, seen), *(doubt.uses_text() for doubt in doubts), *unknown):
        output.line(f"# Not known: {safe(remark)}.")


def _percent(share: float) -> str:
    return f"{100 * share:.6g}%"


def acl_json(acl: Mapping[str, Any] | None) -> dict[str, Any] | None:
    from metalog_spark.findings.usage.acl_lifetimes import ACL_COLUMNS

    if acl is None:
        return None
    return dict(zip(ACL_KEYS, (acl[name] for name in ACL_COLUMNS), strict=True))


def acl_text(acl: Mapping[str, Any]) -> str:
    return sentence(acl_in(acl))


def acl_in(row: Mapping[str, Any]) -> Acl:
    from metalog_spark.findings.usage.acl_lifetimes import ACL_COLUMNS, acl_of

    return acl_of(row[name] for name in ACL_COLUMNS)


def severity_cell(word: str) -> Cell:
    return Cell(word.lower(), STYLES[word])


def day_text(us: int | None) -> str:
    """The day of a time in microseconds since 1970."""
    from metalog_sources.moment import time_text

    return "never" if us is None else time_text(us // 1000)[:10]


def time_json(us: int | None) -> str | None:
    from metalog_sources.moment import time_text

    return None if us is None else time_text(us // 1000)


def print_remedies(remedies: Iterable[str | None], output: Output) -> None:
    """Print each command once; a change without a command becomes a comment."""
    for line in dict.fromkeys(line for remedy in remedies for line in (remedy or "").splitlines()):
        output.line(line if line.startswith(("kafka-acls ", "# ")) else f"# {line}")
