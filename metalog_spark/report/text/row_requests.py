"""Writes the requests behind a row of a report as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from authorizer.analysis.remedies.commands import quoted
from metalog_spark.report.contents import Column, ColumnKind
from metalog_spark.report.text.words import moment, stamp

if TYPE_CHECKING:
    from metalog_spark.report.rows import Row

REQUESTS_COLUMN: Final = Column("Its requests", ColumnKind.LINES)


def row_requests(row: Row) -> tuple[str, ...] | None:
    """The command that prints all requests of a row, and the first requests as comments; None if
    the row has no command. Names are quoted, so that no name can end a line."""
    if "command" not in row:
        return None
    if "requests_first" not in row:
        return (row["command"],)
    first = row["requests_first"]
    shown = (
        f"# {stamp(moment(request['us']))} broker {quoted(request['broker'])}: {request['result']}"
        f" {request['operation']} from {quoted(request['host'])}"
        f" ({_place(request)})"
        for request in first
    )
    more = row["requests"] - len(first)
    return row["command"], *shown, *([f"# and {more:,} more"] if more > 0 else [])


def _place(request: Row) -> str:
    file, line = quoted(request["file"]), request["line"]
    return file if line is None else f"{file}, line {line:,}"
