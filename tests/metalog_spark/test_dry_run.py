"""``metalog pipeline build --dry-run`` says what a build would read and decide, and does
neither."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from pyarrow import parquet

from authorizer.audit.layouts import Zone
from metalog_spark.dry_run import _SAMPLE, DryRun, MissingRecords, dry_run
from metalog_spark.history.splits import LogHole
from metalog_spark.store.arrow import table_of
from metalog_spark.store.commit_log import COMMIT_LOG, KIND, VERSION
from metalog_spark.store.tables import FILES
from tests.support.command.runs import run_here
from tests.support.spark.followed_world import READ_T, WrittenLog, line

DAY_S = 86_400
AUDIT = "Principal" + line(0, "User:app", allowed=True).partition("Principal")[2]
NO_LOG = SimpleNamespace(start=0, end=0, parts=())


def logged(*seconds: float) -> bytes:
    return "".join(line(second, "User:app", allowed=True) for second in seconds).encode()


@pytest.fixture
def audit(tmp_path: Path) -> Path:
    folder = tmp_path / "audit"
    folder.mkdir()
    (folder / "b1.log").write_bytes(b"starting\n" + logged(60, 3_600, DAY_S + 60) + b"torn")
    (folder / "b2.log.gz").write_bytes(gzip.compress(logged(7_200, 7_300)))
    return folder


@pytest.mark.usefixtures("no_spark")
def test_it_tells_files_hours_and_days_and_makes_nothing(
    audit: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = WrittenLog(tmp_path / "log")
    log.bind(1, 1, READ_T)
    words = ("--log", log.folder, "--audit", audit, "--out", tmp_path / "out", "--dry-run")
    done = run_here(capsys, "pipeline", "build", *words, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    b1, b2 = found["files"]
    assert (b1["broker"], b1["lines"], b1["from"], b1["to"]) == (
        "b1", 5, "2026-01-01T00:01Z", "2026-01-02T00:01Z",
    )  # fmt: skip
    assert (b2["packed"], b2["lines"], b2["from"]) == (True, 2, "2026-01-01T02:00Z")
    assert found["days"] == ["2026-01-01", "2026-01-02"]
    assert (found["gaps"], found["again"], found["zone"]) == ([], [], "UTC")
    assert found["log"]["to"] > found["log"]["from"] == 0
    assert not (tmp_path / "out").exists()

    (audit / "void").touch()
    (audit / "picture").write_bytes(b"\x89PNG\n")
    there = tmp_path / "out" / "current" / "requests" / "day=2026-01-01"
    there.mkdir(parents=True)
    (tmp_path / "out" / COMMIT_LOG).mkdir()
    first = {"serial": 1, "kind": KIND, "version": VERSION, "format": "parquet"}
    (tmp_path / "out" / COMMIT_LOG / "part-0").write_text(json.dumps(first) + "\n")
    done = run_here(capsys, "pipeline", "build", *words)
    assert done.returncode == 1
    assert f"warning: {audit}/picture: no audit line at its beginning; leave" in done.stderr
    assert f"warning: {audit}/void: empty" in done.stderr.splitlines()
    assert "lines without a zone are in UTC (--zone)" in done.stderr
    assert f"in {tmp_path}/out already, and decided again: 1 day" in done.stdout
    assert len([*(tmp_path / "out").rglob("*")]) == 5, "nothing is written"


@pytest.mark.usefixtures("no_spark")
def test_one_day_is_named_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = WrittenLog(tmp_path / "log")
    log.bind(1, 1, READ_T)
    words = ("--log", log.folder, "--audit", tmp_path / "b1.log", "--out", tmp_path / "out")
    for seconds, days in ((60,), "2026-01-01"), ((60, DAY_S), "2026-01-01 to 2026-01-02"):
        (tmp_path / "b1.log").write_bytes(logged(*seconds))
        done = run_here(capsys, "pipeline", "build", *words, "--dry-run")
        [said] = [line for line in done.stdout.splitlines() if line.startswith("days")]
        assert said.split(maxsplit=2)[2] == days


def test_of_a_large_file_both_ends_are_read_and_lines_are_estimated(tmp_path: Path) -> None:
    seconds = range(0, 3 * DAY_S, 60)
    (tmp_path / "b1.log").write_bytes(logged(*seconds))
    (tmp_path / "b2.log.gz").write_bytes(gzip.compress(logged(*seconds)))
    plain, packed = dry_run([str(tmp_path)], NO_LOG, tmp_path, Zone("UTC"), None).files
    assert plain.size > 4 * _SAMPLE
    assert plain.lines == pytest.approx(len(seconds), rel=0.02)
    assert (str(plain.first), str(plain.last)[:16]) == (
        "2026-01-01 00:00:00+00:00",
        "2026-01-03 23:59",
    )
    assert len([*plain.days]) == 3
    assert packed.lines == pytest.approx(len(seconds), rel=0.2)
    assert packed.last is None, "it would have to be unpacked whole"


def test_what_was_read_before_is_not_decided_again(audit: Path, tmp_path: Path) -> None:
    """Unless it has changed: a file is known by path, length and time."""
    known = audit / "b1.log"
    status = known.stat()
    modified = datetime.fromtimestamp(status.st_mtime_ns // 1_000_000 / 1_000, UTC)
    row = (str(known), status.st_size, modified, str(known), None, 3, 1, [])
    place = tmp_path / "out" / "current" / "files"
    place.mkdir(parents=True)
    parquet.write_table(table_of([row], FILES.schema), place / "a.parquet")

    def looked() -> DryRun:
        return dry_run([str(audit)], NO_LOG, tmp_path / "out", Zone("UTC"), None)

    found = looked()
    assert [file.is_known for file in found.files] == [True, False]
    assert [str(day) for day in found.days] == ["2026-01-01"]
    known.write_bytes(known.read_bytes() + logged(2 * DAY_S))
    assert [file.is_known for file in looked().files] == [False, False]
    assert len(looked().days) == 3


def test_gaps_of_the_log_are_told(tmp_path: Path) -> None:
    hole = LogHole(1_500, 1_600, "offsets 1500 to 1599 are not there", False)
    archive = SimpleNamespace(start=0, end=9_000, parts=(hole,))
    (tmp_path / "b1.log").write_bytes(logged(1))
    found = dry_run([str(tmp_path / "*.log")], archive, tmp_path, Zone("UTC"), None)
    assert found.gaps == [MissingRecords(1_500, "offsets 1500 to 1599 are not there")]


def test_an_hour_that_comes_twice_is_named_with_the_files_that_cover_it(tmp_path: Path) -> None:
    """Clocks in Berlin are set back at 01:00 UTC, and 00:00 to 02:00 is 02:00 to 03:00 twice."""
    turn = datetime(2026, 10, 25, 1, tzinfo=UTC)

    def covering(zone: str, *clocks: str) -> dict[str, list[str]]:
        for path in tmp_path.iterdir():
            path.unlink()
        for number, pair in enumerate(clocks):
            times = [f"2026-{clock.replace('T', ' ')}:00:00,000" for clock in pair.split(" to ")]
            text = "".join(f"[{time}] INFO {AUDIT}" for time in times)
            (tmp_path / f"{number}.log").write_text(text)
        found = dry_run([str(tmp_path)], NO_LOG, tmp_path / "out", Zone(zone), None)
        return {hour.clock: [Path(path).stem for path in hour.files] for hour in found.repeated}

    span = Zone("Europe/Berlin").repeated(round(turn.timestamp()) * 1_000_000)
    assert span is not None
    clock = Zone("Europe/Berlin").clock_span(span)
    files = ("10-24T10 to 10-25T01", "10-25T01 to 10-25T02", "10-20T00 to 10-30T00", "10-26T00")
    assert covering("Europe/Berlin", *files) == {clock: ["1", "2"]}
    assert covering("Europe/Berlin", "10-25T03 to 10-25T09") == {}
    assert covering("UTC", *files) == {}
