"""Commands that run when they are pasted: for kafka-acls, and the same for metalog.

``tasks.command_target`` has the cluster and the form of a command. This module must not
know what a command is for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from shell.output.output import Output
from shell.tasks.command_target import CommandLine, CommandTarget


def command_lines(
    commands: Iterable[str], command_target: CommandTarget, output: Output, *, own: bool
) -> Iterator[str]:
    """Commands for kafka-acls; with ``own``, also the same for metalog."""
    listed = list(commands)
    for command in command_target.commands(listed):
        yield CommandLine(f"  {output.paint(command, 'strong')}")
    if own:
        yield "  or, without Kafka's tools:"
        for command in command_target.own_commands(listed):
            yield CommandLine(f"  {output.paint(command, 'strong')}")
