"""``metalog pipeline report DIR``: all findings of the tables, as a page for a browser.

This module must not know what a page shows.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from metalog.errors import InvalidRequest
from metalog.text.visible_text import safe, shown
from shell.arguments.pipeline import add_spark, check_folder, check_installed, opened_folder
from shell.output.output import Cell, Output
from shell.version import VERSION
from shell.views.pipeline.findings import (
    STYLES,
    add_tolerance,
    add_window,
    chosen_window,
    section_command,
)

if TYPE_CHECKING:
    from metalog_spark.report.contents import Cell as ReportCell
    from metalog_spark.report.contents import Section
    from metalog_spark.report.triage.accepted import Accepted
    from metalog_spark.report.write import Baseline
    from metalog_spark.store.table_store import Tables

USAGE: Final = "DIR [--out FILE] [--owners FILE] [--from MOMENT] [--to MOMENT] [options]"
FORMATS: Final = ("text", "json", "csv")
PAGED: Final = True
EPILOG: Final = """\
metalog pipeline report DIR                                writes report.html
metalog pipeline report DIR --owners owners.yaml           and report-TEAM.html for each team
metalog pipeline report DIR --compare STAGING            with differences from another cluster
metalog pipeline report DIR --accepted accepted.yaml       with findings that somebody accepted
metalog pipeline report DIR --section exposure -o csv      prints one table with all rows

A page is one file of at most 5 MB that loads nothing, so it can be mailed and archived.
owners.yaml names each team's principals and resources, in the syntax of owns in a file of ACLs:

  payments:
    - principal: [User:billing, User:ledger]
    - {resourceType: [TOPIC, GROUP], resourceName: payments-, patternType: PREFIXED}

accepted.yaml, kept in git, lists accepted findings, each with a last day:

  - {section: exposure, principal: User:ops, kind: all-topics, reason: on call, until: 2026-12-31}

