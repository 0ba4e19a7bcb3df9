"""Runs one verb: its arguments, its output and its exit code.

This module must not know which verbs there are, nor what any does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shell.output.output import Output, colored, prepare_streams

if TYPE_CHECKING:
    from shell.verb_table import Verb, VerbModule


def run_verb(name: str, verb: Verb, module: VerbModule, arguments: list[str]) -> int:
    """Its exit code; ``name`` is all of its words, as in ``pipeline build``."""
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
    )
    try:
        code = module.run(parsed, output)
        output.flush()
        return code
    finally:
        output.end_progress()
        pager.finish()
