"""The contents of a report, before the page: words, numbers and rows.

``data`` makes it of tables and ``page`` shows it; neither must compute what the other does.
This module must not know Spark, nor HTML.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from enum import Enum
from typing import Final, NamedTuple

Cell = str | int | datetime | tuple[str, ...] | None


class ColumnKind(Enum):
    """How a column is set; the value is the class that the page gives its cells."""

    WORD = "w"
    """Our own word, such as the name of an enum."""
    NAME = "m"
    """Somebody else's: it may hold anything."""
    ACLS = "a"
    """ACLs in words, of such names: it is long."""
    NUMBER = "n"
    MOMENT = "t"
    SEVERITY = "s"
    LINES = "l"
    """Commands or a file, to be opened and copied."""


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
"""The id of what changed since the last report, which stands before them."""


class Section(NamedTuple):
    """A table under a heading. ``found`` counts the rows that there are, ``rows`` are those
    known, the gravest first."""

    id: str
    title: str
    says: str
    columns: tuple[Column, ...]
    rows: Sequence[tuple[Cell, ...]] = ()
    found: int = 0


class Number(NamedTuple):
    """One of the four; ``value`` is None where the coverage does not let it be known."""

    value: int | None
    says: str
    link: str


BOTH: Final = "b"
DENIALS_ONLY: Final = "d"
NOTHING: Final = "n"


class Strip(NamedTuple):
    """What was seen of one broker, or of the metadata log: a letter for each bar of time."""

    name: str
    states: str
    hours: tuple[int, int, int]
    """In all, of both, denials only, and nothing."""


class TimeBars(NamedTuple):
    """Time in bars of ``step`` days from ``start`` on; each tuple has one number a bar."""

    start: date
    step: int
    allowed: tuple[int, ...]
    denied: tuple[int, ...]
    changes: tuple[int, ...]
    strips: tuple[Strip, ...]
    says: str


class Excess(NamedTuple):
    """One of those who are granted most beyond what they do. ``granted`` and ``used`` count pairs
    of an operation and a name that is known; ``acls`` would be ``least`` if the ``commands``
    were run."""

    principal: str
    granted: int
    used: int
    acls: int
    least: int
    commands: tuple[str, ...]


class Access(NamedTuple):
    """Who was granted what on which pattern, and used how much of it."""

    principals: tuple[str, ...]
    patterns: tuple[tuple[str, str, str], ...]
    """Resource type, pattern type and name."""
    cells: tuple[AccessCell, ...]
    says: str


class AccessCell(NamedTuple):
    """``principal`` and ``pattern`` are places in the tuples of ``Access``."""

    principal: int
    pattern: int
    granted: str
    """Operations, as they are shown."""
    used: str
    share: float | None
    """Of the granted ACLs that were used; None where that is unknown."""
    denies: bool


class ReportContents(NamedTuple):
    """``facts`` are a word and what it stands for; ``teams`` a name and its page's file;
    ``whole`` is the command that prints all of a section, which it lacks the name of.
    ``caveat`` is what else a reader of ``sentence`` must know, or nothing."""

    cluster: str
    team: str | None
    facts: tuple[tuple[str, str], ...]
    sentence: str
    caveat: str
    numbers: tuple[Number, Number, Number, Number]
    window: TimeBars
    excess: tuple[Excess, ...]
    excess_says: str
    access: Access
    sections: tuple[Section, ...]
    teams: tuple[tuple[str, str], ...] = ()
    made_by: str = ""
    whole: str = ""
