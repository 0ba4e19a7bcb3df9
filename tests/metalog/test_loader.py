"""When a loader publishes, and what."""

from __future__ import annotations

import gc

import pytest

from metalog.errors import CorruptLog
from metalog.ids import SnapshotId
from metalog.image.manifest import Leader, LogManifest, Provenance
from metalog.loader import Diverged, Loader, Loading, Ready, Stale, feed
from metalog.log.memory import MemoryLog
from metalog.ports import Appended, Gap, HighWatermark, Truncated
from metalog.records.batch import Batch, build_batch
from metalog.records.checkpoint import snapshot_batches
from metalog.records.messages import KRaftVersionRecord, RemoveAccessControlEntryRecord
from tests.support.disk.tiny_log import (
    ABORT,
    BEGIN,
    END,
    NOTHING,
    Recorder,
    ace,
    batch,
    ids,
    leader_change,
    loaded,
    uuid,
)


def test_nothing_is_published_before_the_high_water_mark_is_known_and_reached() -> None:
    recorder = Recorder()
    loader = Loader([recorder])
    loader.handle(Appended(batch(0, ace(1))))
    assert loader.state == Loading(1, None, None)
    loader.handle(HighWatermark(2))
    assert recorder.got == []
    assert loader.state == Loading(1, 2, None)
    loader.handle(Appended(batch(1, ace(2))))
    assert recorder.offsets == [2]
    assert loader.state == Ready(2)


def test_a_log_of_control_records_alone_makes_nobody_ready() -> None:
    loader = loaded(leader_change(0, 1), mark=1)
    assert isinstance(loader.state, Loading)
    loader.handle(Appended(batch(1, NOTHING)))
    assert isinstance(loader.state, Loading), "above the mark"
    loader.handle(HighWatermark(2))
    assert loader.state == Ready(2)


def test_an_empty_log_makes_nobody_ready() -> None:
    assert isinstance(loaded(mark=0).state, Loading)


def test_once_ready_each_batch_is_published() -> None:
    recorder = Recorder()
    loader = Loader([recorder])
    loader.handle(HighWatermark(1))
    for base in range(4):
        loader.handle(Appended(batch(base, ace(base))))
        loader.handle(HighWatermark(base + 1))
    assert recorder.offsets == [1, 2, 3, 4]
    before = [delta.image for delta, _, _ in recorder.got[1:]]
    assert all(
        mine is theirs
        for mine, theirs in zip(before, [image for _, image, _ in recorder.got], strict=False)
    )


def test_nothing_above_the_mark_is_published() -> None:
    loader = loaded(batch(0, ace(1)), batch(1, ace(2)), mark=1)
    assert ids(loader.image) == {1}
    assert loader.position == 2
    loader.handle(HighWatermark(0))
    assert ids(loader.image) == {1}, "what is published stays published"
    loader.handle(HighWatermark(2))
    assert ids(loader.image) == {1, 2}


@pytest.mark.parametrize("lowered", [HighWatermark(2), Truncated(1)])
def test_a_mark_that_the_log_has_lost_commits_nothing_that_comes_later(
    lowered: HighWatermark | Truncated,
) -> None:
    """A leader that lost data has a lower mark, or truncates what an older leader committed."""
    loader = Loader()
    for event in (HighWatermark(9), Appended(batch(0, ace(1))), lowered):
        loader.handle(event)
    assert isinstance(loader.state, Loading)
    for event in (Appended(batch(1, ace(2), epoch=2)), Appended(batch(2, ace(3), epoch=2))):
        loader.handle(event)
    loader.handle(HighWatermark(2))
    assert loader.state == Ready(2)
    assert ids(loader.image) == {1, 2}


def test_a_mark_inside_a_batch_takes_the_records_below_it() -> None:
    loader = loaded(batch(0, ace(1), ace(2), ace(3)), mark=2)
    assert ids(loader.image) == {1, 2}
    assert loader.image.provenance == Provenance(2, 1, 1000)
    loader.handle(HighWatermark(3))
    assert ids(loader.image) == {1, 2, 3}


def test_the_manifest_says_what_made_the_change_and_who_leads() -> None:
    recorder = Recorder()
    loader = Loader([recorder])
    loader.handle(HighWatermark(3))
    batches = [leader_change(0, 1), batch(1, ace(1), ace(2))]
    for each in batches:
        loader.handle(Appended(each))
    manifest = recorder.got[-1][2]
    size = sum(each.size for each in batches)
    assert manifest == LogManifest(Provenance(3, 1, 1001), Leader(7, 1), 2, 3, size)
    loader.handle(Appended(leader_change(3, 2, 8)))
    loader.handle(Appended(batch(4, NOTHING, epoch=2)))
    loader.handle(HighWatermark(5))
    assert recorder.got[-1][2].leader == Leader(8, 2)


