"""``metalog users SOURCE``: the SCRAM users, without their secrets.

This module must not know SCRAM's computations, and must not read a salt or a key.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Final

from metalog.text.visible_text import shown
from shell.context import add_source, replayed_source
from shell.output.output import Cell, Output

if TYPE_CHECKING:
    from metalog.image.state.scram import ScramImage

USAGE: Final = "SOURCE [options]"
FORMATS: Final = ("text", "json", "csv", "markdown")
PAGED: Final = True
EPILOG: Final = "metalog users /var/kafka/metadata -o markdown"
_KEYS: Final = ("user", "mechanism", "iterations")


def configure(parser: ArgumentParser) -> None:
    add_source(parser)


def run(arguments: Namespace, output: Output) -> int:
    image = replayed_source(arguments, output, rests_on_users=True).image
    with output.busy("listing"):
        _list(image.scram, output)
    return 0


def _list(image: ScramImage, output: Output) -> None:
    found = sorted(
        (user, mechanism.name, credential.iterations)
        for mechanism, users in image.mechanisms.items()
        for user, credential in users.items()
    )
    if not output.is_text:
        output.records(_KEYS, found)
        return
    output.aligned(
        [Cell(shown(user), "strong"), mechanism.replace("_", "-"), f"{iterations} iterations"]
        for user, mechanism, iterations in found
    )
    if not (found or output.missing):
        output.note("there are no SCRAM users")
