"""``metalog shell SOURCE [-- COMMAND …]``: opens the replayed log in the metadata shell.

This module must not know what the shell's commands do.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Final

from metalog_sources.source_kinds import LOGS
from shell.context import add_config, add_source, opened_source, replayed_source
from shell.output.output import Output

USAGE: Final = "SOURCE [options] [-- COMMAND …]"
FORMATS: Final = ("text",)
PAGED: Final = False
EPILOG: Final = """\
metalog shell /var/kafka/metadata                      a prompt; type help for the commands
metalog shell /var/kafka/metadata -- tree /acl         one command
metalog shell /var/kafka/metadata -- explain User:app Write topic:payments"""


def configure(parser: ArgumentParser) -> None:
    add_source(parser, kinds=LOGS)
    group = parser.add_argument_group("command")
    group.add_argument("command", nargs="*", metavar="COMMAND", help="one command, after --")
    group.add_argument("--show-secrets", action="store_true", help="show salts and keys, too")
    add_config(parser)


def run(arguments: Namespace, output: Output) -> int:
    from shell.browser import run as browse
    from shell.browser.builtins.explain import explain_command

    source = opened_source(arguments, output)
    replayed = replayed_source(
        arguments, output, source._replace(opened=source.log), allows_doubts=True, is_whole=True
    )
    command = [*arguments.command, *arguments.rest]
    live = None
    if source.kind == "quorum" and arguments.at is None and replayed.loader is not None:
        from metalog_sources.live.followed_replay import LiveReplay

        live = LiveReplay(replayed, replayed.loader)
    explain = explain_command(arguments, source, live or (lambda: replayed))
    return browse(
        replayed, command, output, show_secrets=arguments.show_secrets, live=live, more=[explain]
    )
