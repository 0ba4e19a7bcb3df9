"""Reads a point in time as a person writes it, and finds its offset in one log.

A point in time has one of four forms:

- digits: an offset N, for the state before record N; commas are allowed, as in ``151,000``;
- ``@DIGITS``: milliseconds since the epoch;
- ``-6h``: six hours before the time of the last record;
- any other text: ISO 8601, in UTC if the text has no zone.

This module must not know how a log is stored, and it does not replay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from metalog.errors import CorruptLog, InvalidMoment, InvalidSource
from metalog.ports import Appended, Log, LogBounds, SnapshotNeeded, Truncated
from metalog.records.batch import Batch
from metalog.text.plurals import counted
from snapshot.reader import bases

_OFFSET: Final = re.compile(r"[0-9]{1,20}|[0-9]{1,3}(,[0-9]{3}){1,6}")
_EPOCH_MS: Final = re.compile(r"@([0-9]{1,15})")
_BACK: Final = re.compile(r"-([0-9]{1,12})([smhdw])")
_UNIT_MS: Final = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LARGEST_CLOCK_DIFFERENCE_MS: Final = 86_400_000
_FORMS: Final = "an offset, @MILLISECONDS, a time back such as -6h, or ISO 8601"


class AtOffset(NamedTuple):
    """The state after all records below ``offset``."""

    offset: int


class AtTime(NamedTuple):
    """The state before the first batch whose time is after ``epoch_ms``."""

    epoch_ms: int


_LIKELY_MS: Final = 10**12
"""An offset past the log's end that is at least this large probably means milliseconds."""


class BeforeLast(NamedTuple):
    """The time ``back_ms`` milliseconds before the log's last record."""

    back_ms: int


Moment = AtOffset | AtTime | BeforeLast


class _BeforeStart(InvalidMoment):
    """A moment before the earliest state that the log can give."""

    def __init__(self, message: str, point: str) -> None:
        super().__init__(message)
        self.point = point


class ResolvedMoment(NamedTuple):
    """The state after all records below ``offset``; ``description`` is for people."""

    offset: int
    description: str
    warnings: tuple[str, ...]


