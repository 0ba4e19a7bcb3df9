"""A snapshot is loaded whole or not at all."""

from __future__ import annotations

import pytest

from metalog.errors import CorruptLog, CorruptSnapshot
from metalog.ids import SnapshotId
from metalog.image.manifest import LogManifest, Provenance, SnapshotManifest
from metalog.loader import Diverged, Loader, Loading, Ready, Stale, feed
from metalog.log.memory import MemoryLog
from metalog.ports import Appended, HighWatermark
from metalog.records.messages import RemoveAccessControlEntryRecord, UserScramCredentialRecord
from tests.support.disk.tiny_log import (
    BEGIN,
    END,
    Recorder,
    ace,
    batch,
    ids,
    loaded,
    snapshot,
    uuid,
)


def test_a_snapshot_replaces_everything_at_once() -> None:
    recorder = Recorder()
    loader = Loader([recorder])
    loader.handle(HighWatermark(2))
    loader.handle(Appended(batch(0, ace(1), ace(2))))
    loader.load_snapshot(SnapshotId(10, 3), snapshot(ace(2), ace(5), epoch=3))
    assert ids(loader.image) == {2, 5}
    delta, image, manifest = recorder.got[-1]
    assert image.provenance == Provenance(10, 3, 900)
    assert isinstance(manifest, SnapshotManifest)
    assert manifest.snapshot == SnapshotId(10, 3)
    assert delta.is_replacement
    assert delta.acls is not None
    assert delta.acls.changes == {**loader.image.acls.by_id, uuid(1): None}
    loader.handle(HighWatermark(11))
    loader.handle(Appended(batch(10, ace(6), epoch=3)))
    assert ids(loader.image) == {2, 5, 6}
    assert isinstance(recorder.got[-1][2], LogManifest)


def test_a_snapshot_that_is_not_whole_changes_nothing() -> None:
    loader = loaded(batch(0, ace(1)), mark=1)
    with pytest.raises(CorruptSnapshot):
        loader.load_snapshot(SnapshotId(10, 1), snapshot(ace(2))[:-1])
    assert ids(loader.image) == {1}
    assert isinstance(loader.state, Stale)
    assert loader.position == 1
    loader.load_snapshot(SnapshotId(10, 1), snapshot(ace(2)))
    assert ids(loader.image) == {2}
    assert isinstance(loader.state, Ready)


@pytest.mark.parametrize("records", [(BEGIN,), (END,), (RemoveAccessControlEntryRecord(uuid(1)),)])
def test_a_snapshot_holds_no_changes(records: tuple[object, ...]) -> None:
    loader = loaded(batch(0, ace(1)), mark=1)
    with pytest.raises(CorruptLog):
        loader.load_snapshot(SnapshotId(10, 1), snapshot(ace(2), *records))
    assert ids(loader.image) == {1}


def test_a_snapshot_has_the_epoch_of_its_name() -> None:
    loader = loaded(batch(0, ace(1)), mark=1)
    with pytest.raises(CorruptSnapshot, match="epoch 1 in a snapshot of epoch 2"):
        loader.load_snapshot(SnapshotId(10, 2), snapshot(ace(2)))
    assert ids(loader.image) == {1}


def test_a_snapshot_takes_away_the_users_that_it_lacks() -> None:
    recorder = Recorder()
    loader = Loader([recorder])
    loader.handle(HighWatermark(2))
    users = [UserScramCredentialRecord(name, 1, b"s", b"k", b"v", 4096) for name in ("a", "b")]
    loader.handle(Appended(batch(0, *users)))
    loader.load_snapshot(SnapshotId(10, 1), snapshot(users[1]))
    delta, image, _ = recorder.got[-1]
    [(mechanism, left)] = image.scram.mechanisms.items()
    assert set(left) == {"b"}
    assert delta.scram is not None
    assert delta.scram.changes[mechanism]["a"] is None


def test_a_snapshot_that_ends_before_a_replayed_record_shows_a_loss() -> None:
    """A restored quorum sends it to an old epoch. Without a new start, the lost records would stay
    in force."""
    loader = loaded(batch(0, ace(1), ace(2)), mark=2)
    before = loader.image
    with pytest.raises(Diverged, match="lost committed records below offset 2"):
        loader.load_snapshot(SnapshotId(1, 3), snapshot(ace(1), epoch=3))
    assert (loader.position, loader.image) == (0, before)


def test_a_first_snapshot_waits_for_the_mark() -> None:
    loader = Loader()
    loader.load_snapshot(SnapshotId(10, 1), snapshot(ace(1)))
    assert loader.state == Loading(10, None, None)
    loader.handle(HighWatermark(11))
    assert isinstance(loader.state, Loading)
    loader.handle(Appended(batch(10, RemoveAccessControlEntryRecord(uuid(1)))))
    assert loader.state == Ready(11)
    assert ids(loader.image) == set()


def test_a_snapshot_of_control_records_alone_makes_nobody_ready() -> None:
    loader = Loader()
    loader.load_snapshot(SnapshotId(0, 0), snapshot(epoch=0))
    loader.handle(HighWatermark(0))
    assert isinstance(loader.state, Loading)


def test_a_log_and_its_snapshots_are_fed_together() -> None:
    log = MemoryLog([batch(10, ace(6))], snapshots={SnapshotId(10, 1): snapshot(ace(2), ace(5))})
    loader = Loader()
    feed(loader, log, log.read(loader.position))
    assert ids(loader.image) == {2, 5, 6}


def test_a_batch_that_begins_below_the_snapshots_end_is_taken_from_there() -> None:
    loader = Loader()
    loader.load_snapshot(SnapshotId(2, 1), snapshot(ace(1)))
    loader.handle(HighWatermark(3))
    loader.handle(Appended(batch(0, ace(7), ace(8), ace(9))))
    assert ids(loader.image) == {1, 9}