Exit code: 0 written (or printed, with --section), 2 not written."""
_DEFAULT: Final = "report.html"


def configure(parser: ArgumentParser) -> None:
    from metalog_spark.report.contents import SECTIONS

    add_window(parser)
    group = parser.add_argument_group("output")
    group.add_argument("--out", metavar="FILE", help=f"the page (default: {_DEFAULT})")
    group.add_argument(
        "--name", metavar="NAME", help="the cluster's name (default: from the path of the log)"
    )
    group.add_argument("--owners", metavar="FILE", help="YAML: teams; each gets a page")
    group.add_argument(
        "--accepted",
        metavar="FILE",
        help="YAML: findings that are accepted, each with a reason and a last day",
    )
    group.add_argument(
        "--since",
        metavar="FILE",
        help="list the changes since an earlier report; FILE is the JSON file beside its page "
        "(default: the file beside the page that --out replaces)",
    )
    group.add_argument(
        "--compare", metavar="DIR2", help="show the differences from the folder of another cluster"
    )
    group.add_argument(
        "--section",
        choices=SECTIONS,
        metavar="TABLE",
        help=f"print one table with all rows instead of a page: {', '.join(SECTIONS)}",
    )
    add_tolerance(group)
    add_spark(parser)


def run(arguments: Namespace, output: Output) -> int:
    check_installed(output)
    if arguments.compare is not None:
        check_folder(arguments, arguments.compare)
    if arguments.section is None:
        _write(arguments, output)
    else:
        _print(arguments, output)
    return 0


def _write(arguments: Namespace, output: Output) -> None:
    out = Path(arguments.out or _DEFAULT)
    if out.suffix not in (".html", ".htm"):
        raise InvalidRequest(f"--out {arguments.out}: not HTML; name it {out.stem or 'page'}.html")
    if not out.parent.is_dir():
        raise InvalidRequest(f"--out {arguments.out}: there is no folder {out.parent}")
    from metalog_spark.report.triage.owners import read_owners
    from metalog_spark.report.write import findings_file, write_report

    owners = arguments.owners
    teams = () if owners is None else read_owners(_text(Path(owners)), owners)
    baseline = _baseline(arguments, findings_file(out))
    with opened_folder(arguments, output) as tables:
        window = chosen_window(arguments, tables, output)
        desired = _other_cluster(arguments, tables)
        with output.busy("reading the tables") as busy:
            written = write_report(
                tables,
                window,
                out,
                visible=shown,
                made_by=f"Made by metalog {VERSION} on {datetime.now(UTC):%d %B %Y}.",
                section_command=section_command(tables, window, arguments.tolerate, desired),
                name=arguments.name,
                teams=teams,
                tolerated=arguments.tolerate,
                desired=desired,
                baseline=baseline,
                doing=lambda what: setattr(busy, "doing", what),
            )
    _warn_of_idle(written[0].idle, output)
    for caveat in written[0].caveats:
        output.warn(caveat)
    if not output.is_text:
        rows = ((str(each.path), each.team, each.size) for each in written)
        output.records(("file", "team", "bytes"), rows)
        return
    for each in written:
        output.line(f"{safe(str(each.path))} ({each.size / 1e6:.1f} MB): {each.sentence}")


def _print(arguments: Namespace, output: Output) -> None:
    from metalog_spark.report.triage.accepted import check_is_section_of_findings
    from metalog_spark.report.write import whole_section

    options = {"--out": arguments.out, "--owners": arguments.owners, "--since": arguments.since}
    for option, value in options.items():
        if value is not None:
            raise InvalidRequest(f"--section prints a table and writes no page: leave out {option}")
    if arguments.accepted is not None:
        check_is_section_of_findings(arguments.section)
    baseline = _baseline(arguments, None)
    with opened_folder(arguments, output) as tables:
        window = chosen_window(arguments, tables, output)
        with output.busy("reading the tables"):
            section, idle = whole_section(
                tables,
                window,
                arguments.section,
                tolerated=arguments.tolerate,
                desired=_other_cluster(arguments, tables),
                baseline=baseline,
            )
    _warn_of_idle(idle, output)
    if not section.columns:
        raise InvalidRequest(section.says)
    if output.is_text:
        _print_text(section, output)
    else:
        keys = [_key(column.title) for column in section.columns]
        rows = ([_plain(cell) for cell in row] for row in section.rows)
        output.records(keys, rows)


def _print_text(section: Section, output: Output) -> None:
    from metalog_spark.report.contents import ColumnKind

    output.prose(section.says)
    output.line()
    kinds = [column.kind for column in section.columns]
    rows: list[list[Cell | str]] = [[Cell(each.title, "faint") for each in section.columns]]
    for row in section.rows:
        texts = ["" if cell in (None, "") else shown(str(_plain(cell))) for cell in row]
        rows.append(
            [
                Cell(text.lower(), STYLES.get(text)) if kind is ColumnKind.SEVERITY else text
                for kind, text in zip(kinds, texts, strict=True)
            ]
        )
    output.aligned(rows)


def _key(title: str) -> str:
    first, *others = title.split()
    return first.lower() + "".join(map(str.capitalize, others))


def _plain(cell: ReportCell) -> str | int | None:
    from metalog_spark.report.text.words import stamp

    if isinstance(cell, tuple):
        return "; ".join(cell)
    return stamp(cell) if isinstance(cell, datetime) else cell


def _other_cluster(arguments: Namespace, tables: Tables) -> Tables | None:
    from metalog_spark.store.table_store import Tables

    return None if arguments.compare is None else Tables.open(tables.session, arguments.compare)


def _baseline(arguments: Namespace, default: Path | None) -> Baseline:
    """The accepted findings, and an earlier report's findings from ``--since`` or ``default``."""
    from metalog_spark.report.triage.accepted import read_accepted
    from metalog_spark.report.triage.changes import read_findings
    from metalog_spark.report.write import Baseline

    accepted: Sequence[Accepted] = ()
    if arguments.accepted is not None:
        accepted = read_accepted(_text(Path(arguments.accepted)), arguments.accepted)
    before = None
    if default is not None and default.exists():
        before = read_findings(_text(default), str(default))
    if arguments.since is not None:
        before = read_findings(_text(Path(arguments.since)), arguments.since)
    return Baseline(accepted, datetime.now(UTC).date(), before)


def _warn_of_idle(idle: Sequence[Accepted], output: Output) -> None:
    from metalog_spark.report.triage.accepted import idle_text

    for entry in idle:
        output.warn(idle_text(entry))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"{path}: not UTF-8 at byte {error.start}") from None
