"""Writes an image as a snapshot that Kafka's own tools read (KIP-630).

First under a temporary name in the same folder, then synced, renamed and the folder
synced: under its final name a snapshot is whole or not there. This module must not know
when a snapshot is due.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from metalog.files import LOCAL_FILES, Files
from metalog.ids import SnapshotId
from metalog.image.metadata import MetadataImage
from metalog.log.layout import snapshot_name
from metalog.records.batch import Batch, batch_bytes
from metalog.records.checkpoint import snapshot_batches
from metalog.records.message import ControlMessage

PART_SUFFIX: Final = ".part"


def write_snapshot(
    image: MetadataImage,
    folder: Path,
    *,
    timestamp: int,
    files: Files = LOCAL_FILES,
    control: Sequence[tuple[ControlMessage, int]] = (),
) -> Path:
    """The snapshot of ``image`` in ``folder``, named after its provenance.

    ``timestamp`` (ms) is the time of writing. ``control`` holds KRAFT_VERSION and
    KRAFT_VOTERS where the log has them: an image does not know the voters.
    """
    offset, epoch, last_contained_timestamp = image.provenance
    batches = snapshot_batches(
        image.write(),
        epoch=max(epoch, 0),
        timestamp=timestamp,
        last_contained_timestamp=max(last_contained_timestamp, 0),
        control=control,
    )
    target = folder / snapshot_name(SnapshotId(offset, max(epoch, 0)))
    write_durably(target, batches, files)
    return target


def write_durably(target: Path, batches: Iterable[Batch], files: Files) -> None:
    """All of ``batches`` at ``target``, or nothing there; what was there stays until then."""
    part = target.with_name(target.name + PART_SUFFIX)
    try:
        _write_synced(part, batches, files)
        files.rename(part, target)
    except BaseException:
        with suppress(OSError):
            files.remove(part)
        raise
    files.sync_folder(target.parent)


def _write_synced(path: Path, batches: Iterable[Batch], files: Files) -> None:
    file = files.create(path)
    try:
        for batch in batches:
            file.write(batch_bytes(batch))
        file.sync()
    finally:
        file.close()
