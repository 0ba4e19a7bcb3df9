"""Cuts a report to the size of a page, and says what was left out.

This module must not know how the page is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import accumulate, compress
from typing import NamedTuple

from metalog.text.plurals import counted
from metalog_spark.report.contents import CHANGES, Access, Section, TimeBars


class PageLimits(NamedTuple):
    """The most rows of a table, cells of the access matrix, brokers with a coverage strip,
    characters of a name, and lines of a text to copy."""

    rows: int
    cells: int
    brokers: int
    name: int
    lines: int


class Cut:
    """``visible`` makes invisible characters of a name visible."""

    def __init__(self, limits: PageLimits, visible: Callable[[str], str]) -> None:
        self._limits = limits
        self._visible = visible
        self._left_out: list[str] = []
        self._cut_names: set[str] = set()
        self._cut_lists = 0

    def name(self, text: str) -> str:
        shown = self._visible(text)
        if len(shown) <= self._limits.name:
            return shown
        self._cut_names.add(text)
        return f"{shown[: self._limits.name]}…"

    def lines(self, lines: tuple[str, ...]) -> tuple[str, ...]:
        """The first whole lines, and a shell comment that counts the other lines."""
        room = self._limits.lines * self._limits.name
        sizes = accumulate(map(len, lines[: self._limits.lines]))
        fit = sum(size <= room for size in sizes)
        if fit == len(lines):
            return lines
        self._cut_lists += 1
        return (*lines[:fit], f"# and {len(lines) - fit:,} more")

    def section(self, section: Section) -> Section:
        rows = section.rows[: self._limits.rows]
        if len(rows) < section.found:
            self._left_out.append(f"{section.title}, {len(rows):,} of {section.found:,}")
        return _without_empty_columns(section._replace(rows=rows))

    def window(self, window: TimeBars) -> TimeBars:
        """Keep the brokers with the least coverage, and the metadata log (the last strip)."""
        most, strips = self._limits.brokers, window.strips
        brokers = len(strips) - 1
        if brokers <= most:
            return window
        least = sorted(range(brokers), key=lambda place: strips[place].hours[0])[:most]
        self._left_out.append(
            f"Coverage, the {most:,} of {counted(brokers, 'broker')} with the least coverage (the"
            " pipeline's table coverage has all brokers)"
        )
        kept = [strips[place] for place in (*sorted(least), brokers)]
        return window._replace(strips=tuple(kept))

    def access(self, access: Access) -> Access:
        """Keep the first cells, and their principals and patterns."""
        cells = access.cells[: self._limits.cells]
        if len(cells) == len(access.cells):
            return access
        self._left_out.append(f"Access, {len(cells):,} of {counted(len(access.cells), 'cell')}")
        principals = sorted({cell.principal for cell in cells})
        patterns = sorted({cell.pattern for cell in cells})
        row = {old: new for new, old in enumerate(principals)}
        column = {old: new for new, old in enumerate(patterns)}
        return access._replace(
            principals=tuple(access.principals[principal] for principal in principals),
            patterns=tuple(access.patterns[pattern] for pattern in patterns),
            cells=tuple(
                cell._replace(principal=row[cell.principal], pattern=column[cell.pattern])
                for cell in cells
            ),
        )

    def text(self, section_command: str, sections: Iterable[Section]) -> str:
        """A sentence about the omissions. Call this method last. ``section_command`` is as in
        ``ReportContents``."""
        parts = list(self._left_out)
        if self._cut_names:
            names = "a name" if len(self._cut_names) == 1 else counted(len(self._cut_names), "name")
            parts.append(f"{names} of more than {self._limits.name} characters, shortened")
        if self._cut_lists:
            what = "a list" if self._cut_lists == 1 else counted(self._cut_lists, "list")
            parts.append(f"{what} of commands, to {counted(self._limits.lines, 'line')} at most")
        if not parts:
            return "Nothing was cut from this file."
        names = " | ".join(section.id for section in sections if section.id != CHANGES)
        return (
            f"Cut: {'; '.join(parts)}. All of a table: {section_command} TABLE; TABLE is {names}."
        )


def _without_empty_columns(section: Section) -> Section:
    """A column without content would take room from the others."""
    by_column = zip(*section.rows, strict=True)
    has_content = [any(cell not in (None, "", ()) for cell in cells) for cells in by_column]
    if all(has_content):
        return section
    columns = tuple(compress(section.columns, has_content))
    rows = [tuple(compress(cells, has_content)) for cells in section.rows]
    return section._replace(columns=columns, rows=rows)
