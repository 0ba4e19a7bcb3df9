"""Parses one line of an audit log: its request, the half lines in it, and its possible requests.

A writer that dies can leave half a line, and the next line is appended to the half line. A half
line without a verdict (``readings.has_verdict``) is rejected, and the rest is read as a whole line.
Any other text can have several readings. The likeliest reading is the request; each other reading
is a possible request. This module must not know files, Arrow, nor Spark.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Final, NamedTuple

from authorizer.audit.layouts import (
    LayoutEntry,
    Zone,
    prefix_start,
    read_entry,
    texts_before_json,
    time_before,
    unwrapped,
)
from authorizer.audit.line import HEAD, Row, read_row
from authorizer.audit.readings import Reading, has_verdict, heads_in, readings, unfinished
from metalog.errors import InvalidRequest

TORN: Final = "torn: another line begins within it"
CUT: Final = "cut: the file ends within this line"
LINE_FEED: Final = "half a line: a name in it has a line feed, and goes on in the next line"
EMPTY: Final = "an empty line"
_MOST_TORN: Final = 64
_MOST_HALVES: Final = 8
_MOST_POSSIBLE: Final = 256
_WHOLE_NEXT: Final = r'\[?[12]\d{3}-\d\d|\{"|\x00+'
_NEXT: Final = re.compile(
    rf"{_WHOLE_NEXT}|(?:\[?[12](?:\d{{0,3}}|\d{{3}}-\d?)|\[|\{{)(?=\r?\Z|{_WHOLE_NEXT})"
)
"""The beginning of a next line, also if it is cut, or zeros in place of bytes that were never
written."""
_NEXT_LINE: Final = re.compile(r'\[?[12]\d{3}-\d\d-\d\d[ T]\d\d|\{"|\x00')
"""The beginning of a next line, in a form that few names have."""
_REQUEST: Final = " for request = "
_CUT_CHARACTER: Final = re.compile(
    f"[\udcc2-\udcf4][\udc80-\udcbf]{{0,2}}(?=\r?\\Z|{_NEXT.pattern})"
)
"""The first bytes of a UTF-8 character that is cut."""
_MOST_LAYERS: Final = 3
_ESCAPE: Final = re.compile(r"(?:\\u[0-9A-Fa-f]{4})+|\\.")
"""Escapes of JSON: a character beyond U+FFFF is two escapes side by side."""
_CUT_ESCAPE: Final = re.compile(
    "(?:[\ud800-\udbff]|\\\\u[Dd][89ABab][0-9A-Fa-f]{2})?"  # half of a surrogate pair
    r"(?:\\(?:u[0-9A-Fa-f]{0,3})?)?(?=\r?\Z)"
)
_LONGEST_CUT_ESCAPE: Final = len(r"\ud83d\ude4" "\r")
_STRAY: Final = re.compile("[\udc80-\udcff]+")
_ENCODINGS: Final = ("cp1252", "latin-1")
"""The encodings of brokers whose locale does not use UTF-8."""


class Possible(NamedTuple):
    """A possible request. ``micros`` is its time in microseconds since 1970, or None. ``zone`` is
    set if only the time is in doubt: clocks in this zone showed the time twice."""

    row: Row
    micros: int | None
    zone: str | None = None


class TextRead(NamedTuple):
    """``request`` is the request and its time in microseconds since 1970, or None. ``rejected`` has
    the rejected parts, each with the reason."""

    request: tuple[Row, int] | None
    rejected: list[tuple[str, str]]
    possible: list[Possible]


def read_text(
    text: str, zone: Zone, *, is_whole: bool = True, raw: bytes | None = None
) -> TextRead:
    """Read one line of a log. ``is_whole`` is false if no line feed ends the line. ``raw`` are the
    line's bytes if they are not UTF-8."""
    found = _read(text, zone, is_whole=is_whole, is_damaged=raw is not None)
    if raw is not None:
        found.possible.extend(_of_other_encodings(raw, zone, is_whole=is_whole))
    return found