def parse_moment(text: str) -> Moment:
    """The point in time that ``text`` names; ``InvalidMoment`` if ``text`` has no valid form."""
    if _OFFSET.fullmatch(text):
        return AtOffset(int(text.replace(",", "")))
    if match := _EPOCH_MS.fullmatch(text):
        return AtTime(int(match[1]))
    if match := _BACK.fullmatch(text):
        return BeforeLast(int(match[1]) * _UNIT_MS[match[2]])
    try:
        time = datetime.fromisoformat(text)
        if time.tzinfo is None:
            time = time.replace(tzinfo=UTC)
        return AtTime((time - _EPOCH) // timedelta(milliseconds=1))
    except (OverflowError, ValueError):
        raise InvalidMoment(f"{text!r} is not a moment; give {_FORMS}") from None


def resolve_moment(moment: Moment, log: Log, *, now_ms: int) -> ResolvedMoment:
    """The offset of ``moment`` in ``log``, if the state at this offset can be rebuilt.

    Raises:
        InvalidMoment: the log and its snapshots have no state at ``moment``.
        CorruptLog: damage stops the search for a time.
        InvalidSource: the log is truncated during the search.
    """
    bounds = log.bounds()
    if isinstance(moment, AtOffset):
        if moment.offset > bounds.end:
            is_likely_ms = moment.offset >= _LIKELY_MS
            hint = f"; as milliseconds write @{moment.offset}" if is_likely_ms else ""
            raise InvalidMoment(f"offset {moment.offset} is in the future: {_end(bounds)}{hint}")
        _refuse_unreachable(moment.offset, f"offset {moment.offset}", log)
        return ResolvedMoment(moment.offset, f"offset {moment.offset}", ())
    epoch_ms = moment.epoch_ms if isinstance(moment, AtTime) else _last_time(log) - moment.back_ms
    time = time_text(epoch_ms)
    times = _Times(log, epoch_ms)
    if times.first is None or times.last is None:
        times.raise_damage()
        raise _no_times(bounds)
    offset = times.offset
    if offset is None:
        if times.damage is None and epoch_ms > max(times.last, now_ms):
            raise InvalidMoment(
                f"{time} is in the future: the log's last record has time {time_text(times.last)}"
            )
        times.raise_damage()
        offset = log.bounds().end
    if epoch_ms < times.first:
        raise _BeforeStart(
            f"{time} is before the log starts: its first record, at offset {bounds.start},"
            f" has time {time_text(times.first)}",
            time,
        )
    _refuse_unreachable(offset, time, log)
    return ResolvedMoment(offset, f"{time}, which is offset {offset}", times.warnings())


def resolve_begin(moment: Moment, log: Log, *, now_ms: int) -> ResolvedMoment:
    """Like ``resolve_moment``, for the start of a range of ``log``.

    If ``moment`` is too early, the range begins at the earliest state that the log can give.
    """
    try:
        return resolve_moment(moment, log, now_ms=now_ms)
    except _BeforeStart as early:
        start = log.bounds().start
        ends = [snapshot.end_offset for snapshot in log.snapshots() if snapshot.end_offset >= start]
        if start > 0 and not ends:
            raise
        offset = min(ends) if start > 0 else 0
        text = f"offset {offset}, the start of the log, because {early.point} is earlier"
        return ResolvedMoment(offset, text, ())


def time_text(epoch_ms: int) -> str:
    """ISO 8601 in UTC with milliseconds; ``@MILLIS`` for a year outside Python's calendar."""
    try:
        time = _EPOCH + timedelta(milliseconds=epoch_ms)
    except OverflowError:
        return f"@{epoch_ms}"
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class _Times:
    """Finds a log's first batch after ``epoch_ms``, and where times first decrease.

    Times can decrease, because each controller stamps batches with its clock. So the search goes on
    to a batch more than a day after ``epoch_ms``. (Kafka's search ends at the first batch found.)
    """

    def __init__(self, log: Log, epoch_ms: int) -> None:
        self._time = time_text(epoch_ms)
        self.first: int | None = None
        self.last: int | None = None
        """The time of the last batch that was read."""
        self.offset: int | None = None
        """The offset of the first batch after ``epoch_ms``, or None."""
        self.damage: CorruptLog | None = None
        self._backwards: tuple[int, int] | None = None
        self._left_out = 0
        latest: int | None = None
        for batch in self._up_to_damage(log):
            time = self.last = batch.max_timestamp
            if latest is None:
                self.first = latest = time
            elif time < latest and self._backwards is None:
                self._backwards = (batch.base_offset, latest - time)
            latest = max(latest, time)
            if self.offset is None:
                if time > epoch_ms:
                    self.offset = batch.base_offset
            elif time <= epoch_ms:
                self._left_out += 1
            elif time > epoch_ms + _LARGEST_CLOCK_DIFFERENCE_MS:
                break

    def raise_damage(self) -> None:
        """Raise the damage that stopped the search, if any."""
        if self.damage is not None:
            raise self.damage

    def _up_to_damage(self, log: Log) -> Iterator[Batch]:
        try:
            yield from _batches(log, log.bounds().start)
        except CorruptLog as error:
            self.damage = error

    def warnings(self) -> tuple[str, ...]:
        if self._backwards is None:
            return ()
        offset, by_ms = self._backwards
        warning = f"times run backwards at offset {offset}, by {by_ms} ms: leaders' clocks differ"
        if self._left_out:
            left_out = counted(self._left_out, "later batch", "later batches")
            warning += (
                f"; this answer ends at offset {self.offset} and leaves out {left_out} with times"
                f" up to {self._time}"
            )
        return (warning,)


def _last_time(log: Log) -> int:
    """The time of the log's last batch. In a Kafka topic, the last offsets can be transaction
    markers, which ``read`` does not yield."""
    bounds, back = log.bounds(), 1
    while True:
        start = max(bounds.start, bounds.end - back)
        last = None
        for batch in _batches(log, start):
            last = batch.max_timestamp
        if last is not None:
            return last
        if start == bounds.start:
            raise _no_times(bounds)
        back *= 2


def _no_times(bounds: LogBounds) -> InvalidMoment:
    return InvalidMoment(f"the log has no records to take a time from; {_end(bounds)}")


def _batches(log: Log, start: int) -> Iterator[Batch]:
    """The batches from ``start`` on; ``InvalidSource`` if the log is truncated meanwhile."""
    for event in log.read(start):
        if isinstance(event, Appended):
            yield event.batch
        elif isinstance(event, SnapshotNeeded | Truncated):
            raise InvalidSource("the log was cut while its times were read; retry")


def _refuse_unreachable(offset: int, moment: str, log: Log) -> None:
    bounds = log.bounds()
    if bases(offset, bounds, log.snapshots()):
        return
    reachable = [
        snapshot.end_offset for snapshot in log.snapshots() if snapshot.end_offset > offset
    ]
    earliest = (
        f"the first snapshot after that moment is at offset {min(reachable)}"
        if reachable
        else "there is no later snapshot"
    )
    raise _BeforeStart(
        f"{moment} is too early: the log starts at offset {bounds.start}, and {earliest}", moment
    )


def _end(bounds: LogBounds) -> str:
    return f"the log ends at offset {bounds.end}"
