"""A moment resolves to the offset that a person would expect."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metalog.errors import CorruptLog, InvalidMoment
from metalog.ids import SnapshotId
from metalog.log.folder.directory import DirectoryLog
from metalog.log.folder.layout import segment_name
from metalog.log.memory import MemoryLog
from metalog.ports import Appended, LogBounds, LogEvent
from metalog.records.batch import Batch, build_batch, encode_batch
from metalog.records.messages import NoOpRecord
from metalog_sources.moment import (
    AtOffset,
    AtTime,
    BeforeLast,
    Moment,
    ResolvedMoment,
    parse_moment,
    resolve_begin,
    resolve_moment,
    time_text,
)
from tests.support.kafka.cases import kafka_case

FAR = 10**13


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("0", AtOffset(0)),
        ("145", AtOffset(145)),
        ("16,255", AtOffset(16255)),
        ("1,000,000", AtOffset(10**6)),
        ("20261121", AtOffset(20261121)),
        ("00000000000000000723", AtOffset(723)),
        ("@1795252051173", AtTime(1795252051173)),
        ("-6h", BeforeLast(6 * 3_600_000)),
        ("-90s", BeforeLast(90_000)),
        ("-5m", BeforeLast(300_000)),
        ("-1d", BeforeLast(86_400_000)),
        ("-2w", BeforeLast(2 * 604_800_000)),
        ("1970-01-01", AtTime(0)),
        ("1970-01-01T00:00:01", AtTime(1000)),
        ("1970-01-01T00:00:01.234Z", AtTime(1234)),
        ("1970-01-01T02:00:01+02:00", AtTime(1000)),
        ("1970-01-01 00:01", AtTime(60_000)),
        ("1969-12-31T23:59:59.999999Z", AtTime(-1)),
    ],
)
def test_the_forms_of_a_moment(text: str, moment: Moment) -> None:
    assert parse_moment(text) == moment


@pytest.mark.parametrize(
    "text",
    ["", "yesterday", "-6", "-6y", "6h", "@", "@-1", "1e3", "٣", "9" * 40, "2026-13-01", "+5"],
)
def test_what_is_no_moment(text: str) -> None:
    with pytest.raises(InvalidMoment, match="is not a moment; give an offset"):
        parse_moment(text)


@settings(deadline=None)
@given(st.text() | st.from_regex(r"[-@]?[0-9T:+.Wsmhdw-]{0,30}", fullmatch=True))
def test_any_text_is_a_moment_or_refused(text: str) -> None:
    with suppress(InvalidMoment):
        resolve(parse_moment(text))


def batch(offset: int, time: int, count: int = 1) -> Batch:
    return build_batch(offset, 1, time, [(NoOpRecord(), 0)] * count)


LOG = MemoryLog([batch(0, 1000), batch(1, 2000, 3), batch(4, 3000)])


def resolve(moment: Moment, log: MemoryLog = LOG, now_ms: int = FAR) -> ResolvedMoment:
    return resolve_moment(moment, log, now_ms=now_ms)


@pytest.mark.parametrize(
    ("moment", "offset"),
    [
        (AtOffset(0), 0),
        (AtOffset(2), 2),
        (AtOffset(5), 5),
        (AtTime(1000), 1),
        (AtTime(1999), 1),
        (AtTime(2000), 4),
        (AtTime(3000), 5),
        (AtTime(9000), 5),
        (BeforeLast(0), 5),
        (BeforeLast(1), 4),
        (BeforeLast(1000), 4),
        (BeforeLast(2000), 1),
    ],
)
def test_a_time_is_the_longest_prefix_before_the_first_later_batch(
    moment: Moment, offset: int
) -> None:
    assert resolve(moment).offset == offset


def test_it_is_said_what_it_was_taken_as() -> None:
    assert resolve(AtOffset(2)).description == "offset 2"
    assert resolve(AtTime(2000)).description == "1970-01-01T00:00:02.000Z, which is offset 4"


@pytest.mark.parametrize(
    ("moment", "said"),
    [
        (AtOffset(6), "offset 6 is in the future: the log ends at offset 5"),
        (AtOffset(10**18), "the log ends at offset 5"),
        (AtTime(999), "1970-01-01T00:00:00.999Z is before the log starts"),
        (BeforeLast(2001), "is before the log starts"),
        (BeforeLast(10**17), "is before the log starts"),
        (AtTime(FAR + 1), "is in the future: the log's last record has time 1970-01-01T00:00:03"),
    ],
)
def test_a_moment_outside_the_log(moment: Moment, said: str) -> None:
    with pytest.raises(InvalidMoment) as caught:
        resolve(moment)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_log_without_records_has_no_times() -> None:
    with pytest.raises(InvalidMoment, match="no records to take a time from"):
        resolve(BeforeLast(0), MemoryLog([]))


def test_times_that_run_backwards_are_pointed_out() -> None:
    log = MemoryLog([batch(0, 1000), batch(1, 5000), batch(2, 2000), batch(3, 6000)])
    early, late = resolve(AtTime(3000), log), resolve(AtTime(5000), log)
    assert (early.offset, late.offset) == (1, 3)
    assert early.warnings == (
        "times run backwards at offset 2, by 3000 ms: leaders' clocks differ;"
        " this answer ends at offset 1 and leaves out 1 later batch"
        " with times up to 1970-01-01T00:00:03.000Z",
    )
    assert late.warnings == ("times run backwards at offset 2, by 3000 ms: leaders' clocks differ",)
    assert resolve(AtOffset(2), log).warnings == ()


class CountingLog(MemoryLog):
    count = 0

    def read(self, start: int) -> Iterator[LogEvent]:
        for event in super().read(start):
            self.count += isinstance(event, Appended)
            yield event


def test_a_search_ends_where_no_clock_explains_an_earlier_time() -> None:
    """After a batch more than a day later than the moment, nothing is read."""
    day = 86_400_000
    times = [1000, 2000, 1500, 1000 + day, 1001 + day, 900, *range(2 * day, 2 * day + 100)]
    log = CountingLog([batch(offset, time) for offset, time in enumerate(times)])
    found = resolve(AtTime(1000), log)
    assert (found.offset, log.count) == (1, 5)
    assert "backwards at offset 2, by 500 ms" in found.warnings[0]
    warning = resolve(AtTime(1500), log).warnings[0]
    assert "ends at offset 1 and leaves out 2 later batches with times up to " in warning


def test_a_time_back_from_the_end_reads_the_last_batch_and_those_before_the_moment() -> None:
    day = 86_400_000
    log = CountingLog([batch(number, 1000 + number * day) for number in range(100)])
    assert resolve(BeforeLast(98 * day), log).offset == 2
    assert log.count == 1 + 4


class LogWithMarkers(MemoryLog):
    """A topic's log: its last ``markers`` offsets are in no batch that is read."""

    markers = 5

    def bounds(self) -> LogBounds:
        bounds = super().bounds()
        return bounds._replace(end=bounds.end + self.markers)


