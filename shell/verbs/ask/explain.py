"""``metalog explain SOURCE QUESTION``: why, what nearly matched, and what to change.

This module must not know how an explanation is found.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from functools import partial
from typing import Final

from shell.context import add_config, add_source
from shell.inputs.queries import queries_of
from shell.output.output import Output
from shell.views.explaining import add_explaining, explain

USAGE: Final = "SOURCE QUESTION [options]"
FORMATS: Final = ("text", "json", "markdown")
PAGED: Final = True
EPILOG: Final = """\
metalog explain /var/kafka/metadata 'Principal = User:app is Denied operation = WRITE from host = …'
metalog explain SOURCE User:app Write topic:payments --host 10.0.0.7 --at 151

Exit code: 0 explained, whatever the answer is, 2 no answer."""


def configure(parser: ArgumentParser) -> None:
    add_source(parser)
    add_explaining(parser)
    add_config(parser)


def run(arguments: Namespace, output: Output) -> int:
    from shell.tasks.history import change_notes

    return explain(arguments, partial(queries_of, arguments, output, notes=change_notes()), output)
