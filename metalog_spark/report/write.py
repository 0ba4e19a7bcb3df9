"""Writes the report of a pipeline's folder: one file, and beside it one for each team."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from metalog_spark.report.data import contents, section_of
from metalog_spark.report.gather import Most, Parts, gathered
from metalog_spark.report.owners import file_names
from metalog_spark.report.page import page

if TYPE_CHECKING:
    from metalog_spark.findings.window import Window
    from metalog_spark.folder import Tables
    from metalog_spark.report.contents import Section
    from metalog_spark.report.owners import Team


class Written(NamedTuple):
    """``team`` is None for the page of the whole cluster."""

    path: Path
    team: str | None
    sentence: str
    size: int


def write_report(
    tables: Tables,
    window: Window,
    out: Path,
    *,
    visible: Callable[[str], str],
    made_by: str,
    whole: str,
    name: str | None = None,
    teams: Sequence[Team] = (),
    tolerated: float = 0.0,
    meant: Tables | None = None,
    doing: Callable[[str], None] = lambda _: None,
) -> list[Written]:
    """The file ``out`` and those of ``teams``, in this order.

    ``visible`` makes of a name one that hides no letter; ``whole`` is a command as in
    ``Contents``; ``name`` is the cluster's; ``tolerated`` and ``meant`` are those of
    ``gathered``, and ``doing`` is told what goes on.
    """
    found = gathered(
        tables, window, teams, name=name, tolerated=tolerated, meant=meant, doing=doing
    )
    names = file_names(out.stem, teams)
    written = []
    for team in (None, *teams):
        path = out if team is None else out.with_name(names[team.name])
        doing(f"writing {path.name}")
        links = tuple(names.items()) if team is None else ()
        told = contents(found, team, teams=links, made_by=made_by, whole=whole)
        made = page(told, visible)
        path.write_bytes(made)
        said = f"{told.sentence} {told.caveat}".rstrip()
        written.append(Written(path, told.team, said, len(made)))
    return written


def whole_section(
    tables: Tables,
    window: Window,
    section: str,
    *,
    tolerated: float = 0.0,
    meant: Tables | None = None,
) -> Section:
    """The section of this id of the whole cluster's page, with all rows that there are."""
    most = Most.all_of(section)
    parts = Parts(tables, window, tolerated=tolerated, meant=meant, most=most)
    return section_of(parts, section, None)
