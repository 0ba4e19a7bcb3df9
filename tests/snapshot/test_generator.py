"""Snapshots are made after a number of bytes or records since the last one."""

import errno
from contextlib import suppress
from pathlib import Path

from metalog.ids import SnapshotId
from metalog.image.delta import MetadataDelta
from metalog.image.manifest import Leader, LogManifest, Provenance, SnapshotManifest
from metalog.image.metadata import EMPTY, MetadataImage
from snapshot.generator import SnapshotGenerator

LEADER = Leader(1, 1)


def made(
    steps: list[tuple[int, int]], *, max_bytes: int | None = None, max_records: int | None = None
) -> list[int]:
    """The offsets of the snapshots if each step adds so many (records, bytes)."""
    written: list[int] = []

    def write(image: MetadataImage) -> Path:
        written.append(image.provenance.offset)
        return Path(str(image.provenance.offset))

    generator = SnapshotGenerator(write, max_bytes=max_bytes, max_records=max_records)
    offset = 0
    for records, size in steps:
        offset += abs(records)
        provenance = Provenance(offset, 1, 0)
        image = EMPTY._replace(provenance=provenance)
        manifest = LogManifest(provenance, LEADER, 1, abs(records), size)
        loaded = SnapshotManifest(*manifest, SnapshotId(offset, 1))
        generator.publish(MetadataDelta(EMPTY), image, loaded if records < 0 else manifest)
    assert generator.written == (Path(str(written[-1])) if written else None)
    return written


def test_after_so_many_records() -> None:
    assert made([(4, 1), (5, 1), (1, 1), (9, 1), (1, 1)], max_records=10) == [10, 20]


def test_after_so_many_bytes() -> None:
    assert made([(1, 60), (1, 60), (1, 60), (1, 200)], max_bytes=100) == [2, 4]


def test_without_a_bound_none_is_made() -> None:
    assert made([(1000, 10**9)]) == []


def test_a_failed_snapshot_is_tried_again_when_the_next_is_due() -> None:
    """Not at every change: on a full disk each attempt would write a whole image in vain."""
    tried: list[int] = []

    def write(image: MetadataImage) -> Path:
        tried.append(image.provenance.offset)
        raise OSError(errno.ENOSPC, "No space left on device")

    generator = SnapshotGenerator(write, max_records=10)
    for offset in range(1, 36):
        provenance = Provenance(offset, 1, 0)
        with suppress(OSError):
            generator.publish(
                MetadataDelta(EMPTY),
                EMPTY._replace(provenance=provenance),
                LogManifest(provenance, LEADER, 1, 1, 100),
            )
    assert tried == [10, 20, 30]


def test_a_snapshot_that_was_loaded_starts_the_count_anew() -> None:
    assert made([(9, 1), (-1, 1), (9, 1), (1, 1)], max_records=10) == [20]
