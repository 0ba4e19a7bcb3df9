"""The layouts that loggers, containers and shippers put around an audit line, and whose time
counts."""

from __future__ import annotations

import json
import pickle
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from authorizer.audit.layouts import NOT_AUDIT, Zone, read_entry, unwrapped
from authorizer.audit.line import parse_line
from metalog.errors import InvalidRequest

LINE = (
    "Principal = User:CN=app,O=My Company is Denied operation = READ from host = 10.0.0.1"
    ' on resource = Group:LITERAL:a "b" \\c {"d for request = JoinGroup with resourceRefCount = 1'
    " based on rule DefaultDeny"
)
AT = datetime(2026, 11, 21, 18, 35, 36, 123_000, UTC)
BERLIN = Zone("Europe/Berlin")


def read_time(text: str, zone: Zone) -> datetime:
    entry = read_entry(text, zone)
    assert entry.text.startswith(LINE)
    assert entry.is_sure
    return datetime.fromtimestamp(entry.micros // 1000 / 1000, UTC)


@pytest.mark.parametrize(
    "prefix",
    [
        "[2026-11-21 18:35:36,123] INFO ",
        "[2026-11-21 18:35:36,123] DEBUG [Authorizer 1] ",
        "2026-11-21 18:35:36.123 TRACE ",
        "2026-11-21 18:35:36,123 [data-plane-kafka-request-handler-0] INFO  kafka.authorizer - ",
        "2026-11-21T18:35:36,123 ",
        "20261121T183536,123 INFO ",
        "2026/11/21 18:35:36,123 INFO ",
        "21 Nov 2026 18:35:36,123 INFO ",
        "21/Nov/2026:18:35:36.123 INFO ",
        "2026-11-21 18:35:36:123 INFO ",
        "2026-11-21 06:35:36,123 PM INFO ",
        "<134>1 2026-11-21T20:00:00.5+01:00 broker-1 kafka 99 - - [2026-11-21 18:35:36,123] INFO ",
        "2026-11-21T23:59:59.999999999Z stdout F [2026-11-21 18:35:36,123] INFO ",
        "Nov 21 18:35:40 broker-1 kafka[99]: [2026-11-21 18:35:36,123] INFO ",
    ],
)
def test_a_time_without_a_zone_is_one_of_the_zone_given(prefix: str) -> None:
    assert read_time(prefix + LINE, Zone("UTC")) == AT
    assert read_time(prefix + LINE, Zone("+01:00")) == AT.replace(hour=17)
    assert read_time(prefix + LINE, BERLIN) == AT.replace(hour=17)
    assert read_time(prefix + LINE, Zone("Asia/Kolkata")) == AT.replace(hour=13, minute=5)


@pytest.mark.parametrize(
    "prefix",
    [
        "[2026-11-21T18:35:36.123Z] INFO ",
        "2026-11-21 18:35:36,123 UTC INFO ",
        "2026-11-21T19:35:36.123456+01:00 INFO ",
        "2026-11-21 19:35:36,123 +0100 INFO ",
        "2026-11-21T10:35:36,123-08 INFO ",
        "2026-11-21 19:35:36,123 GMT+01:00 INFO ",
        "2026-11-21 10:35:36,123 GMT-8 INFO ",
        "[2026-11-22 12:05:36,123 AM UTC+0530] INFO ",
        "1795286136123 INFO ",
        "[1795286136.123] INFO ",
        "<134>1 2026-11-21T18:35:36.123Z broker-1 kafka 99 - - ",
        "2026-11-21T18:35:36.123456789Z stdout F ",
    ],
)
def test_a_time_with_a_zone_needs_none(prefix: str) -> None:
    assert read_time(prefix + LINE, Zone("Asia/Tokyo")) == AT


LOG4J = f"[2026-11-21 18:35:36,123] INFO {LINE} (kafka.authorizer.logger)"
WRAPPED = {
    "JsonLayout": {
        "instant": {"epochSecond": 1795286136, "nanoOfSecond": 123000000},
        "thread": "data-plane",
        "level": "INFO",
        "loggerName": "kafka.authorizer.logger",
        "message": LINE,
    },
    "JsonLayout of log4j 2.10": {"timeMillis": 1795286136123, "level": "INFO", "message": LINE},
    "ECS": {"@timestamp": "2026-11-21T18:35:36.123Z", "log.level": "INFO", "message": LINE},
    "Logstash": {"@version": 1, "message": LINE, "@timestamp": "2026-11-21T18:35:36.123Z"},
    "GELF": {"version": "1.1", "short_message": LINE, "timestamp": 1795286136.123, "level": 6},
    "docker": {"log": LOG4J + "\n", "stream": "stdout", "time": "2026-11-21T18:35:37.000001Z"},
    "fluentd": {"time": "2026-11-21T18:35:37Z", "log": LOG4J, "kubernetes": {"pod": "kafka-0"}},
    "journald": {"MESSAGE": LINE, "__REALTIME_TIMESTAMP": "1795286136123000", "_PID": "1"},
    "Splunk": {"time": 1795286136.123, "event": {"message": LINE}},
    "CloudWatch": {"id": "3", "timestamp": 1795286136123, "message": LINE},
    "another": {"ts": "2026-11-21T18:35:36.123Z", "what": LINE},
}


@pytest.mark.parametrize("prefix", ["", "2026-11-21T18:35:37.1Z stdout F "])
@pytest.mark.parametrize("name", WRAPPED)
def test_json_is_taken_off(name: str, prefix: str) -> None:
    text = prefix + json.dumps(WRAPPED[name])
    assert read_time(text, Zone("UTC")) == AT
    assert parse_line(unwrapped(text)) == parse_line(LINE)
    within = json.dumps({"log": json.dumps(WRAPPED[name]) + "\n", "time": "2030-01-01T00:00:00Z"})
    assert read_time(within, Zone("UTC")) == AT


def test_json_may_escape_what_it_likes() -> None:
    text = json.dumps(WRAPPED["ECS"]).replace("=", "\\u003d")
    assert read_time(text, BERLIN) == AT


def test_braces_that_are_no_json_are_left_alone() -> None:
    text = "2026-11-21 18:35:36,123 {} {a=b} INFO " + LINE
    assert read_time(text, Zone("UTC")) == AT
    text = '2026-11-21 18:35:36,123 {"a": 1} INFO ' + LINE
    assert read_time(text, Zone("UTC")) == AT
    assert unwrapped(LINE) == LINE


def local_time(text: str, zone: Zone) -> tuple[str, bool]:
    entry = read_entry(f"[{text}] INFO {LINE}", zone)
    return datetime.fromtimestamp(entry.micros / 1e6, UTC).isoformat(), entry.is_sure


def test_an_hour_that_comes_twice_is_the_first_and_not_sure() -> None:
    assert local_time("2026-10-25 01:59:59,000", BERLIN) == ("2026-10-24T23:59:59+00:00", True)
    assert local_time("2026-10-25 02:30:00,000", BERLIN) == ("2026-10-25T00:30:00+00:00", False)
    assert local_time("2026-10-25 02:30:00,000 CEST", BERLIN) == ("2026-10-25T00:30:00+00:00", True)
    assert local_time("2026-10-25 02:30:00,000 CET", BERLIN) == ("2026-10-25T01:30:00+00:00", True)
    assert local_time("2026-10-25 03:00:00,000", BERLIN) == ("2026-10-25T02:00:00+00:00", True)


def test_an_abbreviation_of_both_hours_does_not_say_which() -> None:
    """Moscow was MSK before and after its clocks were set back, as before and after set forward."""
    moscow = Zone("Europe/Moscow")
    assert local_time("2014-10-26 01:30:00,000 MSK", moscow) == ("2014-10-25T21:30:00+00:00", False)
    assert local_time("2014-10-26 02:30:00,000 MSK", moscow) == ("2014-10-25T23:30:00+00:00", True)


@pytest.mark.parametrize(
    ("zone", "text"),
    [
        ("Asia/Singapore", "2026-11-22 02:35:36,000 SGT"),
        ("Asia/Colombo", "2026-11-22 00:05:36,000 IST"),
        ("Asia/Amman", "2026-11-21 21:35:36,000 EET"),
        ("Africa/Casablanca", "2024-06-21 19:35:36,000 WEST"),
    ],
)
def test_an_abbreviation_that_only_java_has_is_read(zone: str, text: str) -> None:
    """In the time zone database, Singapore's clocks have no name but +08."""
    time = local_time(text, Zone(zone))[0]
    assert time.endswith("T18:35:36+00:00")
    for other in ("EST", "CET", "JST", "PST"):
        with pytest.raises(InvalidRequest, match=f"its time zone {other} is not in use in {zone}"):
            local_time(f"{text[:23]} {other}", Zone(zone))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", NOT_AUDIT),
        ("[2026-11-21 18:35:36,123] INFO [KafkaServer id=1] started", NOT_AUDIT),
        ('{"message": "started", "principal": "Principal x"}', NOT_AUDIT),
        (LINE, "no time: no date and time"),
        (f"18:35:36,123 INFO {LINE}", "no time: no date and time"),
        (f"Nov 21 18:35:36 host kafka: {LINE}", "no time: no date and time"),
        (
            f"[2026-13-21 18:35:36,123] INFO {LINE}",
            "no time: 2026-13-21 18:35:36,123 is not a valid time",
        ),
        (
            f"[2026-11-21 25:35:36,123] INFO {LINE}",
            "no time: 2026-11-21 25:35:36,123 is not a valid time",
        ),
        (
            f"21 Nix 2026 18:35:36,123 {LINE}",
            "no time: 21 Nix 2026 18:35:36,123 is not a valid time",
        ),
        (f"[2026-03-29 02:30:00,000] INFO {LINE}", "2026-03-29 02:30 does not exist in Europe"),
        (f"[2026-11-21 18:35:36,123 JST] INFO {LINE}", "time zone JST is not in use in Europe"),
        (json.dumps(WRAPPED["ECS"])[:-20], "broken JSON around an audit line"),
        ('{"a":' * 100_000 + '{"Principal = ', "broken JSON"),
        (json.dumps({"message": LINE}), "no time: no date and time"),
        (json.dumps({"message": LINE, "instant": {}, "time": True, "ts": []}), "no time"),
        (json.dumps({"message": LINE, "time": 10**40, "ts": 1e300}), "no time"),
        (json.dumps({"message": LINE, "time": "0001-01-01T00:00:00+10:00"}), "is not a valid time"),
        (
            json.dumps({"message": LINE, "instant": {"epochSecond": 10**9, "nanoOfSecond": -5}}),
            "no time: no date and time",
        ),
    ],
)
def test_what_has_no_time_or_is_none_is_refused(text: str, reason: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        read_entry(text, BERLIN)
    assert reason in str(refused.value)


@pytest.mark.parametrize("blanks", [" ", "  "])
@pytest.mark.parametrize(
    ("text", "zone", "micros"),
    [
        ("1970-01-01 00:00:00,000", "UTC", 0),
        ("1970-01-01 00:00:00,000", "+00:01", None),
        ("9999-12-31 23:59:59,999", "UTC", 253_402_300_799_999_000),
        ("9999-12-31 23:59:59,999", "-00:01", None),
        ("9999-12-31 23:59:59,999 -1200", "UTC", None),
    ],
)
def test_times_are_of_the_years_1970_to_9999_in_utc(
    text: str, zone: str, micros: int | None, blanks: str
) -> None:
    """No table or report can express another year; a time zone may lead out of the range."""
    line = f"[{text}]{blanks}INFO {LINE}"
    if micros is not None:
        assert read_entry(line, Zone(zone)).micros == micros
    else:
        with pytest.raises(InvalidRequest, match=f"no time: {text} is not a valid time"):
            read_entry(line, Zone(zone))


@pytest.mark.parametrize("name", ["", "Mars/Olympus", "../etc/passwd", "CEST", "+1", "+24:00"])
def test_a_zone_must_be_known(name: str) -> None:
    with pytest.raises(InvalidRequest, match="is not a time zone; write for example Europe/Berlin"):
        Zone(name)


def test_a_zone_can_be_sent_to_where_files_are_read() -> None:
    sent = pickle.loads(pickle.dumps(BERLIN))
    assert local_time("2026-07-01 12:00:00,000", sent) == ("2026-07-01T10:00:00+00:00", True)


@given(st.text(alphabet='{}"[]:, 0123456789-TZ+INFO\\', max_size=60))
def test_nothing_but_a_reason_escapes(prefix: str) -> None:
    with suppress(InvalidRequest):
        assert read_entry(prefix + LINE, BERLIN).text.startswith("Principal = ")


@example(datetime(1975, 4, 27, 2, 0, 1), " ", "America/St_Johns")
@given(
    st.datetimes(datetime(1971, 1, 1), datetime(2100, 1, 1)),
    st.sampled_from([" ", "T"]),
    st.sampled_from(["UTC", "Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "-09:30"]),
)
def test_the_common_layout_is_read_as_any_other(local: datetime, sign: str, name: str) -> None:
    """Compares the fast path with the careful path, which a second blank selects."""
    zone = Zone(name)
    text = f"{local:%Y-%m-%d}{sign}{local:%H:%M:%S},{local.microsecond // 1000:03d}"
    read = []
    for blanks in " ", "  ":
        try:
            read.append(read_entry(f"[{text}]{blanks}INFO {LINE}", zone)[1:])
        except InvalidRequest as refused:
            read.append(str(refused))
    assert read[0] == read[1]
