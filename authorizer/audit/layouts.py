"""Parses the text around an audit line: the time of a log layout, and JSON.

log4j's PatternLayout, syslog and containers write prefixes before the audit line. JSON layouts and
log drivers put the line inside JSON, once or several times. The time nearest to the audit line
counts, because the broker wrote this time.

This module must not know files, nor what an audit line says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from authorizer.audit.zone_abbreviations import is_called
from metalog.errors import InvalidRequest

NOT_AUDIT: Final = "not an audit line: it has no 'Principal = '"
_HEAD: Final = "Principal = "
_HEAD_IN_JSON: Final = "Principal "
"""Some JSON writers escape the equals sign."""
_JSON: Final = re.compile(r'\{\s*"')
_DECODER: Final = json.JSONDecoder()
_MESSAGE_KEYS: Final = (
    "message", "log", "short_message", "msg", "event", "line", "text", "textPayload",
    "@message", "MESSAGE", "full_message",
)  # fmt: skip
_TIME_KEYS: Final = (
    "@timestamp", "timestamp", "instant", "timeMillis", "time", "ts", "date",
    "epochMillis", "__REALTIME_TIMESTAMP",
)  # fmt: skip
_MOST_LAYERS: Final = 4
_LONGEST_PREFIX: Final = 512

_MONTHS: Final = (
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
)  # fmt: skip
_TIME: Final = re.compile(
    r"(?<!\d)(?:(\d{4})([-/]?)(\d\d)\2(\d\d)|(\d\d)[ /-]([A-Z][a-z]{2})[ /-](\d{4}))"
    r"[ T:](\d\d):?(\d\d):?(\d\d)(?:[,.:](\d{1,9}))?(?!\d)(?: ?([AP])\.?M\b)?"
    r"( ?(?:GMT|UTC)[+-]\d\d?(?::?\d\d)?(?![\d:])"
    r"| ?(?:Z|UTC|GMT|[CEW]ES?T|BST|IST|MSK|[ECMP][SD]T|[JK]ST|SGT|HKT|A[CE][SD]T|NZ[SD]T)\b"
    r"| ?[+-]\d\d:?\d\d(?!\d)|[+-]\d\d(?![\d:]))?"
)
_GLUED: Final = re.compile(r".*\d(?=\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)", re.DOTALL)
"""A line cut within its date and time, directly before the next line's date and time."""
_EPOCH: Final = re.compile(r"\[?(\d{13}|\d{10}(?:\.\d{1,9})?)(?![\d.])")
_COMMON: Final = re.compile(
    r"\[?([0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}):([0-5][0-9])[,.]([0-9]{3})\]? "
    r"(?:(?:TRACE|DEBUG|INFO|WARN) )?(?=Principal = )"
)
_NUMBER: Final = re.compile(r"(\d{9,19})(?:\.(\d{1,9}))?")
_OFFSET: Final = re.compile(r"([+-])(\d\d):?(\d\d)?")
_GMT_OFFSET: Final = re.compile(r"(?:GMT|UTC)([+-])(\d\d?)(?::?(\d\d))?")
_UTC_NAMES: Final = ("Z", "UTC", "GMT")
_EPOCH_START: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_HALF_HOUR_US: Final = 1_800_000_000
_DAY_US: Final = 48 * _HALF_HOUR_US
TIMES_END_US: Final = 253_402_300_800_000_000
"""The start of the year 10000, which Python's dates cannot represent."""
_MINUTES_KEPT: Final = 4096


class LayoutEntry(NamedTuple):
    """An audit line with its time.

    ``text`` is the audit line and the layout's text after it. ``micros`` are microseconds since
    1970 in UTC. ``is_sure`` is false if clocks show the time twice, and no abbreviation such as
    ``CEST`` tells which. ``micros`` is then the first of the two times.
    """

    text: str
    micros: int
    is_sure: bool


class Instant(NamedTuple):
    """The time of a ``LayoutEntry``."""

    micros: int
    is_sure: bool


