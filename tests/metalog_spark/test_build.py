"""A pipeline's folder, built at once or in steps: the same rows, for any file names."""

from __future__ import annotations

import gzip
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path
from subprocess import CompletedProcess
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql.classic.dataframe import DataFrame

from authorizer.audit.layouts import NOT_AUDIT
from metalog.log.folder.layout import PARTITION_FOLDER, segment_name
from metalog.records.batch import batch_bytes, build_batch
from metalog.records.messages import LeaderChangeMessage
from metalog_spark.decide.invalidation import stale_days
from metalog_spark.ingest import file_groups
from metalog_spark.ingest.lines.audit_lines import EMPTY
from metalog_spark.ingest.requests import read_table
from metalog_spark.store.table_store import Tables
from metalog_spark.store.tables import DECISIONS, REJECTED
from shell.arguments.pipeline import CLUSTER_VARIABLES
from tests.support.command.runs import interrupted_at, run_here
from tests.support.disk.archive_folders import ArchiveFolder
from tests.support.disk.tiny_log import ace
from tests.support.spark.built_tables import everything
from tests.support.spark.killed_pipeline import run_killed
from tests.support.spark.plain_parquet import counts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAY_MS = 86_400_000
NOON_MS = DAY_MS // 2


def write_log(folder: Path, *records: tuple[int, Any]) -> None:
    """A log of one record in each batch, with its time."""
    path = folder / PARTITION_FOLDER / segment_name(0)
    path.parent.mkdir(parents=True, exist_ok=True)
    timed = [(0, LeaderChangeMessage(0, 1)), *records]
    batches = (
        build_batch(offset, 1, time, [(record, 0)]) for offset, (time, record) in enumerate(timed)
    )
    path.write_bytes(b"".join(map(batch_bytes, batches)))


def line(time: str, topic: str, result: str = "Allowed", principal: str = "User:a") -> str:
    return (
        f"[{time},000] INFO Principal = {principal} is {result} operation = READ from host ="
        f" 10.0.0.1 on resource = Topic:LITERAL:{topic} for request = Fetch with"
        " resourceRefCount = 1 based on rule DefaultDeny (kafka.authorizer.logger)\n"
    )


