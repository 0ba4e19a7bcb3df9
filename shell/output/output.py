"""Writes a verb's answers as text lines, JSON lines, CSV or Markdown, and its notes to stderr.

Text is aligned by blanks, without borders, and never truncated. With JSON, stdout has one object
per line and nothing else. This module must not know what the records mean.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TextIO

from metalog.text.visible_text import safe, shortened, shown
from shell.output.wrapping import text_width, wrapped, wrapped_row

if TYPE_CHECKING:
    from shell.output.progress import ProgressLine

__all__ = ["COLORS", "Cell", "Output", "colored", "safe", "shown"]

COLORS: Final = ("auto", "always", "never")
_STYLES: Final = {
    "good": "32",
    "bad": "31",
    "strong": "1",
    "faint": "2",
    "warn": "33",
    "name": "36",
}
_MISSING_PREFIXES: Final = {
    "markdown": "**missing**: ",
    "csv": "# missing: ",
    "commands": "# missing: ",
    "yaml": "# missing: ",
    "github": "::warning title=metalog --salvage::missing: ",
}
_ROWS_MEASURED: Final = 500
_WIDEST: Final = 120
_HANG: Final = 4


class Cell(NamedTuple):
    """Escaped text in a style (``good``, ``bad``, ``strong``, ``faint``, ``warn``, ``name``)."""

    text: str
    style: str | None = None


class Output:
    """A verb's output. ``format`` is one of the verb's FORMATS.

    ``width`` and ``err_width`` are the numbers of columns of the terminals behind stdout and
    stderr. None: lines are not wrapped.
    """

    def __init__(
        self,
        out: TextIO,
        err: TextIO,
        *,
        format: str = "text",
        color: bool = False,
        quiet: bool = False,
        width: int | None = None,
        err_width: int | None = None,
        pager: Callable[[], TextIO | None] = lambda: None,
        warned: set[str] | None = None,
    ) -> None:
        self.format = format
        self.color = color
        self.quiet = quiet
        self.width = width
        self.err = err
        self._err_width = err_width
        self._out = out
        self._pager: Callable[[], TextIO | None] | None = pager
        self._warned = warned
        self._encode: Callable[[Any], str] | None = None
        self.missing: tuple[str, ...] = ()
        self.missing_fields: tuple[Mapping[str, Any], ...] = ()
        self._reported_missing = 0
        self._progress: ProgressLine | None = None
        self._verb_progress: ProgressLine | None = None

    @property
    def is_text(self) -> bool:
        return self.format == "text"

    @property
    def out(self) -> TextIO:
        """Standard output, or the pager, which starts at the first use.

        If stderr is a terminal, later notes go to the pager, too.
        """
        if self._progress is not None and self._out.isatty():
            self.end_progress()
        if self._pager is not None:
            pager, self._pager = self._pager, None
            paged = pager()
            if paged is not None:
                self._out = paged
                self.err = paged if self.err.isatty() else self.err
        return self._out

    def begin_progress(self, doing: str) -> None:
        """Show progress on the terminal until the answer begins, or until ``end_progress``."""
        self._verb_progress = self._progress_line(doing, patience_s=0.0)
        self._verb_progress.__enter__()

    def busy(self, doing: str) -> AbstractContextManager[ProgressLine]:
        """A ``with`` block that shows ``doing`` on the terminal."""
        if self._verb_progress is None:
            return self._progress_line(doing)
        self._verb_progress.doing = doing
        return nullcontext(self._verb_progress)

    def _progress_line(self, doing: str, *, patience_s: float | None = None) -> ProgressLine:
        from shell.output.progress import ProgressLine

        wanted = not self.quiet and self.err.isatty()
        progress = ProgressLine(self.err, doing, wanted=wanted, patience_s=patience_s)
        self._progress = progress if wanted else None
        return progress

    def end_progress(self) -> None:
        if self._progress is not None:
            self._progress.stop()
        self._progress = self._verb_progress = None

    def disable_pager(self) -> None:
        """Start no pager: a pager would hold back an endless answer."""
        self._pager = None

    def line(self, text: str = "") -> None:
        """Write ``text``, which the caller has escaped."""
        self._say_missing_once()
        self.out.write(text + "\n")

    def prose(self, text: str, indent: int = 0) -> None:
        """Write a sentence, wrapped on a terminal. ``indent`` blanks begin all lines but the
        first."""
        if self.width is None:
            self.line(text)
            return

        for line in wrapped(text, self.width, indent):
            self.line(line)

    def record(self, record: Mapping[str, Any]) -> None:
        if self._encode is None:
            from json import JSONEncoder

            self._encode = JSONEncoder(
                ensure_ascii=False, check_circular=False, separators=(",", ":")
            ).encode
        if self.missing_fields:
            record = {**record, "missing": self.missing_fields}
            self._reported_missing = len(self.missing)
        self.out.write(safe(self._encode(record)) + "\n")

    def json_texts(self, texts: Sequence[str]) -> None:
        """Write compact JSON texts, one on each line."""
        if self.missing_fields:
            from json import loads

            for text in texts:
                self.record(loads(text))
        elif texts:
            whole = "".join(texts)
            if not (whole.isascii() and whole.isprintable()):
                texts = [*map(safe, texts)]
            self.out.write("\n".join(texts) + "\n")

    def raw(self, data: bytes) -> None:
        """Write bytes of another format. The caller must put ``missing`` into the bytes."""
        self._reported_missing = len(self.missing)
        self.out.flush()
        self.out.buffer.write(data)

    def say_missing(self, lines: Iterable[str], fields: Iterable[Mapping[str, Any]]) -> None:
        """Warn on stderr of data that the output lacks. ``lines`` and ``fields`` describe the data.

        JSON objects get ``fields`` as the key ``missing``. Markdown, CSV, YAML, commands and
        GitHub's annotations begin with ``lines``. The writers of SARIF, JUnit and raw bytes must
        add the attribute ``missing`` themselves.
        """
        found = tuple(line for line in lines if line not in self.missing)
        for line in found:
            self.warn(f"missing in the output: {line}")
        self.missing += found
        self.missing_fields += tuple(each for each in fields if each not in self.missing_fields)

    def _say_missing_once(self) -> None:
        if self._reported_missing == len(self.missing):
            return
        new = self.missing[self._reported_missing :]
        self._reported_missing = len(self.missing)
        lead = _MISSING_PREFIXES.get(self.format)
        for line in new if lead is not None else ():
            self.out.write(f"{lead}{safe(line)}\n")

    def note(self, text: str) -> None:
        """Print a note about the answer on stderr; ``-q`` hides notes."""
        if not self.quiet:
            self._say(f"note: {text}", "faint")

    def warn(self, text: str) -> None:
        """Print on stderr a warning without which the answer can mislead."""
        if self._warned is not None:
            if text in self._warned:
                return
            self._warned.add(text)
        self._say(f"warning: {text}", "warn")

    def error(self, text: str) -> None:
        """Print an error about a part of the input; the verb continues with the rest."""
        self._say(f"metalog: {shortened(text)}", None)

    def _say(self, text: str, style: str | None) -> None:
        if self._out is not self.err:
            self._out.flush()
        lines = [safe(text)]
        if self._err_width is not None:
            lines = wrapped(lines[0], self._err_width, _HANG // 2)
        with nullcontext() if self._progress is None else self._progress.aside():
            self.err.writelines(self.paint(line, style) + "\n" for line in lines)
            self.err.flush()

    def paint(self, text: str, style: str | None) -> str:
        if not self.color or style is None:
            return text
        return f"\x1b[{_STYLES[style]}m{text}\x1b[m"

    def records(self, keys: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        if self.format == "json":
            for row in rows:
                self.record(dict(zip(keys, row, strict=True)))
        elif self.format == "csv":
            from metalog_sources.formats.csv_cells import csv_row

            self._say_missing_once()
            self.out.write(csv_row(keys))
            self.out.writelines(map(csv_row, rows))
        else:
            self._markdown(keys, rows)

    def aligned(
        self, rows: Iterable[Sequence[Cell | str]], indent: str = "", *, whole: bool = False
    ) -> None:
        """Write rows in columns. A cell wider than 120 characters does not widen its column.

        The first 500 rows set the widths; later rows can widen a column. On a terminal, a row that
        does not fit continues on the next line, unless ``whole``. If ``rows`` raises an error, the
        earlier rows are written.
        """
        source = iter(rows)
        head: list[Sequence[Cell | str]] = []
        try:
            head.extend(islice(source, _ROWS_MEASURED))
        finally:
            widths = [
                max((width for width in map(_cell_width, column) if width <= _WIDEST), default=0)
                for column in zip(*head, strict=True)
            ]
            self._write_rows(head, widths, indent, whole=whole)
        self._write_rows(source, widths, indent, whole=whole)

    def _write_rows(
        self, rows: Iterable[Sequence[Cell | str]], widths: list[int], indent: str, *, whole: bool
    ) -> None:
        for row in rows:
            cells = self._aligned_cells(row, widths)
            line = (indent + "  ".join(cells)).rstrip()
            if whole or self.width is None or len(line) <= self.width:
                self.line(line)
                continue

            cells[0] = indent + cells[0]
            for part in wrapped_row(cells, self.width, len(indent) + _HANG):
                self.line(part)

    def _aligned_cells(self, row: Sequence[Cell | str], widths: list[int]) -> list[str]:
        parts = []
        last = len(row) - 1
        for number, cell in enumerate(row):
            text, style = cell if isinstance(cell, Cell) else (cell, None)
            width = _cell_width(cell)
            gap = widths[number] - width
            if gap < 0 and width <= _WIDEST:
                widths[number] -= gap
            parts.append(self.paint(text, style) + (" " * gap if number != last else ""))
        return parts

    def _markdown(self, keys: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        self.line(f"| {' | '.join(keys)} |")
        self.line("|" + " --- |" * len(keys))
        for row in rows:
            self.line(f"| {' | '.join(in_markdown(value) for value in row)} |")

    def flush(self) -> None:
        if self.format == "json" and self._reported_missing < len(self.missing):
            self.record({})
        self._say_missing_once()
        self._out.flush()
        self.err.flush()


def in_markdown(value: object) -> str:
    """``value`` in Markdown, without markup. GitHub still links a bare URL."""
    text = safe(str(value))
    for special in "\\|*_`<[]~&":
        text = text.replace(special, "\\" + special)
    return text


def _cell_width(cell: Cell | str) -> int:
    return text_width(cell.text if isinstance(cell, Cell) else cell)


def colored(choice: str, stream: TextIO) -> bool:
    """Whether to use colours, by ``--color``, https://no-color.org and the terminal."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") == "dumb":
        return False
    return stream.isatty()


def prepare_streams(json: bool) -> tuple[TextIO, TextIO]:
    """Make standard output and error accept any name. JSON is UTF-8 in every locale."""
    out = sys.stdout if sys.stdout is not None else open(os.devnull, "w")  # noqa: SIM115, PTH123
    err = sys.stderr if sys.stderr is not None else open(os.devnull, "w")  # noqa: SIM115, PTH123
    for stream in (out, err):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace", encoding="utf-8" if json else None)
    return out, err