# Transactions


def test_an_open_transaction_holds_back_what_it_has() -> None:
    loader = loaded(batch(0, ace(1)), batch(1, BEGIN, ace(2)), mark=3)
    assert ids(loader.image) == {1}
    assert loader.image.provenance == Provenance(1, 1, 1000)
    assert loader.position == 3
    assert loader.state == Ready(1), "the position has reached the mark"
    loader.handle(HighWatermark(4))
    loader.handle(Appended(batch(3, END)))
    assert ids(loader.image) == {1, 2}
    assert loader.image.provenance.offset == 4


def test_what_precedes_a_transaction_in_its_batch_is_taken_once_and_for_good() -> None:
    loader = loaded(batch(0, ace(1), ace(2)), mark=2)
    loader.handle(HighWatermark(9))
    begun = batch(2, RemoveAccessControlEntryRecord(uuid(1)), BEGIN, ace(3))
    loader.handle(Appended(begun))
    assert ids(loader.image) == {2}
    assert loader.image.provenance.offset == 3
    with pytest.raises(CorruptLog):
        loader.handle(Appended(batch(5, RemoveAccessControlEntryRecord(uuid(9)), END)))
    assert loader.position == 3, "the beginning of the transaction is read again"
    loader.handle(Appended(begun))
    loader.handle(Appended(batch(5, END)))
    assert ids(loader.image) == {2, 3}


def test_an_aborted_transaction_leaves_no_trace() -> None:
    recorder = Recorder()
    loader = Loader([recorder])
    loader.handle(HighWatermark(5))
    loader.handle(Appended(batch(0, ace(1), BEGIN, ace(2), ABORT, ace(3))))
    delta, image, _ = recorder.got[-1]
    assert ids(image) == {1, 3}
    assert delta.acls is not None
    assert set(delta.acls.changes) == {uuid(1), uuid(3)}


def test_an_aborted_transaction_may_hold_what_could_not_be_replayed() -> None:
    absent = RemoveAccessControlEntryRecord(uuid(9))
    loader = loaded(batch(0, ace(1), BEGIN, absent, ABORT), mark=4)
    assert ids(loader.image) == {1}


def test_a_fault_inside_a_transaction_publishes_none_of_it() -> None:
    loader = loaded(batch(0, ace(1)), mark=1)
    loader.handle(HighWatermark(5))
    absent = RemoveAccessControlEntryRecord(uuid(9))
    with pytest.raises(CorruptLog) as stopped:
        loader.handle(Appended(batch(1, BEGIN, ace(2), absent, END)))
    assert stopped.value.offset == 3
    assert ids(loader.image) == {1}
    assert loader.position == 1


@pytest.mark.parametrize("records", [(END,), (ABORT,), (BEGIN, BEGIN), (BEGIN, END, END)])
@pytest.mark.parametrize("tolerant", [False, True])
def test_transactions_that_no_controller_writes(
    records: tuple[object, ...], tolerant: bool
) -> None:
    with pytest.raises(CorruptLog, match="transaction") as refused:
        loaded(batch(0, NOTHING, *records), mark=10, tolerant=tolerant)
    assert refused.value.offset == len(records)


# What the log takes back or leaves out


def test_a_truncation_drops_what_waits() -> None:
    loader = loaded(batch(0, ace(1)), batch(1, ace(2)), batch(2, ace(3)), mark=1)
    loader.handle(Truncated(1))
    assert loader.position == 1
    loader.handle(Appended(leader_change(1, 2)))
    loader.handle(Appended(batch(2, ace(4), epoch=2)))
    loader.handle(HighWatermark(3))
    assert ids(loader.image) == {1, 4}


@pytest.mark.parametrize(
    ("mark", "lost"), [(1, "records 1 to 2 are missing"), (2, "record 2 is missing")]
)
def test_a_truncation_inside_a_batch_asks_for_the_rest_of_it_again(mark: int, lost: str) -> None:
    loader = loaded(batch(0, ace(1)), batch(1, ace(2), ace(3), ace(4)), mark=mark)
    loader.handle(Truncated(3))
    assert loader.position == mark
    loader.handle(HighWatermark(5))
    with pytest.raises(CorruptLog, match=lost):
        loader.handle(Appended(batch(3, ace(5))))
    loader.handle(Appended(batch(1, ace(2), ace(3))))
    loader.handle(Appended(batch(3, ace(5), ace(6))))
    assert ids(loader.image) == {1, 2, 3, 5, 6}