class Pipeline:
    """A cluster's logs, and ``metalog pipeline build`` on them."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys
        (folder / "server.properties").write_text("super.users=User:root\n")

    def audit(self, name: str, *lines: str, packed: bool = False) -> Path:
        path = self.folder / "logs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = "".join(lines).encode()
        path.write_bytes(gzip.compress(data) if packed else data)
        return path

    def words(self, out: str) -> tuple[str | Path, ...]:
        return (
            "build", "--json", "--log", self.folder / "log",
            "--config", self.folder / "server.properties",
            "--audit", self.folder / "logs", "--out", self.folder / out,
        )  # fmt: skip

    def build(self, out: str, *arguments: str | Path) -> CompletedProcess[str]:
        return run_here(self._capsys, "pipeline", *self.words(out), *arguments)

    def build_in_one_group(self, out: str, *arguments: str | Path) -> CompletedProcess[str]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(file_groups, "MOST_FILES", 1_000)
            return self.build(out, *arguments)

    def build_here(self, out: str, *arguments: str | Path) -> CompletedProcess[str]:
        """Without a setting of Spark that puts its files elsewhere."""
        with on_this_machine():
            return self.build(out, *arguments)


@pytest.fixture
def pipeline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Pipeline:
    return Pipeline(tmp_path, capsys)


@pytest.fixture
def groups_of_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_groups, "MOST_FILES", 2)


@pytest.mark.usefixtures("groups_of_two")
def test_bit_by_bit_is_as_in_one_go(
    spark: SparkSession, pipeline: Pipeline, tmp_path: Path
) -> None:
    """Two days of four brokers: logs that grow, are rotated, packed and left out; a log that later
    shows allowed requests; a table given twice; lines of other kinds. An interrupted build leaves
    no trace, a truncated copy replaces nothing, an empty file without a rotated one is named, and
    so are two folders whose logs look like one broker's. With groups of two files
    the tables are the same."""
    first = ace(1, "a")
    write_log(tmp_path / "log", (0, first))
    day_1, day_1_of_4 = (
        [line(f"1970-01-01 {at // 4:02}:{at % 4 * 15:02}:{second}", "a") for at in range(96)]
        for second in ("00", "30")
    )
    day_2 = [line("1970-01-02 13:00:00", "b"), line("1970-01-02 14:00:00", "c", "Denied")]
    pipeline.audit("b1/kafka-authorizer.log", *day_1, day_2[0])
    uncut = pipeline.audit("b4.log", *day_1_of_4)
    gone = pipeline.audit("b3.log", line("1970-01-02 01:00:00", "a", "Denied"))
    table = tmp_path / "more.parquet"
    requests = "('1970-01-02T23:59:59Z', 'DENIED'), (null, 'DENIED'), ('1970-01-02', 'PERHAPS')"
    spark.sql(
        "SELECT timestamp(col1) time, 'User:a' principal, '10.0.0.1' host, 'READ' operation,"
        f" 'TOPIC' resource_type, 'b' resource_name, col2 result FROM VALUES {requests}"
    ).write.parquet(str(table))
    done = pipeline.build("bits", "--requests", table)
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert (told["allowed"], told["denied"], told["brokers"]) == (
        193,
        2,
        ["b1", "b3", "b4", "more"],
    )
    assert told["disagree"] == 2
    changes = sorted((tmp_path / "bits" / "changes").iterdir())
    plain = counts(tmp_path / "bits" / "current")

    write_log(tmp_path / "log", (0, first), (DAY_MS + NOON_MS, ace(2, "b")))
    (tmp_path / "logs" / "b1" / "kafka-authorizer.log").unlink()
    packed = pipeline.audit("b1/kafka-authorizer.log.1.gz", *day_1, day_2[0], packed=True)
    pipeline.audit("b1/kafka-authorizer.log", day_2[1], "\n", day_2[0].replace("READ", "REED"))
    copy = pipeline.audit("b1/copy.log", *day_1)
    beat = line("1970-01-02 23:30:00", "a", principal="User:root")
    pipeline.audit("b2/kafka-authorizer.log", beat.replace("Fetch", "BrokerHeartbeat"))
    picture = pipeline.audit("picture", "\x89PNG\n", "\0\n")
    empty = pipeline.audit("old/b2/kafka-authorizer.log")
    pipeline.audit("b1/kafka-authorizer.log.2")
    again = f"{tmp_path}/./more.parquet/"
    for place in ("build.check_log", "build._usage"):
        with interrupted_at(f"metalog_spark.{place}"):
            done = pipeline.build("bits")
        assert (done.returncode, done.stdout) == (130, "")
        assert done.stderr == "note: interrupted; nothing was changed\n"
    assert sorted((tmp_path / "bits" / "changes").iterdir()) == changes
    assert counts(tmp_path / "bits" / "current") == plain

    twice = ("--requests", table, "--requests", again)
    whole = pipeline.build_in_one_group("whole", *twice, "--super-users", "User:root")
    fresh = everything(spark, tmp_path / "whole")
    gone.unlink()
    uncut.unlink()
    cut = pipeline.audit("b4.log.2", *day_1_of_4[:-1])
    done = pipeline.build_here("bits", "--requests", again)
    assert done.returncode == 1
    logs = tmp_path / "logs"
    assert done.stderr.splitlines() == [
        f"note: {copy}: left out, because {packed} begins with the same lines",
        f"warning: {cut}: left out: it has 95 lines, but {uncut}, which begins with the same"
        " lines, had 96 when it was read",
        f"warning: {picture}: not an audit log: none of its 2 lines is an audit line",
        f"warning: {empty}: empty, so it has no request of its broker",
        f"warning: {logs / 'b2'} and {logs / 'old' / 'b2'}: their logs count as those of"
        " one broker, b2; if there are several brokers, name each with --broker-from",
        "note: 2 days of earlier builds were decided again",
    ]
    assert done.stdout == whole.stdout
    assert everything(spark, tmp_path / "bits") == fresh
    check_others_count(tmp_path / "bits", fresh)

    check_the_whole(Tables.open(spark, tmp_path / "whole"), json.loads(whole.stdout))


@pytest.mark.usefixtures("groups_of_two")
def test_a_build_after_kills_in_the_middle_is_as_an_undisturbed_one(
    spark: SparkSession, pipeline: Pipeline, tmp_path: Path
) -> None:
    """The first build and a later one, each by ``kill -9`` between groups, with a file that a
    worker had not finished. The next build has fewer files, so it does not write the same groups
    again."""
    write_log(tmp_path / "log", (0, ace(1, "a")))
    for day in (1, 2):
        logs = {
            pipeline.audit(f"b{broker}.log.{day}", text): text
            for broker in range(5)
            for text in [line(f"1970-01-{day:02} 00:00:0{broker}", "a")]
        }
        before = everything(spark, tmp_path / "killed") if day > 1 else Counter()
        with on_this_machine():
            run_killed(spark, "before", 2, *pipeline.words("killed"))
        assert everything(spark, tmp_path / "killed") == before
        cut_newest(tmp_path / "killed" / DECISIONS.name)
        grown, *gone = logs
        pipeline.audit(grown.name, logs[grown], line(f"1970-01-{day:02} 01:00:00", "a"))
        for path in gone:
            path.unlink()
        done = pipeline.build_here("killed")
        assert (done.returncode, done.stderr) == (0, "")
    whole = pipeline.build_here("whole")
    assert (done.stdout, json.loads(done.stdout)["allowed"]) == (whole.stdout, 4)
    assert everything(spark, tmp_path / "killed") == everything(spark, tmp_path / "whole")


def cut_newest(folder: Path) -> None:
    """The newest file of rows, as a worker leaves it that is killed while it writes."""
    newest = max(folder.rglob("*.parquet"), key=lambda path: path.stat().st_mtime_ns)
    os.truncate(newest, newest.stat().st_size // 2)


def test_the_driver_gets_no_more_rows_for_more_files(
    spark: SparkSession,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At once. Of files that are not left out, and whose lines are requests, it gets no rows but
    their paths, a group after the other."""
    monkeypatch.setattr(file_groups, "MOST_FILES", 10)
    largest: list[int] = []

    def counting(get: Callable[[DataFrame], Any]) -> Callable[[DataFrame], Any]:
        def got(rows: DataFrame) -> Any:
            found = get(rows)
            largest.append(len(found))
            return found

        return got

    for name in ("collect", "toArrow"):
        monkeypatch.setattr(DataFrame, name, counting(getattr(DataFrame, name)))
    found = {}
    for files in (10, 30):
        (tmp_path / str(files)).mkdir()
        pipeline = Pipeline(tmp_path / str(files), capsys)
        write_log(pipeline.folder / "log", (0, ace(1, "a")))
        for number in range(files):
            pipeline.audit(f"b1.log.{number}", line(f"1970-01-01 00:00:{number:02}", "a"))
        largest.clear()
        assert pipeline.build("out").returncode == 0
        found[files] = max(largest)
    assert found[10] == found[30]


