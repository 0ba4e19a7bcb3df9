"""What a controller's log sends to an observer, by the place of the observer's last record."""

from __future__ import annotations

from pathlib import Path

from metalog.ids import SnapshotId
from metalog.log.folder_writer.writer import WritableDirectoryLog
from metalog.records.batch import encode_batch
from metalog_node.publish.served_log import ServedLog
from tests.support.disk.written_log import batches_in, copied

SNAPSHOT = SnapshotId(723, 1)
MOST_BYTES = 1 << 20


def test_an_observer_with_the_snapshot_at_which_the_log_begins_gets_the_log(tmp_path: Path) -> None:
    """Otherwise it would be sent to the same snapshot again and again. As Kafka does, an observer
    without it, or with a record of another epoch there, gets the snapshot."""
    folder = copied("trimmed-4.3", tmp_path / "d")
    for file in (folder / "__cluster_metadata-0").iterdir():
        if file.suffix != ".checkpoint" and file.name != "quorum-state":
            file.unlink()
    log = WritableDirectoryLog(folder)
    log.claim()
    served = ServedLog(log)
    bounds = log.bounds()
    assert bounds.start == SNAPSHOT.end_offset
    records = b"".join(map(encode_batch, batches_in(folder)))
    answer = served.after(bounds, *SNAPSHOT, MOST_BYTES)
    assert (answer.records, answer.snapshot, answer.diverging) == (records, None, None)
    for offset, epoch in ((0, 0), (722, 1), (723, 0), (723, 2)):
        answer = served.after(bounds, offset, epoch, MOST_BYTES)
        assert (answer.records, answer.snapshot, answer.diverging) == (b"", SNAPSHOT, None)
    log.close()
