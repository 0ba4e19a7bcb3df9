"""``metalog pipeline shell DIR``: one Spark session for many lines, each a verb or SQL.

This module must not know what a line means.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from shell.arguments.line_source import at_a_terminal, run_lines
from shell.arguments.pipeline import add_folder, add_spark, check_installed, opened_folder
from shell.browser.table_session import QueryRows, TableSession
from shell.output.output import Output

if TYPE_CHECKING:
    from metalog_spark.store.table_store import Tables

USAGE: Final = "DIR [options]"
FORMATS: Final = ("text", "json")
PAGED: Final = False
EPILOG: Final = """\
metalog pipeline shell prod.tables                     a prompt; type help for the commands
echo 'SELECT count(*) FROM requests' | metalog pipeline shell prod.tables
metalog pipeline shell prod.tables -o json < questions

A line is a verb without DIR (unused --from -30d), or an SQL query of the tables. Spark starts
once, so every answer but the first comes sooner.

A session prints a warning only once. For lines from a pipe or file, errors name the line's number.

Exit code: 0, or 2 if a line from a pipe or file failed."""
_LEFT_OUT: Final = ("demo", "shell")


def configure(parser: ArgumentParser) -> None:
    add_folder(parser)
    add_spark(parser)


def run(arguments: Namespace, output: Output) -> int:
    check_installed(output)
    from shell.verbs.pipeline import VERBS

    output.disable_pager()
    with opened_folder(arguments, output) as tables:
        spark = _Spark(tables)
        with output.busy("naming the tables"):
            spark.renew()
        output.end_progress()
        verbs = {name: verb for name, verb in VERBS.items() if name not in _LEFT_OUT}
        is_piped = not at_a_terminal()
        session = TableSession(
            arguments.folder, verbs, spark, output, output.width, has_numbers=is_piped
        )
        if is_piped:
            run_lines(session, sys.stdin)
            return 2 if session.failed else 0
        from shell.browser.prompt import converse

        output.note("help lists the commands; exit or Ctrl-D leaves")
        converse(session, session.complete, "")
    return 0


class _Spark:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._serial: int | None = None

    def renew(self) -> None:
        """Read the newest tables, in case a build or ``follow`` changed them."""
        from metalog_spark.store.sql_views import register_views
        from metalog_spark.store.table_store import Tables

        now = Tables.open(self._tables.session, self._tables.path)
        if now.contents.serial != self._serial:
            register_views(now.session, now)
            self._tables, self._serial = now, now.contents.serial

    def sql(self, query: str, most: int) -> QueryRows:
        frame = self._tables.session.sql(query)
        return QueryRows(frame.columns, [tuple(row) for row in frame.limit(most + 1).collect()])

    def names(self) -> Sequence[str]:
        from metalog_spark.store.tables import TABLES

        columns = (column for table in TABLES.values() for column in table.columns)
        return [*TABLES, *dict.fromkeys(columns)]

    def error_text(self, error: Exception) -> str | None:
        from metalog_spark.session import error_of_ours, errors_of_spark, first_line

        if not isinstance(error, errors_of_spark()):
            return None
        ours = error_of_ours(error)
        return f"Spark: {first_line(error)}" if ours is None else str(ours)
