"""The contents of a report: words, numbers and rows.

``data`` makes the contents, and ``page`` makes the HTML. This module must not know Spark, nor HTML.
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
    NAME = "m"
    """A name from an ACL or an audit line, with any character."""
    ACLS = "a"
    """ACLs as text, which can be long and contain any character."""
    NUMBER = "n"
    MOMENT = "t"
    SEVERITY = "s"
    LINES = "l"
    """Lines to expand and copy, or a sentence."""


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
"""The ids of the tables, in the order of the page."""
CHANGES: Final = "changes"
"""The id of the first section, with the changes since the last report."""


class Section(NamedTuple):
    """A table. ``rows`` can be only the first rows; ``found`` counts all rows."""

    id: str
    title: str
    says: str
    columns: tuple[Column, ...]
    rows: Sequence[tuple[Cell, ...]] = ()
    found: int = 0


class Number(NamedTuple):
    """A headline number; ``value`` is None if it is unknown."""

    value: int | None
    says: str
    link: str


BOTH: Final = "b"
DENIALS_ONLY: Final = "d"
NOTHING: Final = "n"
"""Letters of ``Strip.states``. BOTH: allowed and denied requests are known."""


class Strip(NamedTuple):
    """The coverage of one broker, or of the metadata log: a letter for each bar of time."""

    name: str
    states: str
    hours: tuple[int, int, int]
    """The hours with BOTH, DENIALS_ONLY and NOTHING."""


class TimeBars(NamedTuple):
    """Counts for each bar of ``step`` days. The first bar begins at ``start``."""

    start: date
    step: int
    allowed: tuple[int, ...]
    denied: tuple[int, ...]
    changes: tuple[int, ...]
    strips: tuple[Strip, ...]
    says: str


class Excess(NamedTuple):
    """A principal whose permissions ``least-privilege`` reduces. ``granted`` and ``used`` count
    pairs of an operation and a known name. ``acls`` and ``least`` count the principal's ALLOWs
    before and after the ``commands``. ``remark`` explains the counts."""

    principal: str
    granted: int
    used: int
    acls: int
    least: int
    commands: tuple[str, ...]
    remark: str | None = None


class Access(NamedTuple):
    """The ACLs of each principal on each pattern, and their use."""

    principals: tuple[str, ...]
    patterns: tuple[tuple[str, str, str], ...]
    """Resource type, pattern type and name."""
    cells: tuple[AccessCell, ...]
    says: str


class AccessCell(NamedTuple):
    """``principal`` and ``pattern`` are indexes into the tuples of ``Access``."""

    principal: int
    pattern: int
    operations: str
    used: str
    """The operations of all ACLs, and of the used ACLs, as text."""
    share: float | None
    """The share of used ACLs among the ACLs whose use is known; None without such ACLs."""
    denies: bool


def can_go_text(number: int, accepted: int = 0) -> str:
    """``8 (2 more are accepted) can go``, about grants."""
    more = f" ({accepted:,} more are accepted)" if accepted else ""
    return f"{number:,}{more} can go"


class ReportContents(NamedTuple):
    """All contents of a page.

    ``facts`` are pairs of a label and a value. ``teams`` are pairs of a name and a page's file.
    ``caveats`` limit what ``sentence`` says. ``section_command``, followed by the id of a section,
    prints the whole section.
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
