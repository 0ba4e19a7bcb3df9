"""Makes the access matrix: the ACLs of each principal on each pattern, and their use.

This module must not know Spark, nor how the matrix is drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from metalog.text.plurals import counted
from metalog_spark.report.contents import Access, AccessCell
from metalog_spark.report.rows import Row

Pattern = tuple[str, str, str]


def access(acls: Iterable[Row], order: Sequence[str]) -> Access:
    """The matrix of ``acls`` in force, each with a ``state`` (``UsageState``). Topics and the
    principals in ``order`` come first. The caller must complete the sentence in ``says``."""
    rows_by_cell: dict[tuple[str, Pattern, bool], list[Row]] = {}
    for row in acls:
        pattern = (row["resource_type"], row["pattern_type"], row["resource_name"])
        key = (row["principal"], pattern, row["permission_type"] == "DENY")
        rows_by_cell.setdefault(key, []).append(row)
    place = {principal: number for number, principal in enumerate(dict.fromkeys(order))}
    principals = tuple(
        sorted(
            {key[0] for key in rows_by_cell},
            key=lambda principal: (place.get(principal, len(place)), principal),
        )
    )
    patterns = tuple(sorted({key[1] for key in rows_by_cell}, key=_pattern_order))
    row_of = {principal: number for number, principal in enumerate(principals)}
    column_of = {pattern: number for number, pattern in enumerate(patterns)}
    cells = [
        _cell(row_of[principal], column_of[pattern], denies, rows)
        for (principal, pattern, denies), rows in rows_by_cell.items()
    ]
    return Access(
        principals,
        patterns,
        tuple(sorted(cells, key=lambda cell: cell[:2])),
        f"{counted(len(principals), 'principal')} by {counted(len(patterns), 'resource pattern')}",
    )


def _pattern_order(pattern: Pattern) -> tuple[bool, str, str, str]:
    resource_type, pattern_type, name = pattern
    return resource_type != "TOPIC", resource_type, name, pattern_type


def _cell(row: int, column: int, denies: bool, rows: Sequence[Row]) -> AccessCell:
    known = [row for row in rows if row["state"] != "UNKNOWN"]
    used = [row for row in known if row["state"] == "USED"]
    return AccessCell(
        row,
        column,
        _operations(rows),
        _operations(used),
        len(used) / len(known) if known else None,
        denies,
    )


def _operations(rows: Iterable[Row]) -> str:
    return ", ".join(sorted({row["operation"] for row in rows}))
