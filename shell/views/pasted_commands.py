"""Commands that run as they are pasted: kafka-acls' own, and the same by metalog.

A command is for the place that SOURCE names, with the client's settings, where it names one;
else it takes both from the reader's shell. Text, JSON and ``-o commands`` take their commands from
here. This module must not know what a command is for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from shell.output.output import Output
from shell.tasks.command_target import CommandLine, CommandTarget

if TYPE_CHECKING:
    pass


def command_lines(
    commands: Iterable[str], place: CommandTarget, output: Output, *, own: bool
) -> Iterator[str]:
    """kafka-acls' commands, and, if ``own``, the same by metalog."""
    listed = list(commands)
    for command in place.commands(listed):
        yield CommandLine(f"  {output.paint(command, 'strong')}")
    if own:
        yield "  or, without Kafka's tools:"
        for command in place.own_commands(listed):
            yield CommandLine(f"  {output.paint(command, 'strong')}")
