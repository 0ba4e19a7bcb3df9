"""A session on a pipeline's tables: a line is SQL, a verb of ``metalog pipeline``, ``help``,
``history`` or ``exit``.

All lines share one Spark session, so Spark starts once. This module must not know Spark, nor what
any verb does.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

from authorizer.analysis.explain.names import nearest_name
from metalog.errors import MetalogError
from metalog.text.os_errors import os_error_text
from metalog.text.plurals import counted
from metalog.text.visible_text import safe, shown
from shell.browser.completion import CompletionCandidate
from shell.options import build_parser
from shell.output.output import Cell, Output
from shell.run_verb import run_verb
from shell.verb_table import Verb

SQL: Final = ("select", "with", "values", "table", "show", "describe", "desc", "explain")
"""First words of an SQL query."""
_COMMANDS: Final = {
    "help": "list the commands",
    "history": "the lines typed so far",
    "exit": "leave; Ctrl-D does, too",
}
_MOST_ROWS: Final = 1_000
_BETWEEN_WORDS: Final = re.compile(r"[\s,()]")


class QueryRows(NamedTuple):
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


class SparkQueries(Protocol):
    def sql(self, query: str, most: int) -> QueryRows:
        """At most ``most`` + 1 rows. The additional row shows that there are more rows."""

    def names(self) -> Sequence[str]:
        """The names of tables and of their columns."""

    def renew(self) -> None:
        """Make queries read the tables' newest versions."""

    def error_text(self, error: Exception) -> str | None:
        """The message of Spark's error; None for any other error."""


class TableSession:
    """A session on the tables in ``folder``.

    ``verbs`` are the verbs of the session. ``failed``: a line has failed. ``has_numbers``: errors
    have line numbers, for lines from a pipe. A verb's warning is printed only once in a session.
    """

    def __init__(
        self,
        folder: str,
        verbs: Mapping[str, Verb],
        spark: SparkQueries,
        output: Output,
        width: int | None,
        *,
        has_numbers: bool = False,
    ) -> None:
        self._folder = folder
        self._verbs = verbs
        self._spark = spark
        self.output = output
        self.width = width
        self.leaving = False
        self.failed = False
        self._typed: list[str] = []
        self._has_numbers = has_numbers
        self._number = 0
        self._warned: set[str] = set()

    @property
    def place(self) -> str:
        return shown(self._folder)

    def complain(self, text: str) -> None:
        self.failed = True
        self.output.flush()
        where = f"line {self._number}: " if self._has_numbers else ""
        self.output.err.write(f"metalog: {where}{safe(text)}\n" if text else "\n")
        self.output.flush()

    def run_line(self, line: str) -> None:
        self._number += 1
        line = line.strip().removesuffix(";").strip()
        if not line:
            return
        self._typed.append(line)
        try:
            self._run(line)
        except MetalogError as error:
            self.complain(str(error))
        except OSError as error:
            self.complain(os_error_text(error))
        except Exception as error:
            message = self._spark.error_text(error)
            if message is None:
                raise
            self.complain(message)
        finally:
            self.output.end_progress()

    def _run(self, line: str) -> None:
        first = line.split(maxsplit=1)[0]
        if first in self._verbs:
            self._run_verb(line)
        elif first.lower() in SQL:
            self._show(line)
        elif first in _COMMANDS:
            self._run_own(first)
        else:
            near = nearest_name(first, [*self._verbs, *_COMMANDS, *SQL])
            hint = f"did you mean {near}?" if near else "help lists the commands"
            self.complain(f"{first}: neither a verb nor a query; {hint}")

    def _run_own(self, word: str) -> None:
        if word == "exit":
            self.leaving = True
        elif word == "history":
            for number, line in enumerate(self._typed, 1):
                self.output.line(f"{number:>4}  {safe(line)}")
        else:
            rows = [(name, verb.line) for name, verb in self._verbs.items()]
            rows += [
                (
                    "SELECT …",
                    "query the tables in SQL; SHOW TABLES lists them, DESCRIBE NAME lists columns",
                ),
                *_COMMANDS.items(),
            ]
            self.output.aligned((Cell(name, "name"), text) for name, text in rows)

    def _show(self, query: str) -> None:
        self._spark.renew()
        with self.output.busy("running the query"):
            answer = self._spark.sql(query, _MOST_ROWS)
        rows = answer.rows[:_MOST_ROWS]
        if self.output.is_text:
            titles: list[Cell | str] = [Cell(shown(name), "faint") for name in answer.columns]
            cells = ([_cell(value) for value in row] for row in rows)
            self.output.aligned([titles, *cells])
        else:
            self.output.records(answer.columns, ([_plain(value) for value in row] for row in rows))
        if len(answer.rows) > _MOST_ROWS:
            first = counted(_MOST_ROWS, "row")
            self.output.note(f"only the first {first} are shown; LIMIT and ORDER BY choose others")

    def _run_verb(self, line: str) -> None:
        try:
            name, *rest = shlex.split(line)
        except ValueError as error:
            self.complain(f"{error}: close the quotes, or put a \\ before a single quote")
            return
        verb = self._verbs[name]
        module = verb.load_verb()
        parser = build_parser(f"pipeline {name}", verb.line, module)
        has_folder = any(action.dest == "folder" for action in parser._actions)
        words = [self._folder] if has_folder else ["--out", self._folder]
        words += [*rest, "--no-pager", *["-q"] * self.output.quiet]
        if not self.output.is_text and self.output.format in module.FORMATS:
            words += ["-o", self.output.format]
        try:
            run_verb(f"pipeline {name}", verb, module, words, self._warned)
        except SystemExit:
            pass
        finally:
            self._spark.renew()

    def complete(self, line: str) -> Iterator[CompletionCandidate]:
        last = _BETWEEN_WORDS.split(line)[-1]
        start = len(line) - len(last)
        before = line[:start].split()
        for name in self._candidates(before, last):
            yield CompletionCandidate(start, f"{name} ", name)

    def _candidates(self, before: Sequence[str], last: str) -> list[str]:
        if not before:
            names = [*self._verbs, *_COMMANDS, *(word.upper() for word in SQL)]
        elif before[0] in self._verbs:
            verb = self._verbs[before[0]]
            parser = build_parser(f"pipeline {before[0]}", verb.line, verb.load_verb())
            names = [name for name in parser._option_string_actions if name.startswith("--")]
        else:
            names = [*self._spark.names()] if last else []
        return [name for name in names if name.lower().startswith(last.lower())]


def _cell(value: object) -> str:
    return "" if value is None else shown(str(_plain(value)))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)
