"""Properties, each with its line in a file or its command-line option, for error messages.

This module must not know what any key means.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from metalog.config.properties import Property, properties_mapping
from metalog.errors import ConfigException, InvalidRequest

R = TypeVar("R")

LISTENER_PREFIX: Final = "listener.name."


class LocatedProperties:
    """``used`` has the keys read so far. An empty ``file`` means that there is no file."""

    def __init__(self, properties: Iterable[Property], file: str) -> None:
        kept = list(properties)
        self.properties = properties_mapping(kept)
        self.used: set[str] = set()
        self._lines = {pair.key: pair.line for pair in kept}
        self._options: dict[str, str] = {}
        self._file = file

    def override(self, key: str, value: str, option: str) -> None:
        """Set ``key`` to the value of a command's ``option``."""
        self.properties[key] = value
        self._options[key] = option

    def value(self, key: str) -> str | None:
        self.used.add(key)
        return self.properties.get(key)

    def of_listener(self, name: str, key: str) -> tuple[str, str | None]:
        """The key ``listener.name.NAME.KEY`` if it is set, else ``key``; and the key's value."""
        own = f"{LISTENER_PREFIX}{name.lower()}.{key}"
        value = self.value(own)
        return (key, self.value(key)) if value is None else (own, value)

    def wrong(self, key: str, why: str) -> ConfigException:
        return ConfigException(self.message(key, why))

    def message(self, key: str, why: str) -> str:
        return f"{self._at(key)}{key}: {why}"

    def read(self, key: str, reader: Callable[..., R], *arguments: object) -> R:
        """The result of ``reader(*arguments)``. An ``InvalidRequest`` becomes a ``ConfigException``
        with ``placed_text``."""
        try:
            return reader(*arguments)
        except InvalidRequest as error:
            raise ConfigException(self.placed_text(str(error), key)) from None

    def placed_text(self, text: str, default: str = "") -> str:
        """``text`` after the place of a key: a file and line, or the option that set the key.

        The key is the first word of ``text``, or ``default`` if no property has this key.
        """
        begin = re.split("[:= ]", text, maxsplit=1)[0]
        if begin in self._options:
            return self._options[begin] + text.removeprefix(begin)
        key = begin if begin in self._lines else default
        return f"{self._options[key]}: {text}" if key in self._options else self._at(key) + text

    def _at(self, key: str) -> str:
        line = self._lines.get(key)
        if not self._file:
            return ""
        return f"{self._file}: " if line is None else f"{self._file}, line {line}: "
