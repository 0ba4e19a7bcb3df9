"""The tables HISTORY and ACL_CHANGELOG: an archive's content, the same at each reading."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from metalog.errors import CorruptLog
from metalog.ids import uuid_text
from metalog_spark.history.archive import Logs
from metalog_spark.history.changelog import read_changelog, replace_changelog
from metalog_spark.store.table_store import Tables
from metalog_spark.store.tables import ACL_CHANGELOG, HISTORY, TableSchema
from tests.support.disk.archive_folders import ArchiveFolder
from tests.support.disk.tiny_log import ace, uuid


def second(number: int) -> datetime:
    return datetime.fromtimestamp(number, UTC)


def rows(tables: Tables, table: TableSchema) -> list[dict[str, Any]]:
    return tables.read(table).toArrow().to_pylist()


def test_over_a_gap_and_over_damage(spark: SparkSession, tmp_path: Path) -> None:
    """Several splits, each scanned by a worker; a second build changes nothing."""
    early = ArchiveFolder(tmp_path / "log" / "early")
    early.segment(0, ace(1, "a")).segment(2, ace(2, "b")).segment(4, ace(3, "c"))
    early.segment_path(2).write_bytes(early.segment_path(2).read_bytes()[:-1] + b"?")
    ArchiveFolder(tmp_path / "log" / "late").snapshot(9, ace(2, "b")).segment(9, ace(4, "d"))
    source, late = (str(tmp_path / "log" / name) for name in ("*", "late"))
    logs = Logs(source, environ=os.environ)
    tables = Tables.make(spark, tmp_path / "out")
    advised = "; take the log from another copy, or leave out the damage by --skip-damaged$"
    with pytest.raises(CorruptLog, match=rf"{early.segment_path(2)}, offset 3, .*{advised}"):
        read_changelog(spark, logs)
    for _ in range(2):
        replace_changelog(tables, *read_changelog(spark, logs, skip_damaged=True)[:2])
        ranges = rows(tables, HISTORY)
        assert [(each["kind"], each["from_offset"], each["to_offset"]) for each in ranges] == [
            ("KNOWN", 0, 3),
            ("DAMAGED", 3, 4),
            ("GAP", 4, 6),
            ("GAP", 6, 9),
            ("KNOWN", 9, 11),
        ]
        assert ranges[0]["to_time"] == ranges[1]["from_time"] == second(2)
        assert ranges[3]["to_time"] == ranges[4]["from_time"] == second(8)
        lifetimes = {each["id"]: each for each in rows(tables, ACL_CHANGELOG)}
        assert len(lifetimes) == 3
        first = lifetimes[uuid_text(uuid(1))]
        assert first == {
            "id": uuid_text(uuid(1)),
            "resource_type": "TOPIC",
            "resource_name": "a",
            "pattern_type": "LITERAL",
            "principal": "User:a",
            "host": "*",
            "operation": "READ",
            "permission_type": "ALLOW",
            "from_offset": 2,
            "from_time": second(1),
            "from_known": True,
            "to_offset": 3,
            "to_time": second(2),
            "to_known": False,
            "source": str(tmp_path / "log" / "early"),
        }
        second_life = lifetimes[uuid_text(uuid(2))]
        assert (second_life["from_known"], second_life["source"]) == (False, late)
        assert lifetimes[uuid_text(uuid(4))]["from_offset"] == 11
        assert lifetimes[uuid_text(uuid(4))]["source"] == late
