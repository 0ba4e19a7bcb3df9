"""Formats numbers, times and ACLs for a report.

This module must not know where its words are shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from metalog.text.plurals import counted, ranged

_LARGE = ((1_000_000_000, "bn"), (1_000_000, "million"))


def roughly(count: int) -> str:
    """``4.9 bn``, ``5.2 million``; smaller numbers exactly."""
    for size, word in _LARGE:
        if count >= size:
            return f"{count / size:.1f} {word}".replace(".0 ", " ")
    return f"{count:,}"


def share(part: int, whole: int) -> str:
    """A percentage; 0% and 100% only if exact."""
    if part in (0, whole):
        return "0%" if part == 0 else "100%"
    return f"{min(99.9, max(0.1, 100 * part / whole)):.1f}%".replace(".0%", "%")


def moment(us: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=us)


def stamp(value: datetime) -> str:
    """The time in ISO 8601, for programs."""
    return f"{value:%Y-%m-%dT%H:%M:%SZ}"


def day(us: int) -> str:
    when = moment(us)
    return f"{when.day} {when:%B %Y}"


def resource(row: Mapping[str, Any]) -> str:
    """``TOPIC``, with the pattern type if it is not LITERAL."""
    kind: str = row["resource_type"]
    return kind if row["pattern_type"] == "LITERAL" else f"{kind} {row['pattern_type']}"


def permission(row: Mapping[str, Any]) -> str:
    """``ALLOW READ``, with the host unless it is ``*``."""
    where = "" if row["host"] == "*" else f" from {row['host']}"
    return f"{row['permission_type']} {row['operation']}{where}"


def hosts_text(row: Mapping[str, Any]) -> str:
    """``10.0.0.1``, or ``3 hosts, 10.0.0.1 last``."""
    hosts, last = row["hosts"], row["host"]
    return str(last) if hosts == 1 else f"{counted(hosts, 'host')}, {last} last"


def offsets(row: Mapping[str, Any]) -> str:
    """The first and the last offset of a range of the metadata log."""
    first, end = row["from_offset"], row["to_offset"]
    return f"offsets {ranged(_shown(first), _shown(None if end is None else end - 1))}"


def _shown(offset: int | None) -> str:
    return "?" if offset is None else f"{offset:,}"


def between(row: Mapping[str, Any]) -> str:
    """The start and end of a range of the metadata log."""
    edges = [None if row[name] is None else day(row[name]) for name in ("from_time", "to_time")]
    return ranged(edges[0] or "the beginning", edges[1] or "the end")