class RepeatedSpan(NamedTuple):
    """Clock time that comes twice: until ``set_back_us``, and again until ``end_us``.

    All fields are microseconds since 1970 in UTC.
    """

    begin_us: int
    set_back_us: int
    end_us: int


class Zone:
    """A zone, such as ``Europe/Berlin`` or ``+02:00``, for times without an offset."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._zone = _zone(name)
        self._minutes: dict[str, Instant] = {}

    def __reduce__(self) -> tuple[type[Zone], tuple[str]]:
        return Zone, (self.name,)

    def instant(self, local: datetime, abbreviation: str = "") -> Instant:
        """The instant of ``local``. Raises ``InvalidRequest`` if the zone's clocks never show
        ``local``, or not with ``abbreviation``."""
        first, second = local.replace(tzinfo=self._zone), local.replace(tzinfo=self._zone, fold=1)
        if abbreviation:
            matching = [each for each in (first, second) if is_called(abbreviation, each)]
            if not matching:
                raise InvalidRequest(
                    f"its time zone {abbreviation} is not in use in {self.name} at"
                    f" {local:%Y-%m-%d %H:%M}"
                )
            first, second = matching[0], matching[-1]
        before, after = first.utcoffset(), second.utcoffset()
        if before is None or after is None or before == after:
            return Instant(_micros(first), True)
        if before < after:
            raise InvalidRequest(f"its time {local:%Y-%m-%d %H:%M} does not exist in {self.name}")
        return Instant(_micros(first), False)

    def repeated(self, micros: int) -> RepeatedSpan | None:
        """The repeated range that contains ``micros``, or None."""
        begin = self._local(micros).replace(fold=0)
        before, after = begin.utcoffset(), begin.replace(fold=1).utcoffset()
        if before is None or after is None or before <= after:
            return None
        back = (before - after) // _MICROSECOND
        old, new = _micros(begin), _micros(begin) + back
        while new - old > 1:
            middle = (old + new) // 2
            if self._local(middle).utcoffset() == after:
                new = middle
            else:
                old = middle
        return RepeatedSpan(new - back, new, new + back)

    def repeated_on(self, day_us: int) -> RepeatedSpan | None:
        """The repeated range of at least half an hour in the day that begins at ``day_us``, or
        None. The result is None in the last days before the year 10000."""
        end_us = day_us + _DAY_US
        if end_us + _DAY_US >= TIMES_END_US:
            return None
        before, after = self._local(day_us).utcoffset(), self._local(end_us).utcoffset()
        if before is None or after is None or before <= after:
            return None
        spans = map(self.repeated, range(day_us, end_us + 1, _HALF_HOUR_US))
        return next(filter(None, spans), None)

    def clock_span(self, span: RepeatedSpan) -> str:
        """What the zone's clocks show in ``span``, such as ``2026-10-25 02:00 to 03:00``."""
        first, last = (f"{self._local(us):%Y-%m-%d %H:%M}" for us in (span.begin_us, span.end_us))
        day = first.partition(" ")[0]
        return f"{first} to {last.removeprefix(f'{day} ')}"

    def _local(self, micros: int) -> datetime:
        return (_EPOCH_START + micros * _MICROSECOND).astimezone(self._zone)

    def minute(self, text: str) -> Instant:
        """The instant of a minute, such as ``2026-11-21 18:35``, cached."""
        start = self._minutes.get(text)
        if start is None:
            start = self.instant(datetime.fromisoformat(text))
            if len(self._minutes) >= _MINUTES_KEPT:
                self._minutes.clear()
            self._minutes[text] = start
        return start


