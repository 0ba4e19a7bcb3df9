"""Writes the report of a pipeline's folder: a page of the cluster, a page of each team, and the
findings as JSON. The next report compares its findings with this JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from metalog_spark.report.data import contents, section_of
from metalog_spark.report.gather import Parts, RowLimits, gathered
from metalog_spark.report.page import page
from metalog_spark.report.triage.accepted import marked, with_accepted
from metalog_spark.report.triage.changes import as_json, changes, findings_of
from metalog_spark.report.triage.owners import file_names

if TYPE_CHECKING:
    from metalog_spark.findings.windows.window import Window
    from metalog_spark.report.contents import Section
    from metalog_spark.report.triage.accepted import Accepted
    from metalog_spark.report.triage.changes import Findings
    from metalog_spark.report.triage.owners import Team
    from metalog_spark.store.table_store import Tables


class Baseline(NamedTuple):
    """What a report is compared with: accepted findings, and the findings of an earlier report
    (``before``). Acceptances whose last day is before ``today`` have ended."""

    accepted: Sequence[Accepted]
    today: date
    before: Findings | None = None


NO_BASELINE: Final = Baseline((), date.min)


class ReportFile(NamedTuple):
    """A written page. Only the page of the whole cluster (``team`` is None) has ``caveats``, and
    ``idle``: the accepted findings that match no row."""

    path: Path
    team: str | None
    sentence: str
    size: int
    idle: Sequence[Accepted] = ()
    caveats: Sequence[str] = ()


def findings_file(out: Path) -> Path:
    """The JSON file with the findings of the page ``out``."""
    return out.with_suffix(".json")


def write_report(
    tables: Tables,
    window: Window,
    out: Path,
    *,
    visible: Callable[[str], str],
    made_by: str,
    section_command: str,
    name: str | None = None,
    teams: Sequence[Team] = (),
    tolerated: float = 0.0,
    desired: Tables | None = None,
    baseline: Baseline = NO_BASELINE,
    doing: Callable[[str], None] = lambda _: None,
) -> list[ReportFile]:
    """Write the page ``out``, the pages of ``teams``, and the findings.

    ``visible`` makes invisible characters of a name visible. ``name`` is the cluster's name.
    ``section_command`` is as in ``ReportContents``, ``desired`` as in ``Parts``. ``doing`` is
    called with the name of each step.
    """
    input_ = gathered(
        tables, window, teams, name=name, tolerated=tolerated, desired=desired, doing=doing
    )
    names = file_names(out.stem, teams)
    written = []
    elsewhere: Sequence[Accepted] = ()
    for team in (None, *teams):
        path = out if team is None else out.with_name(names[team.name])
        doing(f"writing {path.name}")
        links = tuple(names.items()) if team is None else ()
        page_contents = contents(
            input_, team, teams=links, made_by=made_by, section_command=section_command
        )
        if team is None:
            now = findings_of(str(window), page_contents.sections)
        page_contents, idle = with_accepted(
            page_contents, baseline.accepted, baseline.today, elsewhere
        )
        if team is None:
            elsewhere = [entry for entry in baseline.accepted if entry not in idle]
        if team is None and baseline.before is not None:
            page_contents = page_contents._replace(
                sections=(changes(baseline.before, now), *page_contents.sections)
            )
        made = page(page_contents, visible)
        path.write_bytes(made)
        report_file = ReportFile(path, page_contents.team, page_contents.sentence, len(made))
        if team is None:
            report_file = report_file._replace(idle=idle, caveats=page_contents.caveats)
        written.append(report_file)
    _write_atomically(findings_file(out), as_json(now))
    return written


def _write_atomically(path: Path, text: str) -> None:
    part = path.with_name(f".{path.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def whole_section(
    tables: Tables,
    window: Window,
    section: str,
    *,
    tolerated: float = 0.0,
    desired: Tables | None = None,
    baseline: Baseline = NO_BASELINE,
) -> tuple[Section, Sequence[Accepted]]:
    """One section of the whole cluster's page with all its rows, and the accepted findings that
    match no row."""
    limits = RowLimits.all_of(section)
    parts = Parts(tables, window, tolerated=tolerated, desired=desired, limits=limits)
    marked_section = marked(section_of(parts, section, None), baseline.accepted, baseline.today)
    return marked_section.section, marked_section.idle
