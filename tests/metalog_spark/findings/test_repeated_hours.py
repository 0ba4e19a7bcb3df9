"""Logs without a time zone, across the hour at which clocks are set back. A linear scan over a
day's minutes finds the clock times that come twice; the truth has times in UTC."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest

from authorizer.audit.layouts import RepeatedSpan, Zone
from metalog.acl import Acl, Operation, ResourceType
from metalog.ids import Uuid, uuid_text
from metalog.log.folder.layout import PARTITION_FOLDER, segment_name
from metalog.records.acl_codes import record_of
from metalog.records.batch import batch_bytes, build_batch
from metalog.records.messages import LeaderChangeMessage, RemoveAccessControlEntryRecord
from metalog_spark.ingest.lines.audit_lines import read_text
from tests.support.command.runs import run_here
from tests.support.spark.spoilt_log import Event
from tests.support.worlds import spec
from tests.support.worlds.small_acls import allow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MINUTE = timedelta(minutes=1)
TURNS = {
    "Europe/Berlin": datetime(2026, 10, 25, 1, tzinfo=UTC),
    "Australia/Lord_Howe": datetime(2026, 4, 4, 15, tzinfo=UTC),
}
"""The times at which clocks are set back, by an hour and by half an hour."""
READ, USER = Operation.READ, "User:a"
OLD, NEW = allow("moved", READ, USER), allow("moved", READ, "User:*")
BESIDE = allow("mov", READ, USER, prefixed=True)
STEADY, IDLE = allow("steady", READ, USER), allow("idle", READ, USER)


def micros(time: datetime) -> int:
    return round(time.timestamp()) * 1_000_000


@pytest.mark.parametrize("name", TURNS)
def test_the_clock_times_that_come_twice_are_those_that_a_scan_of_minutes_finds(name: str) -> None:
    """A line with such a time has two readings: the first is its request, the second possible."""
    zone, turn = Zone(name), TURNS[name]
    minutes = [turn + number * MINUTE for number in range(-180, 180)]
    clocks = [minute.astimezone(ZoneInfo(name)).replace(tzinfo=None, fold=0) for minute in minutes]
    twice = [
        minute for minute, shown in zip(minutes, clocks, strict=True) if clocks.count(shown) > 1
    ]
    span = RepeatedSpan(micros(twice[0]), micros(turn), micros(twice[-1] + MINUTE))
    for days in range(-3, 3):
        start = turn + timedelta(days=days, minutes=-90)
        is_within = start < turn <= start + timedelta(days=1)
        assert zone.repeated_on(micros(start)) == (span if is_within else None)
    for minute, shown in zip(minutes, clocks, strict=True):
        assert zone.repeated(micros(minute)) == (span if minute in twice else None)
        found = read_text(Event(USER, READ, "t", "10.0.0.1", shown, None).line, zone)
        assert found.request is not None
        times = [micros(each) for each, at in zip(minutes, clocks, strict=True) if at == shown]
        assert [found.request[1], *(each.micros for each in found.possible)] == times
        assert [each.zone for each in found.possible] == [name] * (len(times) - 1)


def write_log(folder: Path, turn_ms: int, *, changes: bool) -> dict[str, Acl]:
    """Four ACLs from the beginning; if something ``changes``, one is removed at the turn and
    another added. By their ids."""
    acls = [OLD, BESIDE, STEADY, IDLE, NEW]
    ids = [Uuid(place.to_bytes(16, "big")) for place in range(1, 6)]
    records = [(record_of(*each), 0) for each in zip(ids[:4], acls[:4], strict=True)]
    batches = [
        build_batch(0, 1, 0, [(LeaderChangeMessage(0, 1), 0)]),
        build_batch(1, 1, 0, records),
    ]
    if changes:
        gone = [(RemoveAccessControlEntryRecord(each), 0) for each in ids[:2]]
        turned = [(record_of(ids[4], NEW), 0)]
        batches.append(build_batch(5, 1, turn_ms, [*turned, *gone]))
    path = folder / PARTITION_FOLDER / segment_name(0)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"".join(map(batch_bytes, batches)))
    return dict(zip(map(uuid_text, ids), acls, strict=True))


@pytest.mark.parametrize("changes", [False, True])
def test_a_window_with_an_hour_that_came_twice_answers_for_its_other_hours(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str], changes: bool
) -> None:
    """The report names the hour once, with its --zone. An ACL that nobody needed in any hour can be
    removed; but if the ACLs changed in between, either time may be the true one."""
    name, turn = "Europe/Berlin", TURNS["Europe/Berlin"]
    by_id = write_log(tmp_path / "log", round(turn.timestamp()) * 1000, changes=changes)
    used, lines = set[Acl | None](), []
    for number in range(-30, 30):
        time = turn + number * 6 * MINUTE
        is_moved = 0 <= number < 10
        held = [STEADY, IDLE, *([NEW] if changes and number >= 0 else [OLD, BESIDE])]
        for topic in ("steady", *(("moved",) if is_moved else ())):
            who = frozenset({USER, "User:*"}), "10.0.0.1"
            acl = spec.decide(held, who, READ, ResourceType.TOPIC, topic, False).acl
            used.add(acl)
            lines.append(
                Event(USER, READ, topic, who[1], time.astimezone(ZoneInfo(name)), acl).line
            )
    audit, out = tmp_path / "b1.log", tmp_path / "tables"
    audit.write_text("\n".join(lines) + "\n")
    build = ("pipeline", "build", "--log", tmp_path / "log", "--audit", audit, "--out")
    done = run_here(capsys, *build, out, "--zone", name)
    said = (
        "2026-10-25 02:00 to 03:00 came twice in Europe/Berlin (--zone): lines of broker b1 can be"
        " from either hour"
    )
    assert done.stderr.count(said) == 1
    found = run_here(capsys, "pipeline", "unused", "--json", "--all", out)
    assert found.returncode == 1, found.stderr
    assert found.stderr.count(said) == 1
    assert "broker-hours" not in found.stderr
    assert "several ways" not in found.stderr
    rows = {by_id[each["id"]]: each for each in map(json.loads, found.stdout.splitlines())}
    going = {acl for acl, row in rows.items() if row["canGo"]}
    assert IDLE in going
    assert not going & used
    assert going == ({IDLE} if changes else {IDLE, OLD, BESIDE} - used)
    if changes:
        assert rows[NEW]["reason"] in ("AMBIGUOUS", "YOUNGER")


def test_a_log_that_goes_back_in_time_says_that_its_zone_is_lacking(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without --zone an hour is in the log twice, and nothing else shows it."""
    write_log(tmp_path / "log", 0, changes=False)
    clocks = [f"{hour:02}:{minute:02}" for hour in (1, 2, 2, 3) for minute in range(0, 60, 6)]
    days = (datetime.fromisoformat(f"2026-10-25 {clock}") for clock in clocks)
    lines = (Event(USER, READ, "steady", "10.0.0.1", time, STEADY).line for time in days)
    audit, out = tmp_path / "b1.log", tmp_path / "tables"
    audit.write_text("".join(f"{line}\n" for line in lines))
    done = run_here(
        capsys, "pipeline", "build", "--log", tmp_path / "log", "--audit", audit, "--out", out
    )
    said = "the log of b1 goes back in time, first at 2026-10-25T02:54:00.000Z, as if clocks were"
    assert done.stderr.count(said) == done.stderr.count("--zone") == 1
    found = run_here(capsys, "pipeline", "unused", "--json", out)
    assert found.stderr.count(said) == 1
    assert any(json.loads(line)["canGo"] for line in found.stdout.splitlines())
