"""Several folders of one quorum as one log, with exactly what they prove together."""

from __future__ import annotations

import json
from pathlib import Path

from metalog.ids import SnapshotId
from metalog.log.folder.directory import DirectoryLog
from metalog.log.folder.layout import segment_name, snapshot_name
from metalog.log.folder.merged_folders import FoldersLog
from metalog.ports import Appended, HighWatermark, SnapshotNeeded
from metalog.records.batch import Batch, encode_batch
from tests.support.disk.memory_disk import MemoryDisk
from tests.support.disk.tiny_log import ace, batch, leader_change, snapshot

FIRST = leader_change(0, 1)


def node(number: int, *batches: Batch, snapshot_at: SnapshotId | None = None) -> DirectoryLog:
    root = Path(f"/node-{number}")
    folder = root / "__cluster_metadata-0"
    voters = [{"voterId": voter} for voter in (1, 2, 3)]
    state = {"leaderId": 1, "leaderEpoch": 9, "currentVoters": voters, "data_version": 0}
    contents = {
        root / "meta.properties": f"cluster.id=c\nnode.id={number}\n".encode(),
        folder / "quorum-state": json.dumps(state).encode(),
    }
    if batches:
        segment = segment_name(batches[0].base_offset)
        contents[folder / segment] = b"".join(map(encode_batch, batches))
    if snapshot_at is not None:
        content = snapshot(ace(1), epoch=snapshot_at.epoch)
        contents[folder / snapshot_name(snapshot_at)] = b"".join(map(encode_batch, content))
    return DirectoryLog(root, files=MemoryDisk(contents))


def archive(*batches: Batch) -> DirectoryLog:
    root = Path("/archive")
    segment = root / "__cluster_metadata-0" / segment_name(batches[0].base_offset)
    contents = {
        root / "archive.properties": b"cluster.id=c\n",
        segment: b"".join(map(encode_batch, batches)),
    }
    return DirectoryLog(root, files=MemoryDisk(contents))


def test_an_archive_proves_its_records_and_lacks_no_voter() -> None:
    batches = [FIRST, batch(1, ace(1))]
    log = FoldersLog([node(1, *batches), archive(*batches)])
    assert (log.bounds().end, log.bounds().why) == (2, "/archive is an archive")
    assert log.problems == ()


def test_nothing_past_what_is_committed_is_read() -> None:
    batches = [FIRST, *(batch(at, ace(at)) for at in range(1, 9))]
    log = FoldersLog([node(1, *batches), node(2, *batches[:7]), node(3, *batches[:5])])
    assert log.source.path == Path("/node-1")
    mark, *events = log.read(0)
    assert mark == HighWatermark(7)
    read = [event.batch.next_offset for event in events if isinstance(event, Appended)]
    assert read == list(range(1, 8))
    assert log.bounds()[:4] == (0, 7, 1, 7)


def test_a_deposed_leaders_records_are_not_read_for_those_of_a_snapshot() -> None:
    deposed = node(1, FIRST, *(batch(at, ace(60 + at)) for at in range(1, 7)))
    for follower in (
        node(2, snapshot_at=SnapshotId(5, 2)),
        node(2, batch(5, ace(5), epoch=2), snapshot_at=SnapshotId(5, 2)),
    ):
        log = FoldersLog([deposed, follower])
        assert log.source is follower
        assert list(log.read(0)) == [SnapshotNeeded(SnapshotId(5, 2)), HighWatermark(5)]
        assert any("differ" in problem for problem in log.problems)


def test_folders_that_prove_nothing_say_why() -> None:
    log = FoldersLog([node(1, FIRST, batch(1, ace(1)))])
    assert log.bounds()[:4] == (0, 0, 0, 0)
    assert log.bounds().why == "these are the folders of less than a majority of the voters"
