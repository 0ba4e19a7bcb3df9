"""A worker's output for audit lines: each request with its decision, and sums of them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession

from authorizer.audit.layouts import NOT_AUDIT, Zone
from authorizer.history.timeline import AclLifetime, Edge, Timeline
from metalog.acl import Operation, ResourceType
from metalog.errors import InvalidRequest
from metalog.records.acl_codes import acl_of
from metalog_spark.decide.decide_lines import (
    ALIKE,
    COUNT,
    KIND,
    LAST_US,
    TEXT,
    SideKind,
    decided_lines,
)
from metalog_spark.decide.decide_worker import DecideWorker
from metalog_spark.history.archive_history import KNOWN, ChangelogRow, HistoryRange
from metalog_spark.history.changelog import changelog_table, history_table
from metalog_spark.history.configuration import Configuration
from metalog_spark.history.state import FolderState, packed_rows
from metalog_spark.ingest.audit_source import LISTED
from metalog_spark.ingest.audit_splits import read_splits
from metalog_spark.ingest.file_groups import FileGroups
from metalog_spark.staging import AuditInput, Decider, Staged, stage
from metalog_spark.store import local_path
from metalog_spark.store.arrow import frame_of
from metalog_spark.store.day_files import DayFiles
from metalog_spark.store.places import WITHOUT_DAY
from metalog_spark.store.table_store import Tables
from metalog_spark.store.tables import DECISIONS, REQUESTS
from tests.support.disk.tiny_log import ace, uuid
from tests.support.spark.audit_rows import splits_of
from tests.support.worlds import spec

ACL = acl_of(ace(1, "a"))
LIFE = AclLifetime(uuid(1), ACL, Edge(1, 0), None)
WORKER = DecideWorker(FolderState(Timeline(Edge(0, 0), [LIFE]), ()), Configuration().periods)
RULE = " with resourceRefCount = 1 based on rule DefaultDeny (kafka.authorizer.logger)"


def line(minute: int, name: str = "a", result: str = "Allowed", request: str = "Fetch") -> str:
    return (
        f"[1970-01-01 {minute // 60:02}:{minute % 60:02}:00,000] INFO Principal = User:a is"
        f" {result} operation = READ from host = 10.0.0.1 on resource = Topic:LITERAL:{name}"
        f" for request = {request}"
    )


LINES = [
    *(f"{line(minute)}{RULE}" for minute in range(0, 120, 2)),
    *(f"{line(121, 'b', 'Denied', 'CreateAcls')}{RULE}" for _ in range(9)),
    f"{line(122, 'a', 'Allowed', 'BrokerHeartbeat')}{RULE}",
    line(123),
    "other",
    "b for request = Fetch" + RULE,
]


def rows(path: Path, split_bytes: int = 1 << 20) -> list[dict[str, Any]]:
    batches = read_splits(splits_of(path, split_bytes), Zone("UTC"), None)
    return [row for batch in decided_lines(batches, WORKER) for row in batch.to_pylist()]


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "b1.log"
    path.write_text("".join(f"{each}\n" for each in LINES))
    return path


def of_kind(found: list[dict[str, Any]], kind: SideKind) -> list[dict[str, Any]]:
    return [row for row in found if row["day"] is None and row[KIND] == kind]


def test_each_request_is_decided_as_the_specification_decides(written: Path) -> None:
    requests = [row for row in rows(written) if row["day"] is not None]
    assert len(requests) == 71
    for row in requests:
        who = frozenset({row["principal"]}), row["host"]
        expected = spec.decide(
            {ACL}, who, Operation.READ, ResourceType.TOPIC, row["resource_name"], False
        )
        assert (row["decided"], row["decided_rule"]) == (expected.result.value, expected.rule)
        assert row["disagrees"] == (row["decided"] != row["result"])
        assert row["known"]


@pytest.mark.parametrize("split_bytes", [1 << 20, 2_000])
def test_what_splits_add_up_is_what_is_in_their_rows(written: Path, split_bytes: int) -> None:
    found = rows(written, split_bytes)
    splits = [json.loads(row[TEXT]) for row in of_kind(found, SideKind.SPLIT)]
    assert len(splits) == (1 if split_bytes > 2_000 else 9)
    assert sum(each["lines"] for each in splits) == len(LINES)
    assert sum(each["requests"] for each in splits) == 71
    assert (sum(each["not_audit"] for each in splits), sum(e["broken"] for e in splits)) == (2, 0)
    assert {each["why"] for each in splits} == {None}
    assert [any(each[name] for each in splits) for name in ("lacks_rule", "has_end")] == [True] * 2
    assert min(each["rule_us"] for each in splits if each["rule_us"] is not None) == 0
    hours: dict[int, list[int]] = {}
    for hour, *counts in (run for each in splits for run in each["hours"]):
        before = hours.get(hour, [0] * 5)
        hours[hour] = [one + other for one, other in zip(before, counts, strict=True)]
    assert hours == {0: [30, 0, 0, 30, 0], 1: [30, 0, 0, 30, 0], 2: [2, 9, 1, 1, 1]}
    rejected = {row["rule"] for row in of_kind(found, SideKind.REJECTED)}
    assert any(reason.startswith(NOT_AUDIT[:20]) for reason in rejected)


def test_requests_that_are_alike_are_counted(written: Path) -> None:
    found = rows(written)
    requests = [row for row in found if row["day"] is not None]
    used = of_kind(found, SideKind.USAGE)
    alike = [name for name in ALIKE if name != "day"]
    expected = Counter(tuple(row[name] for name in alike) for row in requests)
    summed: Counter[tuple[Any, ...]] = Counter()
    for row in used:
        summed[tuple(row[name] for name in alike)] += row[COUNT]
    assert summed == expected
    assert len(used) < len(requests) / 10
    times = {row[LAST_US] for row in used}
    assert str(123 * 60_000_000) in times
    assert of_kind(found, SideKind.UNCOUNTED) == []


@pytest.mark.parametrize(("most", "few"), [(1 << 18, 1 << 16), (40, 20), (40, 1 << 16)])
def test_sums_of_several_batches_are_added_up_or_their_days_are_named(
    monkeypatch: pytest.MonkeyPatch, written: Path, most: int, few: int
) -> None:
    monkeypatch.setattr("metalog_spark.decide.decide_lines._MOST_SUMS", most)
    monkeypatch.setattr("metalog_spark.decide.decide_lines._FEW_SUMS", few)
    texts = [f"{line(each, f'a{each % 30}')}{RULE}\n" for each in range(300)]
    texts += [f"{line(300 + each, f'b{each}')}{RULE}\n" for each in range(100)]
    written.write_text("".join(texts))
    batches = read_splits(splits_of(written, 2_000), Zone("UTC"), None)
    found = [row for batch in decided_lines(batches, WORKER) for row in batch.to_pylist()]
    uncounted = {row[COUNT] for row in of_kind(found, SideKind.UNCOUNTED)}
    assert uncounted == ({0} if few == 20 else set())
    expected = Counter(
        tuple(row[name] for name in ALIKE)
        for row in found
        if row["day"] is not None and (row["day"] - date(1970, 1, 1)).days not in uncounted
    )
    summed: Counter[tuple[Any, ...]] = Counter()
    for row in of_kind(found, SideKind.USAGE):
        day = row["time"].date()
        if (day - date(1970, 1, 1)).days not in uncounted:
            summed[tuple({**row, "day": day}[name] for name in ALIKE)] += row[COUNT]
    assert summed == expected


@pytest.fixture
def small_splits(spark: SparkSession) -> Iterator[None]:
    name = "spark.sql.files.maxPartitionBytes"
    before = spark.conf.get(name)
    spark.conf.set(name, "9000")
    yield
    spark.conf.set(name, before)


@pytest.mark.usefixtures("small_splits")
def test_lines_of_a_file_in_splits_are_numbered_from_its_beginning(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also for unexpected splits, which the written rows show; they are written again. Rows without
    a day are never in force, and the requests are the decided ones."""
    lines = [f"{line(each, 'x' * 200)}{RULE}\n" for each in range(120)]
    path = tmp_path / "b1.log"
    path.write_text("".join(lines))
    state = packed_rows(
        changelog_table([ChangelogRow(uuid(1), ACL, Edge(1, 0), True, None, True, "log")]),
        history_table([HistoryRange(KNOWN, 0, 9, 0, 9_000)], "log"),
    )
    tables = Tables.make(spark, tmp_path / "out")
    listed = spark.read.format("binaryFile").load(str(path)).first()
    file = (str(path), listed["length"], listed["modificationTime"])
    files = FileGroups.of(tables, frame_of(spark, [file], LISTED))
    given = AuditInput(files, None, [], Zone("UTC"), None)
    by = Decider(state, Configuration())
    staged = stage(tables, given, by)
    tables.put(DECISIONS, staged.place, ())
    for table in (DECISIONS, REQUESTS):
        found = tables.read(table).select("line", "time").collect()
        assert sorted(row["line"] for row in found) == [*range(1, 121)]
        assert all(row["time"].hour * 60 + row["time"].minute == row["line"] - 1 for row in found)
    assert [row["lines"] for row in staged.files.collect()] == [120]
    check_spark_writes_the_same(tables, staged, lambda: stage(tables, given, by))
    monkeypatch.setattr("metalog_spark.staging._found_before", lambda sums: {("x", 1): 1})
    with pytest.raises(InvalidRequest, match="changed while they were read"):
        stage(tables, given, by)


