"""What the list of changes of a pipeline's folder comes to, change by change.

This module must not know where the list lies, nor how it is read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple


class Days(NamedTuple):
    """``place`` has all rows of ``days``, as partitions are called."""

    place: str
    days: Sequence[str]


class Contents(NamedTuple):
    """``places`` by table, ``facts`` by name, ``parts``, places of what was added to a table
    since it was last replaced, and ``days`` of a table that were replaced since then, the newest
    last."""

    serial: int
    places: Mapping[str, str]
    facts: Mapping[str, Any]
    parts: Mapping[str, tuple[str, ...]]
    days: Mapping[str, tuple[Days, ...]]

    def after(self, change: Mapping[str, Any]) -> Contents:
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


NOTHING: Final = Contents(0, {}, {}, {}, {})


def changes_in(lines: Iterable[str]) -> list[dict[str, Any]]:
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
