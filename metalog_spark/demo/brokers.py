"""Writes the demo brokers' audit logs, with planned errors.

- In some hours, a broker logs only denials or nothing.
- For half a day, a broker's clock is slow.
- A client makes lines ambiguous, or forges lines, by topic names.
- A full disk cuts a line off.

This module must not know how a request is decided.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from metalog.acl import Operation
from metalog_spark.demo.calendar import SECOND, START, moment, stamp
from metalog_spark.demo.decider import BrokerDecider
from metalog_spark.demo.traffic import BROKER_COUNT, FORGED, PROBES, Activity, Request

BOTH: Final = "BOTH"
DENIALS_ONLY: Final = "DENIALS_ONLY"
NOTHING: Final = "NOTHING"


class LoggingGap(NamedTuple):
    """From ``begin`` to ``end`` (exclusive), the coverage of ``broker`` (a number from 0, or None
    for all) is ``state``."""

    broker: int | None
    begin: int
    end: int
    state: str


LOGGING_GAPS: Final = (
    LoggingGap(None, START, moment("2025-01-20T08:00"), DENIALS_ONLY),
    LoggingGap(2, moment("2025-05-17T02:00"), moment("2025-05-17T11:00"), NOTHING),
    LoggingGap(1, moment("2025-08-04T10:00"), moment("2025-08-08T16:00"), DENIALS_ONLY),
)
"""The causes: DEBUG was not enabled yet; a disk was full; an upgrade disabled DEBUG."""

SLOW_BROKER: Final = 2
SLOW_BY: Final = 90 * SECOND
SLOW_FROM: Final = moment("2025-04-15T06:00")
SLOW_TO: Final = moment("2025-04-15T18:00")

BROKEN_LINES: Final = (
    (
        2,
        moment("2025-05-17T01:00"),
        "[2025-05-17 01:59:58,777] DEBUG Principal = User:orders-api is Allowed operation = WRI\n"
        "java.io.IOException: No space left on device\n"
        "\tat java.base/java.io.FileOutputStream.writeBytes(Native Method)\n",
    ),
    (
        1,
        moment("2025-08-08T16:00"),
        "[2025-08-08 16:00:00,001] INFO [BrokerServer id=2] Transition from STARTING to STARTED"
        " (kafka.server.BrokerServer)\n",
    ),
)
"""A broker, an hour, and a text that begins the hour and has no complete audit line."""

_IN_HOUR: Final = [f"{second // 60:02d}:{second % 60:02d}," for second in range(3600)]
_IN_SECOND: Final = [f"{millisecond:03d}" for millisecond in range(1000)]
_COMPRESSION: Final = 6


class Disagreement(NamedTuple):
    """A line that contradicts the ACLs in force at the line's time."""

    time: str
    broker: str
    principal: str
    host: str
    operation: str
    resource_name: str


class LineTally:
    """Counts requests and lines, and collects the disagreements that a pipeline should find."""

    def __init__(self) -> None:
        self.requests = self.unlogged = 0
        self.allowed = self.denied = self.rejected = self.ambiguous = 0
        self.disagreements: list[Disagreement] = []


class _BrokerLog:
    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self._folder = folder
        self._month = ""
        self._raw: BinaryIO | None = None
        self._file: gzip.GzipFile | None = None
        self.lines: list[str] = []

    def write_lines(self, begin: int) -> None:
        if not self.lines:
            return
        month = stamp(begin)[:7]
        if self._file is None or month != self._month:
            self.close()
            self._month = month
            self._raw = (self._folder / f"kafka-authorizer.log.{month}.gz").open("wb")
            self._file = gzip.GzipFile("", "wb", _COMPRESSION, self._raw, mtime=0)
        self._file.write("".join(self.lines).encode())
        self.lines.clear()

    def close(self) -> None:
        for each in (self._file, self._raw):
            if each is not None:
                each.close()


def write_audit(
    folder: Path,
    decider: BrokerDecider,
    activities: Sequence[Activity],
    hours: Iterable[tuple[int, list[Request]]],
) -> LineTally:
    """``hours`` has the start of each hour, in order, with its requests."""
    tally = LineTally()
    logs = [_BrokerLog(folder / broker_name(number)) for number in range(BROKER_COUNT)]
    for begin, requests in hours:
        for broker, hour, text in BROKEN_LINES:
            if hour == begin:
                logs[broker].lines.append(text)
                tally.rejected += text.count("\n")
        _write_hour(begin, requests, decider, activities, [log.lines for log in logs], tally)
        for log in logs:
            log.write_lines(begin)
    for log in logs:
        log.close()
    return tally


def broker_name(number: int) -> str:
    return f"broker-{number + 1}"


def _write_hour(
    begin: int,
    requests: list[Request],
    decider: BrokerDecider,
    activities: Sequence[Activity],
    lines: list[list[str]],
    tally: LineTally,
) -> None:
    states = [_state(broker, begin) for broker in range(BROKER_COUNT)]
    prefix = f"[{stamp(begin)[:14]}"
    is_slow = SLOW_FROM <= begin < SLOW_TO
    first_probe = len(activities) - len(PROBES)
    until, answers = begin, decider.at(begin)
    allowed = denied = unlogged = 0
    for time_ms, number, broker in requests:
        if time_ms >= until:
            answers = decider.at(time_ms)
            until = answers.until
        is_allowed, text = answers[number]
        state = states[broker]
        if state is NOTHING or (is_allowed and state is DENIALS_ONLY):
            unlogged += 1
            continue
        if is_allowed:
            allowed += 1
        else:
            denied += 1
        if is_slow and broker == SLOW_BROKER:
            shown = stamp(time_ms - SLOW_BY)
            lines[broker].append(f"[{shown}{text}")
            if decider.at(time_ms - SLOW_BY)[number].is_allowed != is_allowed:
                tally.disagreements.append(_disagreement(shown, broker, activities[number]))
            continue
        if number >= first_probe:
            _count_probe(tally, broker, activities[number])
        in_hour = time_ms - begin
        lines[broker].append(
            f"{prefix}{_IN_HOUR[in_hour // 1000]}{_IN_SECOND[in_hour % 1000]}{text}"
        )
    tally.requests += len(requests)
    tally.unlogged += unlogged
    tally.allowed += allowed
    tally.denied += denied


def _count_probe(tally: LineTally, broker: int, activity: Activity) -> None:
    """A probe's line has two readings. A line feed in a name makes a second, forged line."""
    tally.ambiguous += 1
    if "\n" in activity.name:
        tally.allowed += 1
        forged = activity._replace(
            principal=FORGED.principal, operation=Operation.READ, name=FORGED.resource_name
        )
        tally.disagreements.append(_disagreement(FORGED.time, broker, forged))


def _state(broker: int, begin: int) -> str:
    for gap in LOGGING_GAPS:
        if gap.broker in (None, broker) and gap.begin <= begin < gap.end:
            return gap.state
    return BOTH


def _disagreement(shown: str, broker: int, activity: Activity) -> Disagreement:
    return Disagreement(
        shown,
        broker_name(broker),
        activity.principal,
        activity.host,
        activity.operation.name,
        activity.name,
    )
