"""``metalog pipeline report DIR``: all that the tables say, as a page for a browser.

This module must not know what a page shows.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from metalog.errors import InvalidRequest
from shell.findings import add_tolerance, add_window, window_asked
from shell.output import Output
from shell.safe import safe, shown
from shell.spark import add_spark, opened_folder
from shell.version import VERSION

if TYPE_CHECKING:
    from metalog_spark.report.owners import Team

USAGE: Final = "DIR [--out FILE] [--owners FILE] [--from MOMENT] [--to MOMENT] [options]"
FORMATS: Final = ("text", "json")
PAGED: Final = False
EPILOG: Final = """\
metalog pipeline report DIR                                writes report.html
metalog pipeline report DIR --owners owners.yaml           and report-TEAM.html for each team
metalog pipeline report DIR --meant STAGING                with what differs from another cluster

A page is one file of at most 5 MB. It loads nothing and needs no network, so it can be sent
and kept. owners.yaml says what each team answers for, in the words of owns in a file of ACLs:

  payments:
    - principal: [User:billing, User:ledger]
    - {resourceType: [TOPIC, GROUP], resourceName: payments-, patternType: PREFIXED}

Exit code: 0 it is written, 2 it is not."""


def configure(parser: ArgumentParser) -> None:
    add_window(parser)
    group = parser.add_argument_group("what is written")
    group.add_argument(
        "--out", default="report.html", metavar="FILE", help="the page (default: report.html)"
    )
    group.add_argument(
        "--name", metavar="NAME", help="what the cluster is called (default: from the log's place)"
    )
    group.add_argument("--owners", metavar="FILE", help="YAML: teams, each with a page of its own")
    group.add_argument(
        "--meant", metavar="DIR2", help="show what differs from another cluster's, meant to be so"
    )
    add_tolerance(group)
    add_spark(parser)


def run(arguments: Namespace, output: Output) -> int:
    from metalog_spark.folder import Tables
    from metalog_spark.report.write import write_report

    teams = [] if arguments.owners is None else _teams(Path(arguments.owners))
    out = Path(arguments.out)
    if out.suffix not in (".html", ".htm"):
        raise InvalidRequest(f"--out {arguments.out}: a page; name it {out.stem or 'report'}.html")
    if not out.parent.is_dir():
        raise InvalidRequest(f"--out {arguments.out}: there is no folder {out.parent}")
    with opened_folder(arguments, output) as tables:
        window = window_asked(arguments, tables, output)
        meant = None if arguments.meant is None else Tables.open(tables.session, arguments.meant)
        with output.busy("reading the tables") as busy:
            written = write_report(
                tables,
                window,
                out,
                visible=shown,
                made_by=f"Made by metalog {VERSION} on {datetime.now(UTC):%d %B %Y}.",
                name=arguments.name,
                teams=teams,
                tolerated=arguments.tolerate,
                meant=meant,
                doing=lambda what: setattr(busy, "doing", what),
            )
    for each in written:
        if output.is_text:
            size = f"{each.size / 1e6:.1f} MB"
            output.line(f"{safe(str(each.path))} ({size}): {each.sentence}")
        else:
            output.record({"file": str(each.path), "team": each.team, "bytes": each.size})
    return 0


def _teams(path: Path) -> tuple[Team, ...]:
    from metalog_spark.report.owners import read_owners

    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"{path}: no UTF-8 at byte {error.start}") from None
    return read_owners(text, str(path))