def read_entry(text: str, zone: Zone) -> LayoutEntry:
    """The audit line in a log's line, and its time. Raises ``InvalidRequest``."""
    common = _COMMON.match(text)
    if common is None:
        return _read_any_layout(text, zone)
    minute, seconds, millis = common.groups()
    try:
        start, is_sure = zone.minute(minute)
    except (ValueError, OverflowError):
        return _read_any_layout(text, zone)
    micros = start + int(seconds) * 1_000_000 + int(millis) * 1_000
    return LayoutEntry(text[common.end() :], micros, is_sure)


def _read_any_layout(text: str, zone: Zone) -> LayoutEntry:
    text, around = _unwrapped(text)
    at = text.find(_HEAD)
    if at < 0:
        raise InvalidRequest(NOT_AUDIT)
    time = _time_in(text[:at], zone)
    for layer in reversed(around):
        time = time or (_time_in(layer, zone) if isinstance(layer, str) else _time_of(layer, zone))
    if time is None:
        raise InvalidRequest("no time: no date and time stand before the audit line")
    return LayoutEntry(text[at:], *time)


def prefix_start(text: str, head: int) -> int | None:
    """The position of the JSON object around the audit line at ``head``, or else of the last date
    and time before the audit line, or None."""
    near = max(0, head - _LONGEST_PREFIX)
    for opening in _JSON.finditer(text, near, head):
        with suppress(ValueError, RecursionError):
            if _DECODER.raw_decode(text, opening.start())[1] > head:
                return opening.start()
    start = None
    for found in _TIME.finditer(text, near, head):
        start = found.start()
    return start - 1 if start and text[start - 1] == "[" else start


def time_before(text: str, head: int, zone: Zone) -> int | None:
    """The last time just before the audit line at ``head``, in microseconds, or None."""
    try:
        time = _time_in(text[max(0, head - _LONGEST_PREFIX) : head], zone)
    except InvalidRequest:
        return None
    return None if time is None else time.micros


def unwrapped(text: str) -> str:
    """The log line inside the JSON of ``text``, or ``text`` itself without JSON.

    Raises ``InvalidRequest`` if the JSON is cut, or has ``Principal`` outside a log line.
    """
    return _unwrapped(text)[0]


def texts_before_json(text: str) -> list[str]:
    """The texts before the JSON objects around an audit line, outermost first."""
    try:
        return [each for each in _unwrapped(text)[1] if isinstance(each, str)]
    except InvalidRequest:
        return []


def fields_around(text: str) -> Iterator[str]:
    """The fields of a line of JSON, such as ``host.name=kafka-1``, without the audit line.

    A client cannot influence these fields: the layout or the log shipper wrote them.
    """
    try:
        wrapping = json.loads(text)
    except (ValueError, RecursionError):
        return
    if isinstance(wrapping, dict):
        yield from _fields(wrapping, "", _MOST_LAYERS)


def _fields(wrapping: dict[str, Any], above: str, layers: int) -> Iterator[str]:
    for name, value in wrapping.items():
        if isinstance(value, dict) and layers:
            yield from _fields(value, f"{above}{name}.", layers - 1)
        elif isinstance(value, str | int) and _HEAD_IN_JSON not in str(value):
            yield f"{above}{name}={value}"


def _unwrapped(text: str) -> tuple[str, list[Any]]:
    """The line inside JSON, and for each JSON object around the line, the outermost first: the text
    before the object, then the object."""
    around: list[Any] = []
    for _ in range(_MOST_LAYERS):
        head = text.find(_HEAD_IN_JSON)
        opening = _JSON.search(text, 0, head) if head >= 0 else None
        if opening is None:
            break
        try:
            wrapping, end = _DECODER.raw_decode(text, opening.start())
        except (ValueError, RecursionError):
            raise InvalidRequest("broken JSON around an audit line: was the JSON cut?") from None
        if end < head:
            break
        message = _message_in(wrapping)
        if message is None:
            raise InvalidRequest(NOT_AUDIT)
        around += [text[: opening.start()], wrapping]
        text = message.removesuffix("\n")
    return text, around