def check_spark_writes_the_same(
    tables: Tables, staged: Staged, again: Callable[[], Staged]
) -> None:
    """On this machine's disk workers write requests themselves; elsewhere Spark does."""

    def written(place: str) -> Counter[str]:
        rows = tables.staged(DECISIONS, place).where("request_name <> 'split' OR day IS NOT NULL")
        return Counter(map(repr, rows.collect()))

    def by_workers(place: str) -> list[Path]:
        return [
            *Path(tables.path, place).glob("day=1970-01-01/part-?????-?????-?????.snappy.parquet")
        ]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_path, "has_workers_elsewhere", lambda session: True)
        by_spark = again()
    assert written(by_spark.place) == written(staged.place)
    assert by_workers(staged.place)
    assert not by_workers(by_spark.place)


def test_a_worker_s_files_have_the_rows_of_their_days_and_a_task_again_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metalog_spark.store.day_files.MOST_WAITING", 10)
    days = [*[None] * 8, *(date(2026, 1, each % 3 + 1) for each in range(22))]
    kinds = [*"aaaabbbb", *[None] * 22]
    whole = pa.table({"n": range(30), "day": days, "kind": pa.array(kinds)})
    for _ in range(2):
        files = DayFiles(tmp_path, "00007", "kind")
        for batch in whole.to_batches(max_chunksize=4):
            files.add(batch)
        files.finish()
    for day in set(days):
        names = sorted((tmp_path / f"day={day or WITHOUT_DAY}").iterdir())
        assert all(each.name.startswith("part-00007-") for each in names)
        found = [n for each in names for n in parquet.ParquetFile(each).read()["n"].to_pylist()]
        assert found == [n for n in range(30) if days[n] == day]
        for each in names:
            assert len(set(parquet.ParquetFile(each).read()["kind"].to_pylist())) == 1
