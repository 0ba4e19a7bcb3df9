"""One text of an audit log: the request it says, the half lines in it, and what else it may mean.

A writer that dies leaves half a line, and the next one may be appended to it. Where the first
half has no whole verdict, the text is two: a broken line, and a line of its own. Any other text
that can be read in several ways is one request, the likeliest, and each other reading is a
request that may have been. This module must not know files, Arrow, nor Spark.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, NamedTuple

from authorizer.audit.layouts import (
    LayoutEntry,
    Zone,
    prefix_start,
    read_entry,
    time_before,
    unwrapped,
)
from authorizer.audit.line import HEAD, Row, read_row
from authorizer.audit.readings import Reading, has_verdict, heads_in, readings, unfinished
from metalog.errors import InvalidRequest

TORN: Final = "torn: another line begins within it"
CUT: Final = "cut: the file ends within this line"
LINE_FEED: Final = "half a line: a name in it has a line feed, and goes on behind it"
EMPTY: Final = "an empty line"
_MOST_TORN: Final = 64
_MOST_HALVES: Final = 8
_STRAY: Final = re.compile("[\udc80-\udcff]+")
_ENCODINGS: Final = ("cp1252", "latin-1")
"""What brokers write in whose locale is not of UTF-8."""


class Possible(NamedTuple):
    """A request that may have been made at ``micros``, by a line that says so in one of its
    readings; None: nobody knows when. It is the line's only reading where clocks of its ``zone``
    showed its time twice: then ``micros`` is the second of the two times."""

    row: Row
    micros: int | None
    zone: str | None = None


class TextRead(NamedTuple):
    """The request of a text at its time, or None; ``rejected`` parts of it with the reason; and
    the other requests that are ``possible``."""

    request: tuple[Row, int] | None
    rejected: list[tuple[str, str]]
    possible: list[Possible]


def read_text(
    text: str, zone: Zone, *, is_whole: bool = True, raw: bytes | None = None
) -> TextRead:
    """What one line of a log comes to. Not ``is_whole``: no line feed ends it. ``raw`` are its
    bytes where they are not UTF-8."""
    found = _read(text, zone, is_whole=is_whole, is_damaged=raw is not None)
    if raw is not None:
        found.possible.extend(_of_other_encodings(raw, zone, is_whole=is_whole))
    return found


def _read(text: str, zone: Zone, *, is_whole: bool, is_damaged: bool) -> TextRead:
    *torn, rest = _parts(text) if text.find(HEAD, text.find(HEAD) + 1) > 0 else [text]
    rejected = [(part, TORN) for part in torn]
    possible = [each for part in torn for each in half_readings(part, zone)]
    try:
        entry = read_entry(rest, zone)
        row = read_row(entry.text)
        if not is_whole and row.rule is None:
            raise InvalidRequest(CUT)
    except InvalidRequest as fault:
        rejected.append((rest, str(fault) if rest.strip() else EMPTY))
        return TextRead(None, rejected, [*possible, *half_readings(rest, zone)])
    if row.ambiguous:
        possible += _of_entry(entry, zone, row)
    is_ambiguous = row.ambiguous or bool(torn) or is_damaged
    if is_ambiguous or not entry.is_sure:
        row = row._replace(ambiguous=True)
    span = None if entry.is_sure else zone.repeated(entry.micros)
    if span is not None:
        second = entry.micros + span.turn_us - span.begin_us
        possible.append(Possible(row, second, None if is_ambiguous else zone.name))
    return TextRead((row, entry.micros), rejected, possible)


def whole_readings(text: str, zone: Zone) -> list[Possible]:
    """What several lines may say that are one record, as a name with a line feed makes them."""
    try:
        entry = read_entry(text, zone)
    except InvalidRequest:
        return []
    return [*_timed(readings(entry.text), entry.text, zone, entry.micros, None)]


def _parts(text: str) -> list[str]:
    """Half lines, and what is behind them."""
    try:
        inner = unwrapped(text)
    except InvalidRequest:
        return _divided(text)
    parts = _divided(inner)
    return [text] if len(parts) == 1 else parts


def _divided(text: str) -> list[str]:
    parts, start = [], 0
    for head in islice(heads_in(text), _MOST_TORN):
        begin = prefix_start(text, head)
        half = "" if begin is None else text[start:begin]
        if begin is None or begin <= start or HEAD not in half:
            continue
        if has_verdict(half):
            break
        parts.append(half)
        start = begin
    return [*parts, text[start:]]


def _of_entry(entry: LayoutEntry, zone: Zone, row: Row) -> Iterator[Possible]:
    """The readings of a line but for that which is ``row``, the likeliest."""
    text = entry.text
    found = [*readings(text), *(unfinished(text) if row.rule is None else ())]
    for head in islice(heads_in(text), 1, _MOST_HALVES):
        if begin := prefix_start(text, head):
            found += unfinished(text[:begin])
    yield from _timed(found, text, zone, entry.micros, row)


def half_readings(text: str, zone: Zone) -> Iterator[Possible]:
    """What a half line may have been that says who was allowed or denied what."""
    if not has_verdict(text):
        return
    found = [*readings(text), *unfinished(text)]
    yield from _timed(found, text, zone, None, None)


def _of_other_encodings(raw: bytes, zone: Zone, *, is_whole: bool) -> Iterator[Possible]:
    """What a line says where its bytes, or those of them that are not UTF-8, are of another
    encoding."""
    bytes_told = raw.decode(errors="surrogateescape")
    mixed = _STRAY.sub(lambda found: _stray(found[0]), bytes_told)
    for text in dict.fromkeys([mixed, *(raw.decode(each, "replace") for each in _ENCODINGS)]):
        found = read_text(text, zone, is_whole=is_whole)
        if found.request is not None:
            yield Possible(*found.request)
        yield from (each._replace(zone=None) for each in found.possible)


def _stray(text: str) -> str:
    return text.encode(errors="surrogateescape").decode(_ENCODINGS[0], "replace")


def _timed(
    found: Iterable[Reading], text: str, zone: Zone, micros: int | None, known: Row | None
) -> Iterator[Possible]:
    for head, each in dict.fromkeys(found):
        row = each._replace(ambiguous=True)
        if row != known:
            at = time_before(text, head, zone) if head else None
            yield Possible(row, micros if at is None else at)
