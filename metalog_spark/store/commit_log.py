"""Replays the commit log of a pipeline's folder.

This module must not know where the list lies, nor how it is read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from metalog.errors import InvalidSource

LIST: Final = "changes"
"""The path of the list in the folder."""
KIND: Final = "kraft-metalog pipeline"
VERSION: Final = 5


class Days(NamedTuple):
    """``place`` has all rows of ``days``, as partitions are called."""

    place: str
    days: Sequence[str]


class CommittedState(NamedTuple):
    """``places`` by table, ``facts`` by name, ``parts``, places of what was added to a table
    since it was last replaced, and ``days`` of a table that were replaced since then, the newest
    last."""

    serial: int
    places: Mapping[str, str]
    facts: Mapping[str, Any]
    parts: Mapping[str, tuple[str, ...]]
    days: Mapping[str, tuple[Days, ...]]

    def after(self, change: Mapping[str, Any]) -> CommittedState:
        places, facts, parts = dict(self.places), dict(self.facts), dict(self.parts)
        days = dict(self.days)
        for table, place in change.get("places", {}).items():
            places[table] = place
            parts.pop(table, None)
            days.pop(table, None)
        for table, place in change.get("parts", {}).items():
            parts[table] = (*parts.get(table, ()), place)
        for table, (place, joined) in change.get("joined", {}).items():
            parts[table] = (place, *(each for each in parts[table] if each not in joined))
        for table, (place, values) in change.get("days", {}).items():
            days[table] = (*days.get(table, ()), Days(place, values))
        facts.update(change.get("facts", {}))
        contents = self._replace(places=places, facts=facts, parts=parts, days=days)
        for each in change.get("all", ()):
            contents = contents.after(each)
        return contents

    def places_of(self, table: str) -> list[str]:
        """What has its rows, as far as they are not of days that were replaced."""
        whole = [self.places[table]] if table in self.places else []
        return [
            *whole,
            *self.parts.get(table, ()),
            *(each.place for each in self.days.get(table, ())),
        ]

    def stored(self, table: str, within: str | None) -> str:
        """The table whose places have the rows of ``table``: its own, or else those of the one
        that it is ``within``."""
        return table if within is None or self.places_of(table) else within

    def tables(self) -> Iterator[str]:
        """The names of those that were written."""
        yield from dict.fromkeys([*self.places, *self.parts, *self.days])


NOTHING: Final = CommittedState(0, {}, {}, {}, {})


def replayed(read: Callable[[], Iterable[str] | None], path: str) -> CommittedState | None:
    """What the list of the folder ``path`` comes to; None where it is none, ``InvalidSource``
    where it is not whole or of another version. What was read while lines came may lack one of
    them, so that it is ``read`` again."""
    try:
        return _replayed(read(), path)
    except InvalidSource:
        return _replayed(read(), path)


def _replayed(lines: Iterable[str] | None, path: str) -> CommittedState | None:
    if lines is None:
        return None
    changes = _changes_in(lines)
    if not changes or changes[0].get("kind") != KIND:
        return None
    if changes[0].get("version") != VERSION:
        raise InvalidSource(
            f"{path}: written by an incompatible version of the pipeline; rebuild it"
        )
    contents = NOTHING
    for change in changes:
        if change["serial"] != contents.serial + 1:
            raise InvalidSource(
                f"{path}/{LIST}: line {contents.serial + 1} is not there, and what it put in force"
                " is not known: take the folder back whole from a copy, or make another"
            )
        contents = contents.after(change)._replace(serial=change["serial"])
    return contents


def _changes_in(lines: Iterable[str]) -> list[dict[str, Any]]:
    """In order, the last written of each serial. What a killed process had all but put into the
    list comes into it with the next line, which was written by one who saw nothing of it."""
    written = sorted(map(_parsed, lines), key=lambda change: change.get("written_ns", 0))
    last = {change.get("serial", 0): change for change in written}
    return sorted(last.values(), key=lambda change: change.get("serial", 0))


def _parsed(line: str) -> dict[str, Any]:
    try:
        change = json.loads(line)
    except ValueError:
        return {}
    return change if isinstance(change, dict) else {}
