"""The contents of a report, before the page: words, numbers and rows.

``data`` makes the contents, and ``page`` shows them. This module must not know Spark,
nor HTML.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from enum import Enum
from typing import Final, NamedTuple

Cell = str | int | datetime | tuple[str, ...] | None


class ColumnKind(Enum):
    """How a column is displayed; the value is the CSS class of its cells."""

    WORD = "w"
    """A short text, such as the name of an enum member."""
    NAME = "m"
    """A name from outside: it may contain anything."""
    ACLS = "a"
    """ACLs in words, with names from outside: long."""
    NUMBER = "n"
    MOMENT = "t"
    SEVERITY = "s"
    LINES = "l"
    """Lines to be expanded and copied, or a sentence."""


class Column(NamedTuple):
    title: str
    kind: ColumnKind = ColumnKind.WORD


SECTIONS: Final = (
    "may",
    "unused",
    "least",
    "exposure",
    "denied",
    "drift",
    "disagreements",
    "unseen",
)
"""The ids of the tables under the charts, in their order."""
CHANGES: Final = "changes"
"""The id of the section before those of ``SECTIONS``: the changes since the last report."""


class Section(NamedTuple):
    """A table under a heading. ``found`` counts all rows; ``rows`` may have only the first."""

    id: str
    title: str
    says: str
    columns: tuple[Column, ...]
    rows: Sequence[tuple[Cell, ...]] = ()
    found: int = 0


class Number(NamedTuple):
    """One of the four headline numbers; ``value`` is None if it is unknown."""

    value: int | None
    says: str
    link: str


BOTH: Final = "b"
DENIALS_ONLY: Final = "d"
NOTHING: Final = "n"


class Strip(NamedTuple):
    """The coverage of one broker, or of the metadata log: a letter for each bar of time."""

    name: str
    states: str
    hours: tuple[int, int, int]
    """The number of hours with both, with denials only, and with nothing."""


class TimeBars(NamedTuple):
    """Counts over time, in bars of ``step`` days from ``start`` on: one number per bar. ``strips``
    show the coverage."""

    start: date
    step: int
    allowed: tuple[int, ...]
    denied: tuple[int, ...]
    changes: tuple[int, ...]
    strips: tuple[Strip, ...]
    says: str


class Excess(NamedTuple):
    """One of the principals whose permissions the proposal reduces most. ``granted`` and ``used``
    count pairs of an operation and a known name. ``commands`` replace the principal's ALLOWs;
    ``acls`` and ``least`` count its ALLOWs before and after. ``remark`` explains the counts."""

    principal: str
    granted: int
    used: int
    acls: int
    least: int
    commands: tuple[str, ...]
    remark: str | None = None


class Access(NamedTuple):
    """The access matrix: the grants of each principal on each pattern, and how much of them was
    used."""

    principals: tuple[str, ...]
    patterns: tuple[tuple[str, str, str], ...]
    """Resource type, pattern type and name."""
    cells: tuple[AccessCell, ...]
    says: str


class AccessCell(NamedTuple):
    """``principal`` and ``pattern`` are indexes into the tuples of ``Access``."""

    principal: int
    pattern: int
    granted: str
    """The granted operations as text."""
    used: str
    share: float | None
    """The share of used ACLs among the ACLs whose use is known; None if there are none."""
    denies: bool


def can_go_text(number: int, accepted: int = 0) -> str:
    """``8 (2 more accepted) can go``, of grants."""
    more = f" ({accepted:,} more accepted)" if accepted else ""
    return f"{number:,}{more} can go"


class ReportContents(NamedTuple):
    """All contents of a page.

    ``facts`` are pairs of a label and a value; ``teams`` are pairs of a name and its page's file.
    ``section_command`` prints all of a section; the section's name at its end is left out.
    ``caveats`` are clauses that limit what ``sentence`` says.
    """

    cluster: str
    team: str | None
    facts: tuple[tuple[str, str], ...]
    sentence: str
    caveats: tuple[str, ...]
    numbers: tuple[Number, Number, Number, Number]
    window: TimeBars
    excess: tuple[Excess, ...]
    excess_says: str
    access: Access
    sections: tuple[Section, ...]
    teams: tuple[tuple[str, str], ...] = ()
    made_by: str = ""
    section_command: str = ""