def check_others_count(folder: Path, rows: Counter[tuple[str, str]]) -> None:
    found = Counter(counts(folder / "current"))
    assert found.pop("files")
    assert found == Counter(name for name, _ in rows.elements())


def test_what_is_null_in_a_table_of_requests_is_as_if_it_were_lacking(
    spark: SparkSession, tmp_path: Path
) -> None:
    asked = {
        "principal": "User:a",
        "host": "10.0.0.1",
        "operation": "READ",
        "resource_type": "TOPIC",
        "resource_name": "a",
        "result": "DENIED",
    }
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    nulls = {"broker": pa.nulls(1, "string"), "pattern_type": pa.nulls(1), "ambiguous": [None]}
    read = []
    for folder, more in (("lacking", {}), ("null", nulls)):
        path = tmp_path / folder / "b7.parquet"
        path.parent.mkdir()
        columns = {"time": [noon], **{name: [value] for name, value in asked.items()}}
        parquet.write_table(pa.table({**columns, **more}), path)
        [row] = read_table(spark, str(path)).drop("file").collect()
        assert (row.broker, row.pattern_type, row.ambiguous) == ("b7", "LITERAL", False)
        assert row.reason is None
        read.append(row)
    assert read[0] == read[1]


def test_a_dry_run_names_the_days_that_the_build_then_decides_again(
    spark: SparkSession, pipeline: Pipeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decided_again: list[list[str]] = []

    def watched(*arguments: Any) -> frozenset[date]:
        days = stale_days(*arguments)
        decided_again.append(sorted(map(str, days)))
        return days

    monkeypatch.setattr("metalog_spark.build.stale_days", watched)

    def named() -> list[str]:
        previewed = json.loads(pipeline.build_here("out", "--dry-run").stdout)
        assert previewed["again"] == previewed["stale"], "there are no new lines"
        return list(previewed["stale"])

    days = ["1970-01-01", "1970-01-02", "1970-01-03"]
    write_log(tmp_path / "log", (0, ace(1, "a")))
    pipeline.audit("b1.log", *(line(f"{day} 13:00:00", "a") for day in days))
    assert pipeline.build_here("out").returncode == 0
    assert named() == []
    write_log(tmp_path / "log", (0, ace(1, "a")), (DAY_MS + NOON_MS, ace(2, "b")))
    assert named() == days[1:]
    built = pipeline.build_here("out")
    assert built.returncode == 0
    assert "note: no new file: every audit file was read before and is unchanged" in built.stderr
    assert "note: 2 days of earlier builds were decided again" in built.stderr
    assert decided_again == [days[1:]]
    assert named() == []
    (tmp_path / "server.properties").write_text("super.users=User:a\n")
    assert named() == days


def check_the_whole(tables: Tables, told: dict[str, Any]) -> None:
    assert (told["allowed"], told["denied"], told["disagree"]) == (194, 3, 2)
    assert (told["later"], told["hours"]["controller"]) == (4, 1)
    assert told["rejected"] == {"notAudit": 3, "broken": 3}
    assert told["brokers"] == ["b1", "b2", "b3", "b4", "more"]
    rejected = tables.read(REJECTED).collect()
    assert sorted((Path(row.file).name, row.line or 0, row.reason[:30]) for row in rejected) == [
        ("kafka-authorizer.log", 2, EMPTY),
        ("kafka-authorizer.log", 3, "the audit line's operation REE"),
        ("more.parquet", 0, "its result is neither ALLOWED "),
        ("more.parquet", 0, "one of time, principal, host, "),
        ("picture", 1, NOT_AUDIT[:30]),
        ("picture", 2, NOT_AUDIT[:30]),
    ]
    decisions = tables.read(DECISIONS).where("day = DATE '1970-01-02'").collect()
    assert {
        (row.broker, row.resource_name, row.decided, row.decided_rule, row.disagrees)
        for row in decisions
    } == {
        ("b1", "b", "ALLOWED", "MatchingAcl", False),
        ("b1", "c", "DENIED", "DefaultDeny", False),
        ("b2", "a", "ALLOWED", "SuperUser", False),
        ("b3", "a", "ALLOWED", "MatchingAcl", True),
        ("more", "b", "ALLOWED", "MatchingAcl", True),
    }
    assert {Path(row.file).name for row in decisions if row.broker == "b1"} == {
        "kafka-authorizer.log",
        "kafka-authorizer.log.1.gz",
    }


def test_damage_is_skipped_where_that_is_asked_for_and_is_in_the_reports_list(
    spark: SparkSession, pipeline: Pipeline, capsys: pytest.CaptureFixture[str]
) -> None:
    log = ArchiveFolder(pipeline.folder / "log").segment(0, ace(1, "a"), ace(2, "b"))
    segment = log.segment_path(0)
    segment.write_bytes(segment.read_bytes()[:-1] + b"?")
    pipeline.audit("b1.log", line("1970-01-01 00:00:01", "a"))
    named = f"{segment}, offset 2, byte "
    advised = "; take the log from another copy, or leave out the damage by --skip-damaged"
    said = fault(pipeline)
    assert said.startswith(f"metalog: {named}")
    assert said.endswith(advised)
    done = pipeline.build("out", "--skip-damaged")
    assert (done.returncode, done.stderr.count(f"warning: skipped: {named}")) == (1, 1)
    [damage] = json.loads(done.stdout)["damages"]
    words = ("report", pipeline.folder / "out", "--section", "unseen", "--json")
    [row] = map(json.loads, run_here(capsys, "pipeline", *words).stdout.splitlines())
    assert (row["what"], row["from"]) == ("damaged part, skipped", "offsets 2 to ?")
    assert row["why"].startswith(damage)


@contextmanager
def on_this_machine() -> Iterator[None]:
    """Without a setting of Spark that puts its files elsewhere."""
    with pytest.MonkeyPatch.context() as patch:
        for name in CLUSTER_VARIABLES:
            patch.delenv(name, raising=False)
        yield


def fault(pipeline: Pipeline, *arguments: str | Path) -> str:
    """The one line of a refused build."""
    done = pipeline.build("out", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    [said] = [each for each in done.stderr.splitlines() if each.startswith("metalog: ")]
    return said


def test_files_without_an_audit_line_are_refused_also_if_only_spark_sees_it(
    spark: SparkSession, pipeline: Pipeline
) -> None:
    """The check before Spark starts looks for a word, not for a whole line."""
    write_log(pipeline.folder / "log", (0, ace(1, "a")))
    first = pipeline.audit("a.log", "Principal of the loan\n")
    pipeline.audit("b.log", "Principal Engineer\n")
    assert fault(pipeline).startswith(
        f"metalog: --audit {first} and 1 more file: no audit line in them; name the brokers'"
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--zone", "Mars"], "'Mars' is not a time zone; write for example Europe/Berlin, UTC"),
        (["--broker-from", "b("], "--broker-from b(: not a regular expression: missing )"),
        (["--config", "/nowhere"], "/nowhere: cannot be read (No such file or directory)"),
        (["--super-users", "root"], "--super-users: 'root' has no type; write it as User:root"),
        (["--audit"], "expected at least one argument"),
    ],
)
@pytest.mark.usefixtures("no_spark")
def test_what_is_asked_wrongly_is_refused_before_spark_starts(
    pipeline: Pipeline, arguments: list[str], said: str
) -> None:
    assert said in fault(pipeline, *arguments)


def test_what_cannot_be_built_is_refused_and_changes_nothing(
    spark: SparkSession, pipeline: Pipeline, tmp_path: Path
) -> None:
    write_log(pipeline.folder / "log", (0, ace(1, "a")))
    pipeline.audit("b1.log", line("1970-01-01 00:00:00", "a"))
    with on_this_machine():
        spark.range(1).write.parquet(str(tmp_path / "table"))
        said = fault(pipeline, "--requests", tmp_path / "table")
        assert f"{tmp_path}/table: not a table of requests: it has no column time" in said
        assert not (tmp_path / "out").exists()
    said = fault(pipeline, "--requests", "/nowhere", "--broker-from", "b(.)")
    assert "/nowhere: cannot be read as a Parquet table" in said
    said = fault(pipeline, "--requests", tmp_path / "logs" / "b1.log")
    assert "b1.log: cannot be read as a Parquet table: " in said
    assert not (tmp_path / "out").exists()
    said = fault(pipeline, "--out", tmp_path / "logs" / "tables")
    assert f"{tmp_path}/logs/tables: lies in --audit {tmp_path}/logs; name another" in said
    Tables.make(spark, tmp_path / "now").store_facts(followed={"log": "l", "audit": "a"})
    said = fault(pipeline, "--out", tmp_path / "now")
    assert "metalog pipeline follow fills it; build into another folder" in said
    made = {each.name for each in (tmp_path / "now").iterdir()}
    assert made == {"changes", "current", "versions"}
    thesis = tmp_path / "other" / "thesis.txt"
    thesis.parent.mkdir()
    thesis.write_text("…")
    said = fault(pipeline, "--out", thesis.parent)
    assert f"{thesis.parent}: holds files that are not a pipeline's" in said
    assert f"{thesis}: is a file; name a new or empty folder" in fault(pipeline, "--out", thesis)
    assert [each.read_text() for each in thesis.parent.iterdir()] == ["…"]