def _read(text: str, zone: Zone, *, is_whole: bool, is_damaged: bool) -> TextRead:
    *torn, rest = _parts(text) if text.count(HEAD) > 1 else [text]
    if rest.count(HEAD) > 1:
        torn += [each for each in texts_before_json(rest) if HEAD in each]
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
    may_be_joined = row.rule is None and _NEXT_LINE.search(row.resource_name) is not None
    if row.ambiguous or may_be_joined:
        row = row._replace(ambiguous=True)
        possible += _of_entry(entry, zone, row)
    if _ESCAPE.search(entry.text) and (torn or HEAD in entry.text[len(HEAD) :]):
        possible += half_readings(entry.text, zone)
    is_ambiguous = row.ambiguous or bool(torn) or is_damaged
    if is_ambiguous or not entry.is_sure:
        row = row._replace(ambiguous=True)
    span = None if entry.is_sure else zone.repeated(entry.micros)
    if span is not None:
        second_us = entry.micros + span.set_back_us - span.begin_us
        possible.append(Possible(row, second_us, None if is_ambiguous else zone.name))
    return TextRead((row, entry.micros), rejected, possible)


def whole_readings(text: str, zone: Zone) -> list[Possible]:
    """The possible requests of a record with a line feed in a name."""
    try:
        entry = read_entry(text, zone)
    except InvalidRequest:
        return []
    return [*_timed(readings(entry.text), entry.text, zone, entry.micros, None)]


def _parts(text: str) -> list[str]:
    """The half lines in ``text``, then the rest of ``text``."""
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
    """All readings of a line except ``row``, the likeliest reading."""
    text = entry.text
    later_heads = [*islice(heads_in(text), 1, _MOST_HALVES)]
    may_break_off = row.rule is None or bool(later_heads) or text.count(_REQUEST) > 1
    found = [*readings(text), *(_begun(text) if may_break_off else ())]
    for head in later_heads:
        if begin := prefix_start(text, head):
            found += unfinished(text[:begin])
    yield from _timed(found, text, zone, entry.micros, row)


def half_readings(text: str, zone: Zone) -> Iterator[Possible]:
    """The possible requests of a half line with a verdict. In half of a JSON object, names are
    still escaped. So the text is also read without escapes."""
    found = (
        _timed([*readings(each), *_begun(each)], each, zone, None, None)
        for each in _with_unescaped(text)
        if has_verdict(each)
    )
    yield from islice(chain.from_iterable(found), _MOST_POSSIBLE)


def _begun(text: str) -> Iterator[Reading]:
    """The readings of ``text``, and of each part before a possible next line, as half a line."""
    nexts = islice(_NEXT.finditer(text, max(text.find(HEAD), 0)), _MOST_HALVES)
    for end in (len(text), *(found.start() for found in nexts)):
        tail = max(end - _LONGEST_CUT_ESCAPE, 0)
        yield from unfinished(text[:tail] + _CUT_ESCAPE.sub("", text[tail:end]))


def _with_unescaped(text: str) -> Iterator[str]:
    yield text
    for _ in range(_MOST_LAYERS):
        before, text = text, _ESCAPE.sub(_unescaped, text)
        if text == before:
            return
        yield text


def _unescaped(escape: re.Match[str]) -> str:
    try:
        return str(json.loads(f'"{escape[0]}"'))
    except ValueError:
        return escape[0]


def _of_other_encodings(raw: bytes, zone: Zone, *, is_whole: bool) -> Iterator[Possible]:
    """The possible requests if the line has another encoding, or has it only in the bytes that are
    not UTF-8. Also the possible requests of half lines that end within a character."""
    with_bytes = raw.decode(errors="surrogateescape")
    for cut in islice(_CUT_CHARACTER.finditer(with_bytes), _MOST_HALVES):
        before = with_bytes[: cut.start()].encode(errors="surrogateescape")
        yield from half_readings(before.decode(errors="backslashreplace"), zone)
    mixed = _STRAY.sub(lambda found: _stray(found[0]), with_bytes)
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