def _message_in(wrapping: dict[str, Any]) -> str | None:
    known = [wrapping.get(name) for name in _MESSAGE_KEYS]
    objects = (value for value in wrapping.values() if isinstance(value, dict))
    nested = (inner for value in objects for inner in value.values())
    for value in (*known, *wrapping.values(), *nested):
        if isinstance(value, str) and _HEAD_IN_JSON in value:
            return value
    return None


def _time_in(prefix: str, zone: Zone) -> Instant | None:
    """The last date and time in ``prefix``, or the epoch seconds or milliseconds at its start."""
    last = None
    if glued := _GLUED.match(prefix):
        prefix = prefix[glued.end() :]
    for found in _TIME.finditer(prefix):
        last = found
    if last is not None:
        return _calendar_time(last, zone)
    epoch = _EPOCH.match(prefix)
    return None if epoch is None else _epoch_time(epoch[1])


def _calendar_time(found: re.Match[str], zone: Zone) -> Instant:
    (
        year,
        _,
        month,
        day,
        other_day,
        month_name,
        other_year,
        hour,
        minute,
        second,
        fraction,
        half,
        zone_text,
    ) = found.groups()
    zone_text = (zone_text or "").strip()
    offset = _OFFSET.fullmatch(zone_text) or _GMT_OFFSET.fullmatch(zone_text)
    try:
        if month_name is not None:
            year, month, day = other_year, str(_MONTHS.index(month_name) + 1), other_day
        hours = int(hour) if half is None else int(hour) % 12 + 12 * (half == "P")
        local = datetime(
            int(year), int(month), int(day), hours, int(minute), int(second),
            microsecond=int((fraction or "0").ljust(6, "0")[:6]),
        )  # fmt: skip
        if offset is not None:
            return Instant(_micros(local.replace(tzinfo=_fixed(offset))), True)
        if zone_text in _UTC_NAMES:
            return Instant(_micros(local.replace(tzinfo=UTC)), True)
        return zone.instant(local, zone_text)
    except (ValueError, OverflowError):
        raise InvalidRequest(f"no time: {found[0].strip()} is not a valid time") from None


def _time_of(wrapping: dict[str, Any], zone: Zone) -> Instant | None:
    for name in _TIME_KEYS:
        value = wrapping.get(name)
        time = None
        if isinstance(value, str):
            time = _time_in(value, zone) or _epoch_time(value)
        elif isinstance(value, dict):
            time = _epoch_time(value.get("epochSecond"), value.get("nanoOfSecond"))
        elif value is not None:
            time = _epoch_time(value)
        if time is not None:
            return time
    return None


def _epoch_time(number: object, nanos: object = None) -> Instant | None:
    """The time for a number of seconds since 1970, or of milli-, micro- or nanoseconds if the
    number is too large for seconds."""
    found = _NUMBER.fullmatch(str(number))
    if found is None:
        return None
    whole, fraction = found.groups()
    if nanos is not None:
        if not isinstance(nanos, int) or not 0 <= nanos < 1_000_000_000:
            return None
        fraction = f"{nanos:09}"
    thousands = max(0, len(whole) - 8) // 3
    digits = whole + (fraction or "").ljust(6, "0")
    return Instant(int(digits[: len(whole) + 6 - 3 * thousands]), True)


def _zone(name: str) -> tzinfo:
    offset = _OFFSET.fullmatch(name)
    try:
        return ZoneInfo(name) if offset is None else _fixed(offset)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidRequest(
            f"{name!r} is not a time zone; write for example Europe/Berlin, UTC or +02:00"
        ) from None


def _fixed(offset: re.Match[str]) -> timezone:
    sign, hours, minutes = offset.groups()
    ahead = timedelta(hours=int(hours), minutes=int(minutes or "0"))
    return timezone(ahead if sign == "+" else -ahead)


def _micros(time: datetime) -> int:
    micros = (time - _EPOCH_START) // _MICROSECOND
    if not 0 <= micros < TIMES_END_US:
        raise OverflowError
    return micros
