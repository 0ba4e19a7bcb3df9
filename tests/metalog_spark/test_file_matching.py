"""Audit files are recognized after they were rotated, compressed, copied, cut or extended."""

from __future__ import annotations

from datetime import UTC, date, datetime
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from authorizer.audit.layouts import Zone
from metalog_spark.ingest.audit_source import LISTED
from metalog_spark.ingest.audit_splits import read_packed
from metalog_spark.ingest.file_facts import FACTS
from metalog_spark.ingest.file_matching import classified, files_after, unread
from metalog_spark.store.arrow import frame_of, names_in
from metalog_spark.store.tables import FILES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BANNER = "".join(f"KAFKA_SETTING_{number}=value\n" for number in range(200))
FIRST, LONG, OTHER, THIRD = "first\n", "more\n" * 9_000, "other\n" * 9, "the third\n"
LINES = ["one\n", "two\n"]
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
        new = unread(frame_of(spark, listed, LISTED), self.known).collect()
        facts = [read(each.asDict(), files[each["path"]]) for each in new]
        rows = frame_of(spark, facts, FACTS)
        found = classified(rows, self.known)
        self.known = frame_of(spark, files_after(rows, found, self.known).collect(), FILES.schema)
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


def test_the_longest_of_all_files_that_begin_alike_is_read(spark: SparkSession) -> None:
    """Compared with a search through all files, which looks at whole contents."""
    chance = Random(7)
    texts = {
        f"/{number}": "".join(chance.choices(LINES, k=chance.randrange(5))) for number in range(40)
    }
    facts = [
        read({"path": path, "length": len(text), "modified": changed(text)}, text)
        for path, text in texts.items()
    ]
    found = classified(frame_of(spark, facts, FACTS), None)
    longest = {
        path: max(
            (other.count("\n"), name) for name, other in texts.items() if other.startswith(text)
        )[1]
        for path, text in texts.items()
        if text
    }
    copies = {path: name for path, name in longest.items() if path != name}
    assert copies
    assert {path: each.file for path, each in found.same.items()} == copies


def test_a_name_with_a_number_may_be_a_file_s_own(spark: SparkSession) -> None:
    builds = Builds(spark)
    assert builds.given({"/a (2)": FIRST})[0] == {"/a (2)": "/a (2)"}
    assert builds.given({"/a (2)": OTHER})[0] == {"/a (2)": "/a (2) (2)"}
    assert builds.given({"/a": THIRD})[0] == {"/a": "/a"}