def test_a_time_back_from_the_end_of_a_topic_that_ends_in_markers() -> None:
    log = LogWithMarkers([batch(0, 1000), batch(1, 2000, 3), batch(4, 3000)])
    assert resolve(BeforeLast(1000), log).offset == 4
    with pytest.raises(InvalidMoment, match="no records to take a time from"):
        resolve(BeforeLast(0), LogWithMarkers([]))


def test_a_time_before_damage_is_a_moment(tmp_path: Path) -> None:
    segment = b"".join(encode_batch(batch(offset, 1000 + offset)) for offset in range(4))
    for flipped, sound in ((-3, 3), (3, 0)):
        damaged = bytearray(segment)
        damaged[flipped] ^= 1
        (tmp_path / segment_name(0)).write_bytes(damaged)
        log = DirectoryLog(tmp_path)
        for offset in range(sound - 1):
            assert resolve_moment(AtTime(1000 + offset), log, now_ms=FAR).offset == offset + 1
        for moment in (AtTime(1000 + max(sound - 1, 0)), AtTime(FAR + 1), BeforeLast(0)):
            with pytest.raises(CorruptLog):
                resolve_moment(moment, log, now_ms=FAR)


def test_only_what_can_be_rebuilt_is_a_moment() -> None:
    log = DirectoryLog(kafka_case("trimmed-4.3").log_dir)
    assert log.bounds().start == 608
    for reachable in (723, 724, 835):
        assert resolve_moment(AtOffset(reachable), log, now_ms=FAR).offset == reachable
    for lost in (0, 607, 608, 722):
        with pytest.raises(
            InvalidMoment,
            match=r"starts at offset 608.* the first snapshot after that moment is at offset 723",
        ):
            resolve_moment(AtOffset(lost), log, now_ms=FAR)


def test_a_snapshot_older_than_the_log_is_a_moment_of_its_own() -> None:
    log = MemoryLog([batch(7, 1000)], snapshots={SnapshotId(3, 1): [], SnapshotId(7, 1): []})
    assert resolve(AtOffset(3), log).offset == 3
    with pytest.raises(InvalidMoment, match="the first snapshot after that moment is at offset 7"):
        resolve(AtOffset(4), log)


@pytest.mark.parametrize("moment", [BeforeLast(10**9), AtTime(0), AtOffset(0), AtOffset(607)])
def test_a_range_that_would_begin_before_the_log_begins_with_it(moment: Moment) -> None:
    young = MemoryLog([batch(0, 1000), batch(1, 2000)])
    trimmed = DirectoryLog(kafka_case("trimmed-4.3").log_dir)
    begin = resolve_begin(moment, trimmed, now_ms=FAR)
    assert begin.offset == 723
    assert "offset 723, the start of the log" in begin.description
    if not isinstance(moment, AtOffset):
        assert resolve_begin(moment, young, now_ms=FAR).offset == 0


def test_a_range_begins_at_its_moment_where_the_log_has_it() -> None:
    log = MemoryLog([batch(0, 1000), batch(1, 2000)])
    for moment in (AtOffset(1), AtTime(1500), BeforeLast(500)):
        assert resolve_begin(moment, log, now_ms=FAR) == resolve_moment(moment, log, now_ms=FAR)
    with pytest.raises(InvalidMoment, match="in the future"):
        resolve_begin(AtOffset(3), log, now_ms=FAR)


def test_times_before_and_after_any_calendar() -> None:
    assert time_text(0) == "1970-01-01T00:00:00.000Z"
    assert time_text(10**18) == f"@{10**18}"
