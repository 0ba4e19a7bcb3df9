"""Replays the commit log of a pipeline's folder.

Each line is one commit. Some lines have the whole state instead of a change, so that earlier lines
can be removed. This module must not know where the commit log is stored, nor how it is read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from metalog.errors import InvalidSource

COMMIT_LOG: Final = "changes"
"""The commit log's name in the folder."""
KIND: Final = "kraft-metalog pipeline"
VERSION: Final = 6
COMMITS_PER_STATE: Final = 200
"""One line per this number of commits has the whole state."""
_STATE: Final = "state"


class Days(NamedTuple):
    """``place`` has all rows of ``days`` (``2026-12-31``)."""

    place: str
    days: Sequence[str]


class CommittedState(NamedTuple):
    """The state after the commit number ``serial``, made at ``written_ns`` (nanoseconds since
    1970).

    Three fields have the directories of each table. ``places``: the last replacement of the whole
    table. ``parts``: rows added later. ``days``: later replacements of days, in order.
    """

    serial: int
    places: Mapping[str, str]
    facts: Mapping[str, Any]
    parts: Mapping[str, tuple[str, ...]]
    days: Mapping[str, tuple[Days, ...]]
    written_ns: int = 0

    def after(self, change: Mapping[str, Any]) -> CommittedState:
        if _STATE in change:
            return self._of(change[_STATE])._replace(serial=self.serial)
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

    def committed(self, serial: int, written_ns: int) -> CommittedState:
        return self._replace(serial=serial, written_ns=written_ns)

    def as_change(self) -> dict[str, Any]:
        """The change that turns any state into this state."""
        days = {name: [[*one] for one in replacements] for name, replacements in self.days.items()}
        whole = {"places": self.places, "facts": self.facts, "parts": self.parts, "days": days}
        return {_STATE: whole}

    @classmethod
    def _of(cls, whole: Mapping[str, Any]) -> CommittedState:
        parts = {table: tuple(places) for table, places in whole["parts"].items()}
        days = {
            table: tuple(Days(place, values) for place, values in replacements)
            for table, replacements in whole["days"].items()
        }
        return cls(0, whole["places"], whole["facts"], parts, days)

    def places_of(self, table: str) -> list[str]:
        """All directories of the table. They also have replaced rows."""
        whole = [self.places[table]] if table in self.places else []
        return [
            *whole,
            *self.parts.get(table, ()),
            *(each.place for each in self.days.get(table, ())),
        ]

    def stored_as(self, table: str, within: str | None) -> str:
        """The table whose directories have the rows of ``table``."""
        return table if within is None or self.places_of(table) else within

    def tables(self) -> Iterator[str]:
        yield from dict.fromkeys([*self.places, *self.parts, *self.days])


NOTHING: Final = CommittedState(0, {}, {}, {}, {})


def replayed(read: Callable[[], Iterable[str] | None], path: str) -> CommittedState | None:
    """Replay the commit log of the folder ``path``; None if ``path`` is not a pipeline's folder.

    Raises ``InvalidSource`` if a line is missing, or if an incompatible version wrote the log. A
    read during a commit can miss a line, so ``read`` is called a second time before the error.
    """
    try:
        return _replayed(read(), path)
    except InvalidSource:
        return _replayed(read(), path)


def _replayed(lines: Iterable[str] | None, path: str) -> CommittedState | None:
    if lines is None:
        return None
    written = [*map(_parsed, lines)]
    if not written or not all(map(_is_ours, written)):
        return None
    changes = _in_order(written)
    if changes[0].get("version", VERSION) != VERSION:
        raise InvalidSource(
            f"{path}: written by an incompatible version of the pipeline; rebuild it"
        )
    contents = NOTHING
    if _STATE in changes[0]:
        contents = contents._replace(serial=changes[0]["serial"] - 1)
    for change in changes:
        if change["serial"] != contents.serial + 1:
            raise InvalidSource(
                f"{path}/{COMMIT_LOG}: line {contents.serial + 1} is missing:"
                " restore the whole folder from a backup, or build it again"
            )
        contents = contents.after(change).committed(change["serial"], change.get("written_ns", 0))
    return contents


def _is_ours(change: Mapping[str, Any]) -> bool:
    return "serial" in change and change.get("kind", KIND) == KIND


def _in_order(written: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The changes in order, from the last whole state on. Of lines with the same serial, the newest
    counts: the line of a killed process can appear after another process used the same serial."""
    by_time = sorted(written, key=lambda change: change.get("written_ns", 0))
    last = {change["serial"]: change for change in by_time}
    changes = sorted(last.values(), key=lambda change: change["serial"])
    states = [index for index, change in enumerate(changes) if _STATE in change]
    return changes[states[-1] :] if states else changes


def _parsed(line: str) -> dict[str, Any]:
    try:
        change = json.loads(line)
    except ValueError:
        return {}
    return change if isinstance(change, dict) else {}
