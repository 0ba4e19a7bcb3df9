"""A snapshot is read completely or refused, and the files for a moment are found in the right
order."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from metalog.errors import CorruptLog, CorruptSnapshot
from metalog.ids import SnapshotId
from metalog.log.memory import MemoryLog
from metalog.ports import LogBounds
from metalog.records.batch import Batch, build_batch
from metalog.records.checkpoint import check_snapshot
from metalog.records.messages import NoOpRecord, SnapshotFooterRecord, SnapshotHeaderRecord
from metalog_sources.source import open_source
from snapshot.reader import bases, read_snapshot, salvaged_snapshot
from tests.support.kafka.cases import DamagedCase, kafka_case

ID = SnapshotId(9, 1)
HEADER = [(SnapshotHeaderRecord(0, 7), 0)]
DATA = [(NoOpRecord(), 0)] * 3
FOOTER = [(SnapshotFooterRecord(0), 0)]


def batches(*groups: list[tuple[object, int]], epoch: int = 1) -> list[Batch]:
    built: list[Batch] = []
    for group in groups:
        offset = built[-1].next_offset if built else 0
        built.append(build_batch(offset, epoch, 1000, group))
    return built


def read(snapshot: list[Batch]) -> list[Batch]:
    log = MemoryLog([], snapshots={ID: snapshot})
    return list(check_snapshot(read_snapshot(log, ID)))


def test_what_stands_between_header_and_footer() -> None:
    whole = batches(HEADER, DATA, DATA, FOOTER)
    assert read(whole) == whole[1:3]
    assert read(batches(HEADER, FOOTER)) == []


@pytest.mark.parametrize(
    ("snapshot", "said"),
    [
        ([], "empty"),
        (batches(DATA, FOOTER), "header"),
        (batches(FOOTER), "header"),
        (batches(HEADER), "footer"),
        (batches(HEADER, DATA), "footer"),
        (batches(HEADER, HEADER, DATA, FOOTER), "second header"),
        (batches(HEADER, DATA, FOOTER, DATA), "follow the footer"),
        (batches(HEADER, FOOTER, FOOTER), "follow the footer"),
        (batches(FOOTER, HEADER, DATA), "header"),
        (batches(HEADER, DATA, FOOTER)[:1] + batches(HEADER, DATA, FOOTER)[2:], "offset"),
        (batches(HEADER, DATA, FOOTER, epoch=2), "epoch 2 in a snapshot of epoch 1"),
        (batches(HEADER, DATA) + batches(HEADER, DATA, FOOTER, epoch=3)[2:], "epoch 3"),
    ],
)
def test_what_is_no_snapshot(snapshot: list[Batch], said: str) -> None:
    with pytest.raises(CorruptSnapshot, match=said):
        read(snapshot)


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: whole[:-1],
        lambda whole: whole[1:],
        lambda whole: [*whole, whole[1]],
        lambda whole: [whole[0], *whole],
    ],
)
def test_salvage_puts_what_is_left_in_a_sound_frame(
    damage: Callable[[list[Batch]], list[Batch]],
) -> None:
    whole = batches(HEADER, DATA, DATA, FOOTER)
    log = MemoryLog([], snapshots={ID: damage(whole)})
    saved = list(check_snapshot(salvaged_snapshot(log, ID)))
    assert [batch.data for batch in saved][:2] == [batch.data for batch in whole[1:3]]


def test_salvage_ends_at_the_damage() -> None:
    whole = batches(HEADER, DATA) + batches(HEADER, DATA, DATA, epoch=2)[2:]
    log = MemoryLog([], snapshots={ID: whole})
    assert len(list(check_snapshot(salvaged_snapshot(log, ID)))) == 1


def test_the_shared_examples_of_damage(damaged_case: DamagedCase) -> None:
    facts = damaged_case.facts
    if facts["kind"] != "snapshot":
        return
    name = facts["file"].rsplit("/", 1)[1]
    path = damaged_case.log_dir / "__cluster_metadata-0" / name
    log = open_source(str(path), environ={}).log
    with pytest.raises(CorruptLog) as caught:
        list(check_snapshot(read_snapshot(log, *log.snapshots())))
    assert (caught.value.file, caught.value.byte) == (str(path), facts["byte"])


OLD, MIDDLE, NEW = SnapshotId(3, 1), SnapshotId(6, 1), SnapshotId(9, 2)


@pytest.mark.parametrize(
    ("offset", "start", "expected"),
    [
        (12, 0, [NEW, MIDDLE, OLD, None]),
        (9, 0, [NEW, MIDDLE, OLD, None]),
        (8, 0, [MIDDLE, OLD, None]),
        (2, 0, [None]),
        (12, 5, [NEW, MIDDLE]),
        (12, 6, [NEW, MIDDLE]),
        (8, 6, [MIDDLE]),
        (6, 9, [MIDDLE]),
        (7, 9, []),
        (2, 5, []),
    ],
)
def test_the_ways_to_a_moment(offset: int, start: int, expected: list[SnapshotId | None]) -> None:
    bounds = LogBounds(start, 12, 2, None, "")
    assert bases(offset, bounds, [OLD, MIDDLE, NEW]) == expected


def test_kafkas_snapshots_are_whole() -> None:
    log = open_source(str(kafka_case("trimmed-4.3").log_dir), environ={}).log
    for each in log.snapshots():
        assert list(check_snapshot(read_snapshot(log, each)))
