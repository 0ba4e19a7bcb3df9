"""Finds the options of a command's input, to repeat them in another command or to refuse them.

This module must not know what an option means, nor where the other command runs.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator

from metalog.errors import InvalidRequest


def input_options(arguments: Namespace) -> Iterator[tuple[str, str | None]]:
    """The ``config_options``, and the given options of ``add_source`` except ``--at``."""
    yield from _valued(arguments, "command_config")
    yield from config_options(arguments)
    yield from (
        (f"--{name}", None) for name in ("committed", "salvage") if getattr(arguments, name)
    )


def config_options(arguments: Namespace) -> Iterator[tuple[str, str | None]]:
    """The given options of ``add_config`` with their values; a flag's value is None."""
    yield from _valued(arguments, "config", "super_users", "kafka")
    if arguments.allow_everyone is not None:
        yield "--allow-everyone" if arguments.allow_everyone else "--no-allow-everyone", None


def refuse_config_options(arguments: Namespace, advice: str) -> None:
    """Raise ``InvalidRequest`` with ``advice`` if an option of ``add_config`` is given."""
    for option, _ in config_options(arguments):
        raise InvalidRequest(f"{option}: {advice}, or leave out {option}")


def _valued(arguments: Namespace, *names: str) -> Iterator[tuple[str, str]]:
    for name in names:
        if (value := getattr(arguments, name)) is not None:
            yield f"--{name.replace('_', '-')}", value


def verb_options(arguments: Namespace, *, decides: bool = True) -> list[str]:
    """The ``input_options`` as words for another verb. Only a verb that ``decides`` gets the
    ``config_options``."""
    others = () if decides else tuple(config_options(arguments))
    return [
        option if value is None else f"{option}={value}"
        for option, value in input_options(arguments)
        if (option, value) not in others
    ]
