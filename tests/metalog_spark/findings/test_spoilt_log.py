"""A whole pipeline over logs with torn, joined, forged and half lines in every file. The truth is
known from before the damage, with the deciding ACL of a linear scan."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import pytest

from metalog.ids import Uuid, uuid_text
from metalog.image.state.acls import record_of
from metalog.log.folder.layout import PARTITION_FOLDER, segment_name
from metalog.records.batch import batch_bytes, build_batch
from metalog.records.messages import LeaderChangeMessage
from metalog_spark.ingest.lines.audit_lines import LINE_FEED
from metalog_spark.ingest.lines.line_forms import HALF
from metalog_spark.staging import _lines_before
from metalog_spark.store.table_store import Tables
from metalog_spark.store.tables import POSSIBLE, REJECTED, REQUESTS, TableSchema
from tests.support.command.runs import interrupted_at, run_here
from tests.support.spark.spoilt_log import FORGED, START, Event, some_acls, some_events, spoil

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from metalog.acl import Acl

P, T = ParamSpec("P"), TypeVar("T")
FILES, LINES = 3, 20
"""Two files of one broker, one of another; and lines of each."""


def _id(place: int) -> Uuid:
    return Uuid((place + 1).to_bytes(16, "big"))


def write_log(folder: Path, acls: list[Acl]) -> None:
    path = folder / PARTITION_FOLDER / segment_name(0)
    path.parent.mkdir(parents=True)
    time = int(START.timestamp() * 1000) - 1000
    records = [(record_of(_id(place), acl), 0) for place, acl in enumerate(acls)]
    batches = [
        build_batch(0, 1, time, [(LeaderChangeMessage(0, 1), 0)]),
        build_batch(1, 1, time, records),
    ]
    path.write_bytes(b"".join(map(batch_bytes, batches)))


TINY = {"spark.sql.files.maxPartitionBytes": "4000", "spark.sql.files.openCostInBytes": "1"}
"""A few lines in each split, so that halves of records lie in different splits."""


@contextmanager
def in_tiny_splits(spark: SparkSession) -> Iterator[None]:
    """For audit files alone: tables in such splits would need thousands of tasks."""

    def with_tiny(work: Callable[P, T]) -> Callable[P, T]:
        def run(*arguments: P.args, **options: P.kwargs) -> T:
            before = {name: spark.conf.get(name) for name in TINY}
            for name, value in TINY.items():
                spark.conf.set(name, value)
            found = work(*arguments, **options)
            for name, value in before.items():
                spark.conf.set(name, value)
            return found

        return run

    def stage(
        tables: Tables, table: TableSchema, make: Callable[[Path | None], Iterable[DataFrame]]
    ) -> str:
        def made(folder: Path | None) -> Iterator[DataFrame]:
            for rows in make(folder):
                assert rows.rdd.getNumPartitions() > FILES
                yield rows

        return staged(tables, table, made)

    staged = Tables.stage
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Tables, "stage", with_tiny(stage))
        patch.setattr("metalog_spark.staging._lines_before", with_tiny(_lines_before))
        yield


def planted(log: bytes, events: Sequence[Event]) -> bool:
    """Whether a line is torn and joined to the next, another is half, and a name forges a field."""
    lines, whole = log.split(b"\n"), {event.line.encode() for event in events}
    halves = {line for line in lines if any(each.startswith(line) for each in whole)} - whole
    is_forged = any(event.name in FORGED for event in events)
    return len(lines) <= len(events) and bool(halves - {b""}) and is_forged


def test_no_used_grant_can_go_whichever_way_the_files_come(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the last file first, Ctrl-C after all is built, and then the others, or all at once in
    small splits. Each file has torn, joined, forged and half lines, a record with a line feed in
    its name, and ends within a line."""
    random = Random(19)
    acls = some_acls(random, 120)
    write_log(tmp_path / "log", acls)
    used = set()
    for number in range(FILES):
        log, events = b"", list[Event]()
        while not planted(log, events):
            events = some_events(random, acls, LINES)
            log, told = spoil(random, events, halves=True)
        fed = events[-1].line.replace(events[-1].name, "a\nb\nc")
        log += f"\n{fed}\n{events[-1].line[: -len(' (kafka.authorizer.logger)')]}"[:-40].encode()
        used |= {event.acl for event in told if event.acl is not None}
        name = f"b{number // 2}.log.{number % 2}"
        (tmp_path / "logs").mkdir(exist_ok=True)
        (tmp_path / "logs" / name).write_bytes(log)
    build = ("pipeline", "build", "--json", "--log", tmp_path / "log")
    files = sorted((tmp_path / "logs").iterdir())
    whole, bits = tmp_path / "whole", tmp_path / "bits"
    with in_tiny_splits(spark):
        done = run_here(capsys, *build, "--audit", tmp_path / "logs", "--out", whole)
    assert done.returncode == 0, done.stderr
    with interrupted_at("metalog_spark.summary.summary"):
        done = run_here(capsys, *build, "--audit", files[-1], "--out", bits)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr.splitlines()[-1] == "note: interrupted; all was built"
    run_here(capsys, *build, "--audit", tmp_path / "logs", "--out", bits)
    for table in REQUESTS, POSSIBLE, REJECTED:
        rows = [
            sorted(map(str, Tables.open(spark, out).read(table).drop("text").collect()))
            for out in (whole, bits)
        ]
        assert rows[0] == rows[1]
    rejected = Tables.open(spark, whole).read(REJECTED)
    why = Counter(row.reason for row in rejected.select("reason").collect())
    assert why[LINE_FEED] == FILES
    assert why[HALF]
    said = run_here(capsys, "pipeline", "unused", "--json", "--all", whole)
    assert "audit lines can be read in several ways" in said.stderr
    verdicts = [json.loads(line) for line in said.stdout.splitlines()]
    going = {each["id"] for each in verdicts if each["canGo"]}
    assert going
    assert not going & {uuid_text(_id(acls.index(acl))) for acl in used}
