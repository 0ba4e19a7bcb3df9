"""A pipeline's folder after thousands of commits: it stays as small, and as quick to open, as after
a few hundred."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path
from random import Random
from shutil import rmtree
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from metalog.errors import InvalidSource
from metalog_spark.store.arrow import frame_of
from metalog_spark.store.commit_log import KIND, VERSION, CommittedState, replayed
from metalog_spark.store.places import MANY_ROWS, merged_place, place_of, to_merge
from metalog_spark.store.plain_view import add_line, lines_of
from metalog_spark.store.table_store import Tables
from metalog_spark.store.tables import HISTORY, REJECTED

MOST = 10
FIRST = {"kind": KIND, "version": VERSION}
SOME_CHANGES = st.lists(
    st.one_of(
        st.builds(lambda n: {"places": {"usage": f"usage/place={n}"}}, st.integers(0, 3)),
        st.builds(lambda n: {"parts": {"alerts": f"alerts/place=batch-{n}"}}, st.integers(0, 9)),
        st.builds(lambda n: {"days": {"usage": [f"usage/place=a{n}", ["d"]]}}, st.integers(0, 3)),
        st.builds(lambda n: {"facts": {"a": n, "b": {"of": [n]}}}, st.integers()),
        st.builds(lambda n: {"all": [{"facts": {"a": n}}, {"facts": {"c": n}}]}, st.integers()),
    ),
    max_size=12,
)


def lines(changes: list[dict[str, Any]]) -> list[str]:
    return [json.dumps({"serial": n, **change}) for n, change in enumerate(changes, 1)]


@given(SOME_CHANGES, st.integers(0, 12), st.integers(0, 12), st.randoms(use_true_random=False))
def test_a_line_with_a_state_stands_for_all_lines_before_it(
    changes: list[dict[str, Any]], at: int, left: int, random: Random
) -> None:
    """In any order, and with any lines before it that a killed writer did not remove."""
    log = [FIRST, *changes]
    place = min(at, len(changes))
    whole = replayed(lambda: lines(log), "x")
    state = replayed(lambda: lines(log[: place + 1]), "x")
    assert whole is not None
    assert state is not None
    short = lines([*log[:place], {**FIRST, **state.as_change()}, *log[place + 1 :]])
    kept = [*random.sample(short[:place], min(left, place)), *short[place:]]
    random.shuffle(kept)
    assert replayed(lambda: kept, "x") == whole
    lost = [line for line in kept if json.loads(line)["serial"] != place + 2]
    if len(changes) > place + 1:
        with pytest.raises(InvalidSource, match=f"line {place + 2} is missing"):
            replayed(lambda: lost, "x")


def test_the_places_of_a_table_grow_with_the_logarithm_of_its_commits() -> None:
    """Each batch has three rows. A merge counts its rows, and no row is merged more often than
    there are levels."""
    parts: list[str] = []
    rows: dict[str, int] = {}
    merges = 0
    most_places = 0
    for batch in range(10 * MOST**3):
        place = place_of(HISTORY, f"batch-{batch}")
        parts, rows[place] = [*parts, place], 3
        level, merged = to_merge(parts, MOST)
        if merged:
            count = sum(map(rows.__getitem__, merged))
            place = merged_place(HISTORY, level, count, batch)
            assert place not in rows
            parts, rows[place] = [place, *(each for each in parts if each not in merged)], count
            merges += count
        most_places = max(most_places, len(parts))
    batches = 10 * MOST**3
    assert sum(rows[place] for place in parts) == 3 * batches
    assert most_places <= 4 * (MOST + 1)
    assert merges <= 4 * 3 * batches


def test_a_place_with_many_rows_is_not_merged_again() -> None:
    whole = [merged_place(HISTORY, 0, MANY_ROWS, serial) for serial in range(100)]
    assert to_merge(whole, MOST)[1] == ()
    small = [merged_place(HISTORY, 0, MANY_ROWS - 1, serial) for serial in range(100, 100 + MOST)]
    assert to_merge([*whole, *small], MOST)[1] == ()
    one_more = merged_place(HISTORY, 0, 1, 999)
    assert to_merge([*whole, *small, one_more], MOST) == (1, (*small, one_more))


@pytest.fixture
def a_state_often(monkeypatch: pytest.MonkeyPatch) -> int:
    """Instead of each ``COMMITS_PER_STATE`` commits."""
    monkeypatch.setattr("metalog_spark.store.table_store.COMMITS_PER_STATE", 5)
    return 5


def test_a_folder_is_bounded_after_any_number_of_commits(
    spark: SparkSession, tmp_path: Path, a_state_often: int
) -> None:
    """Lines, marks, versions, and directories that no commit needs. Meanwhile a reader that opened
    the folder keeps its rows until the next merge, and every reader finds each row once."""
    tables = Tables.make(spark, tmp_path)
    held = None
    for batch in range(23):
        rows = frame_of(spark, [(f"{batch}", batch, None, None)], REJECTED.schema)
        tables.commit(f"batch-{batch}", added={REJECTED: rows}, replaced={}, follow={"at": batch})
        tables.join(REJECTED, 2)
        tables.mark("told", batch)
        now = Tables.open(spark, tmp_path)
        assert now.contents == tables.contents
        found = now.read(REJECTED)
        if held is not None:
            assert held.count() == batch
        held = found
        assert sorted(row.line for row in found.collect()) == [*range(batch + 1)]
        assert now.facts["follow"] == {"at": batch}
        assert now.marked("told") == batch
        assert len(files(tmp_path / "told")) == 1
        assert len(files(tmp_path / "changes")) <= a_state_often
        assert len(files(tmp_path / "versions")) <= 3
        assert len(files(tmp_path / "rejected")) <= 4 * 3 + 3


def files(folder: Path) -> list[Path]:
    return [each for each in folder.iterdir() if not each.name.startswith(".")]


def test_a_reader_that_meets_the_removal_of_lines_reads_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has listed the lines and read some of them when a writer adds a state and removes them."""
    folder = tmp_path / "changes"
    for line in lines([FIRST, *[{"facts": {"a": 1}}] * 5]):
        add_line(folder, line)
    state = CommittedState(7, {}, {"a": 2}, {}, {})
    whole = json.dumps({"serial": 7, **FIRST, **state.as_change()})
    reads = count()
    read_text = Path.read_text

    def read(file: Path, **options: Any) -> str:
        if next(reads) == 3:
            add_line(folder, whole, alone=True)
        return read_text(file, **options)

    monkeypatch.setattr(Path, "read_text", read)
    assert replayed(lambda: lines_of(folder), "x") == state


def test_a_folder_that_is_removed_during_a_read_has_no_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "changes"
    add_line(folder, "{}")
    monkeypatch.setattr(Path, "read_text", lambda file, **_: rmtree(folder) or file.open().read())
    assert lines_of(folder) is None


def test_a_line_that_is_a_link_to_nothing_is_named(tmp_path: Path) -> None:
    (tmp_path / "part-1.txt").symlink_to("nowhere")
    with pytest.raises(FileNotFoundError, match=r"part-1\.txt"):
        lines_of(tmp_path)
