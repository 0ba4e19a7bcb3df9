"""Writes an image as a snapshot that Kafka's own tools read (KIP-630), or as an Avro file.

A file under its final name is whole, because a temporary file is synced before the rename. This
module must not know when a snapshot is due.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Final

from metalog.disk.files import LOCAL_FILES, OWNER_WRITES, Files
from metalog.ids import SnapshotId
from metalog.image.metadata import MetadataImage
from metalog.log.folder.layout import avro_snapshot_name, snapshot_name
from metalog.log.folder_writer.retention import remove_unfinished
from metalog.records.batch import Batch, batch_bytes
from metalog.records.checkpoint import encoded_snapshot
from metalog.records.message import ControlMessage

PART_SUFFIX: Final = ".part"


def write_snapshot(
    image: MetadataImage,
    folder: Path,
    *,
    timestamp: int,
    files: Files = LOCAL_FILES,
    control: Sequence[tuple[ControlMessage, int]] = (),
    in_avro: bool = False,
) -> Path:
    """Write a snapshot of ``image`` to ``folder``, and return the path of the file.

    ``timestamp`` (ms) is the time of writing. ``control`` has the log's KRAFT_VERSION and
    KRAFT_VOTERS, which an image lacks. ``in_avro`` writes an Avro container file, as for a log in a
    topic. Others can write the same snapshot at the same time; the last one wins.
    """
    offset, epoch, last_contained_timestamp = image.provenance
    snapshot_id = SnapshotId(offset, max(epoch, 0))
    contained = max(last_contained_timestamp, 0)
    if in_avro:
        from metalog.records.avro.snapshot import avro_snapshot

        target = folder / avro_snapshot_name(snapshot_id)
        records = chain(control, image.write())
        pieces = avro_snapshot(snapshot_id, timestamp, contained, records)
    else:
        target = folder / snapshot_name(snapshot_id)
        pieces = map(
            batch_bytes,
            encoded_snapshot(
                image.write_values(),
                epoch=snapshot_id.epoch,
                timestamp=timestamp,
                last_contained_timestamp=contained,
                control=control,
            ),
        )
    part = target.with_name(f"{target.name}.{os.urandom(4).hex()}{PART_SUFFIX}")
    _write_durably(target, part, pieces, files)
    remove_unfinished(folder, files, before=snapshot_id)
    return target


def write_durably(
    target: Path, batches: Iterable[Batch], files: Files, *, mode: int = OWNER_WRITES
) -> None:
    """Write all of ``batches`` to ``target``, or leave ``target`` as it was. An error can mean
    either, because the folder is synced last. The caller must be the only writer."""
    part = target.with_name(target.name + PART_SUFFIX)
    _write_durably(target, part, map(batch_bytes, batches), files, mode)


def _write_durably(
    target: Path, part: Path, pieces: Iterable[bytes], files: Files, mode: int = OWNER_WRITES
) -> None:
    try:
        _write_synced(part, pieces, files, mode)
        files.rename(part, target)
    except BaseException:
        with suppress(OSError):
            files.remove(part)
        raise
    files.sync_folder(target.parent)


def _write_synced(path: Path, pieces: Iterable[bytes], files: Files, mode: int) -> None:
    file = files.create(path, mode=mode)
    try:
        for piece in pieces:
            file.write(piece)
        file.sync()
    finally:
        file.close()