def test_a_truncation_to_the_end_changes_nothing() -> None:
    loader = loaded(batch(0, ace(1)), batch(1, ace(2)), mark=1)
    loader.handle(Truncated(2))
    assert loader.position == 2


def test_a_truncation_below_what_was_published_reads_the_log_anew() -> None:
    recorder = Recorder()
    loader = Loader([recorder])
    loader.handle(HighWatermark(2))
    loader.handle(Appended(batch(0, ace(1))))
    loader.handle(Appended(batch(1, ace(2))))
    with pytest.raises(Diverged):
        loader.handle(Truncated(1))
    assert loader.position == 0
    assert isinstance(loader.state, Stale)
    assert ids(loader.image) == {1, 2}, "stays in force"
    loader.handle(Appended(batch(0, ace(1))))
    loader.handle(Appended(leader_change(1, 2)))
    assert ids(loader.image) == {1, 2}
    loader.handle(HighWatermark(2))
    assert ids(loader.image) == {1}
    assert loader.state == Ready(2)
    delta = recorder.got[-1][0]
    assert delta.acls is not None
    assert delta.acls.is_replacement
    assert delta.acls.changes[uuid(2)] is None


def test_offsets_rise_and_epochs_do_not_fall() -> None:
    loader = loaded(batch(0, ace(1), epoch=3), mark=1)
    with pytest.raises(CorruptLog, match="epoch falls from 3 to 2"):
        loader.handle(Appended(batch(1, ace(2), epoch=2)))
    with pytest.raises(CorruptLog, match="offset 0"):
        loader.handle(Appended(batch(0, ace(1), epoch=3)))


def test_records_that_are_not_there_stop_a_strict_loader() -> None:
    with pytest.raises(CorruptLog, match="records 1 to 4 are missing"):
        loaded(batch(0, ace(1)), batch(5, ace(2)), mark=6)
    loader = loaded(batch(0, ace(1)), batch(5, ace(2)), mark=6, tolerant=True)
    assert ids(loader.image) == {1, 2}
    assert [skipped.records for skipped in loader.skipped.values()] == [4]


def test_a_gap_that_hides_nothing_counts_for_the_position() -> None:
    loader = loaded(batch(0, ace(1)), mark=3)
    assert isinstance(loader.state, Loading)
    loader.handle(Gap(1, 3, lost=False))
    assert loader.state == Ready(3)
    loader.handle(HighWatermark(4))
    loader.handle(Appended(batch(3, ace(2))))
    assert loader.image.provenance.offset == 4


def test_a_gap_hides_nothing_before_its_start() -> None:
    loader = loaded(batch(0, ace(1)), mark=9)
    with pytest.raises(CorruptLog, match="records 1 to 2 are missing"):
        loader.handle(Gap(3, 5, lost=False))
    tolerant = loaded(batch(0, ace(1)), mark=9, tolerant=True)
    tolerant.handle(Gap(3, 5, lost=False))
    assert [(skipped.offset, skipped.records) for skipped in tolerant.skipped.values()] == [(1, 2)]


@pytest.mark.parametrize("mark", [0, 100])
def test_what_waits_has_a_bound(mark: int) -> None:
    """Above the high-water mark, and in an open transaction."""
    loader = Loader(buffer_limit=10_000)
    loader.handle(HighWatermark(mark))
    loader.handle(Appended(batch(0, BEGIN)))
    large = [Appended(batch(base, ace(base, "n" * 500))) for base in range(1, 100)]
    with pytest.raises(CorruptLog, match="held back above the last stable offset"):
        feed(loader, MemoryLog([]), large)


def test_the_level_of_kraft_version_is_what_committed_control_records_said_last() -> None:
    """Those of the log, or of the snapshot that it begins with (KIP-853)."""
    said = [(KRaftVersionRecord(0, 1), 0)]
    loader = loaded(batch(0, NOTHING), mark=1)
    loader.handle(Appended(build_batch(1, 1, 1000, said)))
    assert loader.kraft_version == 0, "above the mark"
    loader.handle(HighWatermark(2))
    assert loader.kraft_version == 1
    times = {"timestamp": 1, "last_contained_timestamp": 1}
    loader = Loader()
    loader.load_snapshot(SnapshotId(1, 1), snapshot_batches([], epoch=1, **times, control=said))
    assert loader.kraft_version == 1


def test_a_batch_is_freed_when_it_is_applied_though_the_collector_pauses() -> None:
    """Otherwise a load takes as much memory as its log."""
    gc.collect()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        loaded(*(batch(at, ace(at))._replace(file="freed.log") for at in range(5)), mark=5)
        gc.collect()
        kept = [each for each in gc.garbage if isinstance(each, Batch)]
        assert [each for each in kept if each.file == "freed.log"] == []
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
