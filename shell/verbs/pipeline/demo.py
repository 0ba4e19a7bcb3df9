"""``metalog pipeline demo``: generates a year of a small company, and runs the whole pipeline.

This module must not know the events of that year.
"""

from __future__ import annotations

import os
import shlex
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final

from metalog.errors import InvalidTarget
from metalog.text.plurals import counted
from metalog.text.visible_text import safe, shown
from metalog_sources.names import folder_to_write
from shell.arguments.pipeline import add_spark, check_installed, spark_session
from shell.options import at_least
from shell.output.output import Output
from shell.version import VERSION
from shell.views.pipeline.findings import section_command

if TYPE_CHECKING:
    from metalog_spark.demo.make import Made
    from metalog_spark.store.table_store import Tables

USAGE: Final = "[--out DIR] [--requests N] [--days N] [options]"
FORMATS: Final = ("text",)
PAGED: Final = False
EPILOG: Final = """\
metalog pipeline demo                                five million requests: some minutes, 1 GB
metalog pipeline demo --requests 200000 --days 30    a quick look

The year has 16 teams with approximately a hundred services on three brokers, 2,000 changes of
ACLs, and the brokers' audit logs, with planned gaps, and forged and broken lines. Kafka can replay
the metadata log; metalog's authorizer decided the requests. The same seed makes the same year."""
_DEFAULT: Final = "metalog-demo"
_SINCE: Final = "2025-04-01"
_TOLERATED: Final = 0.01
"""In the findings' window, DEBUG was off for a few hours."""


def configure(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("output")
    group.add_argument(
        "--out",
        default=_DEFAULT,
        metavar="DIR",
        help=f"a folder that is new or empty (default: {_DEFAULT})",
    )
    group.add_argument(
        "--requests",
        type=at_least(1, "--requests"),
        default=5_000_000,
        metavar="N",
        help="number of requests (default: 5,000,000)",
    )
    group.add_argument(
        "--days",
        type=at_least(1, "--days"),
        metavar="N",
        help=f"audit logs for N days, beginning on {_SINCE} (default: the whole year)",
    )
    group.add_argument(
        "--seed", type=int, default=7, metavar="N", help="seed of the random generator (default: 7)"
    )
    add_spark(parser)


def run(arguments: Namespace, output: Output) -> int:
    check_installed(output)
    from metalog_spark.demo.calendar import YEAR, days_from
    from metalog_spark.demo.make import check_requests

    out = folder_to_write(arguments.out)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InvalidTarget(f"{out}: already exists; name a new or empty folder")
    check_requests(arguments.requests)
    days = YEAR if arguments.days is None else days_from(_SINCE, arguments.days)
    with spark_session(arguments, output) as session:
        from metalog_spark.store.table_store import Tables, checked_folder

        checked_folder(out)
        out.mkdir(parents=True, exist_ok=True)
        made = _made(out, arguments, days, output)
        tables = Tables.make(session, out / "tables")
        _build(tables, made, output)
        report = _report(tables, made, out, output)
    _say(out, report, output)
    return 0


class _Step:
    def __init__(self, done: str) -> None:
        self.done = done


@contextmanager
def _step(doing: str, output: Output) -> Iterator[tuple[Callable[[str], None], _Step]]:
    """At its end, the block prints the step's ``done`` and the elapsed time."""
    step, since = _Step(doing), monotonic()
    with output.busy(doing) as progress:

        def show(words: str) -> None:
            progress.doing = words

        yield show, step
    output.note(f"{step.done} ({monotonic() - since:.0f} s)")


def _made(out: Path, arguments: Namespace, days: range, output: Output) -> Made:
    from metalog_spark.demo.make import make

    with _step("making up a year", output) as (show, step):

        def report(doing: str, done: int, whole: int) -> None:
            show(f"{doing}: {done:,} of {whole:,}")

        made = make(out, requests=arguments.requests, seed=arguments.seed, days=days, report=report)
        tally = made.tally
        lost = f", of which {tally.unlogged:,} were not logged" if tally.unlogged else ""
        step.done = (
            f"made up a year: 2,000 changes of ACLs, and {counted(tally.requests, 'request')}"
            f" of {counted(len(days), 'day')}{lost}"
        )
    return made


def _build(tables: Tables, made: Made, output: Output) -> None:
    from authorizer.audit.layouts import Zone
    from metalog_spark.build import BuildInputs, build
    from metalog_spark.history.archive import Logs
    from metalog_spark.history.configuration import read_configuration

    first, *later = made.configs.items()
    texts = [str(first[1]), *(f"{moment}={path}" for moment, path in later)]
    configuration, _ = read_configuration(texts)
    log = Logs(str(made.log), environ=os.environ)
    inputs = BuildInputs(log, configuration, Zone("UTC"), audit=[str(made.audit)])
    with _step("building the tables", output) as (show, step):
        logs = build(tables, inputs, on_step=show).logs
        files = sum(each.files for each in logs)
        read = sum(each.requests for each in logs)
        rejected = sum(each.rejected for each in logs)
        step.done = f"decided {counted(read, 'request')} from {counted(files, 'file')}"
        step.done += f"; {counted(rejected, 'line')} rejected" if rejected else ""


def _report(tables: Tables, made: Made, out: Path, output: Output) -> Path:
    from metalog_spark.demo.company import COMPANY
    from metalog_spark.findings.windows.window import window_of
    from metalog_spark.report.triage.owners import read_owners
    from metalog_spark.report.write import write_report

    report = out / "report.html"
    teams = read_owners(made.owners.read_text(encoding="utf-8"), str(made.owners))
    with _step("working out the findings", output) as (show, step):
        window = window_of(tables, _SINCE)
        main, *of_teams = write_report(
            tables,
            window,
            report,
            visible=shown,
            made_by=f"Made up by metalog {VERSION}: none of this ever happened.",
            section_command=section_command(tables, window, _TOLERATED),
            name=COMPANY,
            teams=teams,
            tolerated=_TOLERATED,
            doing=show,
        )
        step.done = f"wrote {report.name} and a page for each of {counted(len(of_teams), 'team')}"
    output.line(safe(main.sentence))
    return report


def _say(out: Path, report: Path, output: Output) -> None:
    place = shlex.quote(str(out))
    window = f"{place}/tables --from {_SINCE} --tolerate {_TOLERATED:.0%}"
    output.line(f"The report is {shown(str(report))}. Open it, and try next:")
    output.line()
    output.line(f"  metalog pipeline unused {window}")
    output.line(f"  metalog pipeline least-privilege {window}")
    output.line(
        f"  metalog explain {place}/log User:shipping-tracker READ topic:orders.placed.v1"
        " --at 2025-04-15T10:00"
    )
