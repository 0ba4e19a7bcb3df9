"""Runs one verb: its arguments, its output and its exit code.

This module must not know any one verb.
"""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO
from typing import TYPE_CHECKING, Any, NamedTuple

from shell.output.output import Output, colored, prepare_streams

if TYPE_CHECKING:
    from shell.verb_table import Verb, VerbModule


def run_verb(
    name: str, verb: Verb, module: VerbModule, arguments: list[str], warned: set[str] | None = None
) -> int:
    """Run a verb and return its exit code; ``name`` has all words of the verb, such as ``pipeline
    build``. The warnings in ``warned`` are not printed again, and new ones are added to it."""
    from shell.options import build_parser, parse
    from shell.output.pager import Pager
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
    """The JSON objects and stderr lines of a verb; ``code`` is None if the answer was longer than
    the caller's limit."""

    code: int | None
    records: list[dict[str, Any]]
    notes: list[str]


class _Full(Exception):
    """An answer is longer than the caller's limit."""


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
    """The verb's answer as JSON, of at most ``most`` characters. Raises what the verb raises."""
    import json

    from shell.options import build_parser, parse

    parsed = parse(build_parser(name, verb.line, module), [*arguments, "--output=json"])
    out, err = _Bounded(most), StringIO()
    output = Output(out, err, format="json")
    code: int | None = None
    try:
        code = module.run(parsed, output)
        output.flush()
    except _Full:
        err.write(f"more than {most:,} characters: ask for less\n")
    records = [json.loads(line) for line in out.getvalue().splitlines()]
    return VerbAnswer(code, records, err.getvalue()[:most].splitlines())
