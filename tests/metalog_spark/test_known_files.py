"""Audit files are recognized after they were rotated, compressed, copied, cut or extended."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from authorizer.audit.layouts import Zone
from metalog_spark.ingest import known_files
from metalog_spark.ingest.audit_source import LISTED
from metalog_spark.ingest.audit_splits import read_packed
from metalog_spark.ingest.file_facts import FACTS
from metalog_spark.ingest.known_files import after, sorted_out, unread
from metalog_spark.store.arrow import frame_of, names_in, table_of
from metalog_spark.store.tables import FILES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BANNER = "".join(f"KAFKA_SETTING_{number}=value\n" for number in range(200))
FIRST, LONG, OTHER, THIRD = "first\n", "more\n" * 9_000, "other\n" * 9, "the third\n"
DAY = date(2026, 1, 1)


def read(listed: dict[str, Any], text: str) -> tuple[Any, ...]:
    """The row of ``FACTS`` for the file."""
    content = pa.record_batch({"path": [listed["path"]], "content": [text.encode()]})
    *_, split = (
        each
        for batch in read_packed([content], Zone("UTC"), None)
        for each in batch.to_pylist()
        if each["lines"] is not None
    )
    heads = split["head"] or []
    facts = {"lines": split["lines"], "head": heads[-1] if heads else None, "days": [DAY]}
    row = {**listed, **facts, "heads": heads}
    return tuple(row.get(name) for name in names_in(FACTS))


def changed(text: str) -> datetime:
    return datetime(2026, 1, 1, 0, len(text) % 60, tzinfo=UTC)


class Builds:
    """A folder's known files, build by build."""

    def __init__(self, spark: SparkSession) -> None:
        self.known = frame_of(spark, [], FILES.schema)

    def given(self, files: dict[str, str]) -> tuple[dict[str, str], dict[str, str], set[str]]:
        """The names of the rows of read files, the files for which they are left out, and the
        replaced names."""
        spark = self.known.sparkSession
        listed = [(path, len(text), changed(text)) for path, text in files.items()]
        new = unread(frame_of(spark, listed, LISTED), self.known)
        facts = [read(each, files[each["path"]]) for each in new.to_pylist()]
        rows = table_of(facts, FACTS)
        found = sorted_out(rows, self.known)
        self.known = frame_of(spark, after(rows, found, self.known).collect(), FILES.schema)
        same = {path: each.file for path, each in found.same.items()}
        taken = {each[0]: each[0] for each in facts if each[0] not in same}
        return taken | {**found.renamed}, same, {each.file for each in found.gone}

    @property
    def names(self) -> set[str]:
        return {each.file for each in self.known.where("same IS NULL").collect()}


def test_a_file_is_known_by_how_it_begins(spark: SparkSession) -> None:
    """A day of a broker's log that is rotated, packed and copied, build by build."""
    builds = Builds(spark)
    assert builds.given({"/a": FIRST, "/empty": ""}) == (
        {"/a": "/a", "/empty": "/empty"},
        {},
        set(),
    )
    assert builds.given({"/a": FIRST, "/empty": ""}) == ({}, {}, set())
    assert builds.given({"/a": FIRST + LONG}) == ({"/a": "/a"}, {}, {"/a"})
    taken, same, gone = builds.given({"/a.1": FIRST + LONG, "/a": OTHER})
    assert (set(taken.values()), same, gone) == ({"/a.1", "/a"}, {}, {"/a"})
    files = {
        "/a.1.gz": FIRST + LONG,
        "/a.0": FIRST,
        "/b": OTHER,
        "/a": THIRD,
        "/cut": FIRST + LONG[:-9],
    }
    taken, same, gone = builds.given(files)
    assert same == {"/a.0": "/a.1.gz", "/cut": "/a.1.gz"}
    assert (taken, gone) == ({"/a.1.gz": "/a.1.gz", "/b": "/b", "/a": "/a"}, {"/a.1", "/a"})
    assert builds.given(files) == ({}, {}, set())
    assert builds.given({"/later": FIRST + LONG[:-9]})[1] == {"/later": "/a.1.gz"}
    assert builds.names == {"/a.1.gz", "/b", "/a", "/empty"}


def test_files_that_begin_with_the_same_banner_are_two(spark: SparkSession) -> None:
    """As a container's start script prints it, without times, at every start."""
    builds = Builds(spark)
    assert not builds.given({"/a": BANNER + FIRST, "/b": BANNER + OTHER})[1]
    assert not builds.given({"/c": BANNER + THIRD})[2]


def test_rows_of_a_file_that_is_not_given_again_keep_their_name(spark: SparkSession) -> None:
    builds = Builds(spark)
    for text, name in (FIRST, "/a"), (OTHER, "/a (2)"), (THIRD, "/a (3)"):
        assert builds.given({"/a": text}) == ({"/a": name}, {}, set())
    assert builds.names == {"/a", "/a (2)", "/a (3)"}


@pytest.mark.parametrize("batch_files", [1, 2, 8_192])
def test_copies_are_recognized_in_batches_of_any_size(
    batch_files: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_files, "_BATCH_FILES", batch_files)
    texts = {"/a": FIRST, "/b": OTHER, "/c": FIRST + LONG, "/d": THIRD, "/e": OTHER}
    facts = [
        read({"path": path, "length": len(text), "modified": changed(text)}, text)
        for path, text in texts.items()
    ]
    found = sorted_out(table_of(facts, FACTS), None)
    assert {path: each.file for path, each in found.same.items()} == {"/a": "/c", "/b": "/e"}


def test_files_are_compared_in_little_memory() -> None:
    """The fingerprints themselves take 304 bytes for each of these files."""
    files, lines = 65_536, 38
    heads = np.random.default_rng(1).integers(0, 1 << 62, files * lines)
    ends = pa.array(np.arange(0, files * lines + 1, lines), pa.int32())
    columns = {
        "path": pa.array(map(str, range(files))),
        "heads": pa.ListArray.from_arrays(ends, pa.array(heads)),
        "head": pa.array(heads[lines - 1 :: lines]),
    }
    schema = table_of([], FACTS).schema
    arrays = [columns.get(each.name, pa.nulls(files, each.type)) for each in schema]
    table = pa.table(arrays, schema)
    before, pool = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    pa.set_memory_pool(pool)
    try:
        assert not sorted_out(table, None).same
    finally:
        pa.set_memory_pool(before)
    assert pool.max_memory() < 1.5 * heads.nbytes
