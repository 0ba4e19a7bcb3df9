"""Runs one verb: its arguments, its output, its pager and its exit code.

This module must not know any one verb.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from io import StringIO
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple, TextIO

from shell.output.output import Output, colored, prepare_streams

if TYPE_CHECKING:
    from subprocess import Popen

    from shell.verb_table import Verb, VerbModule

_ENVIRONMENT: Final = {"LESS": "FRX", "LV": "-c"}


class Pager:
    """Runs ``$PAGER`` (default: ``less``), with git's default options."""

    def __init__(self, wanted: bool) -> None:
        self._wanted = wanted
        self._process: Popen[str] | None = None

    def start(self) -> TextIO | None:
        """A stream into the pager; None without a pager."""
        command = os.environ.get("PAGER", "less")
        if not self._wanted or not _can_run(command):
            return None
        from subprocess import PIPE, Popen

        self._process = Popen(  # noqa: S602
            command,
            shell=True,
            stdin=PIPE,
            env={**_ENVIRONMENT, **os.environ},
            encoding=sys.stdout.encoding,
            errors="backslashreplace",
        )
        stream: IO[str] | None = self._process.stdin
        return stream  # type: ignore[return-value]

    def finish(self) -> None:
        """Close the pager's input, and wait until the user leaves the pager."""
        if self._process is None:
            return
        with suppress(BrokenPipeError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        while True:
            with suppress(KeyboardInterrupt):
                self._process.wait()
                return


def _can_run(command: str) -> bool:
    from shutil import which

    words = command.split()
    return bool(words) and words != ["cat"] and which(words[0]) is not None


def run_verb(
    name: str, verb: Verb, module: VerbModule, arguments: list[str], warned: set[str] | None = None
) -> int:
    """Run a verb, such as ``pipeline build``, and return its exit code.

    Warnings in ``warned`` are not printed again; new warnings are added to ``warned``.
    """
    from shell.options import build_parser, parse
    from shell.output.wrapping import terminal_width

    parsed = parse(build_parser(name, verb.line, module), arguments)
    out, err = prepare_streams(json=parsed.output == "json")
    pager = Pager(parsed.pager and parsed.output == "text" and module.PAGED and out.isatty())
    output = Output(
        out,
        err,
        format=parsed.output,
        color=parsed.output == "text" and colored(parsed.color, out),
        quiet=parsed.quiet,
        width=terminal_width(out) if parsed.output == "text" else None,
        err_width=terminal_width(err),
        pager=pager.start,
        warned=warned,
    )
    try:
        code = module.run(parsed, output)
        output.flush()
        return code
    finally:
        output.end_progress()
        pager.finish()


class VerbAnswer(NamedTuple):
    """The JSON objects of a verb, and its lines on stderr (``notes``).

    ``code`` is None if the JSON text exceeded the limit. ``is_whole``: nothing is left out.
    """

    code: int | None
    records: list[dict[str, Any]]
    notes: list[str]
    is_whole: bool


class _Full(Exception):
    """The answer exceeds the limit."""


class _Bounded(StringIO):
    def __init__(self, most: int | None) -> None:
        super().__init__()
        self._most = most

    def write(self, text: str) -> int:
        if self._most is not None and self.tell() + len(text) > self._most:
            raise _Full
        return super().write(text)


def verb_answer(
    name: str, verb: Verb, module: VerbModule, arguments: Sequence[str], most: int | None = None
) -> VerbAnswer:
    """The verb's answer as JSON, and its notes: at most ``most`` characters of each.

    Raises what the verb raises.
    """
    import json

    from shell.options import build_parser, parse

    parsed = parse(build_parser(name, verb.line, module), [*arguments, "--output=json"])
    out, err = _Bounded(most), StringIO()
    output = Output(out, err, format="json")
    code: int | None = None
    with suppress(_Full):
        code = module.run(parsed, output)
        output.flush()
    records = [json.loads(line) for line in out.getvalue().splitlines()]
    on_stderr = err.getvalue()
    notes = on_stderr[: on_stderr.rfind("\n", 0, most) + 1].splitlines()
    is_whole = code is not None and (most is None or len(on_stderr) <= most)
    if not is_whole:
        notes.append(f"more than {most:,} characters: ask for less")
    return VerbAnswer(code, records, notes, is_whole)
