"""From when on two states of what decides would decide otherwise.

A build reads the whole log each time, and decides again only what may come out otherwise than
it did: from the first moment at which an ACL, a gap of the history or the configuration is not
what it was. A log that has only grown differs from where it grew. This module must not know how
the tables are filled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from metalog_spark.tables import ACL_CHANGELOG, CONFIGURATION, HISTORY

if TYPE_CHECKING:
    from metalog_spark.folder import Tables

ALWAYS: Final = 0
"""The moment from which on all is otherwise."""
_LIVES: Final = (
    *("id", "from_offset", "resource_type", "resource_name", "pattern_type", "principal", "host"),
    *("operation", "permission_type", "from_known", "unix_micros(from_time) AS from_us"),
    *("to_known", "to_offset", "unix_micros(to_time) AS to_us"),
)
_ENDS: Final = ("to_known", "to_offset", "to_us")
_STRETCHES: Final = ("kind", "from_offset", "unix_micros(from_time) AS from_us")
_ERAS: Final = (
    *("array_sort(super_users) AS super_users", "allow_everyone"),
    "unix_micros(from_time) AS from_us",
)

Row = tuple[Any, ...]


class Deciding(NamedTuple):
    """Rows of ACL_CHANGELOG, by what stays the same in a life that ends, with its end; rows of
    HISTORY and CONFIGURATION, the time that each begins at the last."""

    lives: dict[Row, Row]
    stretches: frozenset[Row]
    eras: frozenset[Row]


def deciding_in(tables: Tables) -> Deciding:
    lives = tables.read(ACL_CHANGELOG).selectExpr(*_LIVES).toArrow()
    begins = zip(*(column.to_pylist() for column in lives.columns[: -len(_ENDS)]), strict=True)
    ends = zip(*(column.to_pylist() for column in lives.columns[-len(_ENDS) :]), strict=True)
    eras = tables.read(CONFIGURATION).selectExpr(*_ERAS).collect()
    return Deciding(
        dict(zip(begins, ends, strict=True)),
        frozenset(map(tuple, tables.read(HISTORY).selectExpr(*_STRETCHES).collect())),
        frozenset((*map(str, row[:-1]), row[-1]) for row in eras),
    )


def differ_from(one: Deciding, other: Deciding) -> int | None:
    """Microseconds since 1970; None where they decide alike."""
    moments = [row[-1] for row in (one.stretches ^ other.stretches) | (one.eras ^ other.eras)]
    moments += [row[-1] for row in one.lives.keys() ^ other.lives.keys()]
    for life, end in one.lives.items():
        other_end = other.lives.get(life, end)
        if other_end != end:
            moments.append(min(_time(end), _time(other_end)))
    return min((moment or ALWAYS for moment in moments), default=None)


def _time(end: Row) -> float:
    """When a life ended; never, where it lasts."""
    return float("inf") if end[-1] is None else end[-1]
