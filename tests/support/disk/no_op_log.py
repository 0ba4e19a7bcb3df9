"""A log of batches with one NO_OP_RECORD each, in the folder of a disk in memory.

This module must not know what reads the log.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from metalog.ports import Appended, LogEvent
from metalog.records.batch import Batch, build_batch, encode_batch
from metalog.records.messages import LeaderChangeMessage, NoOpRecord
from tests.support.disk.memory_disk import MemoryDisk

ROOT = Path("/log-dir")
FOLDER = ROOT / "__cluster_metadata-0"
NO_OP = (NoOpRecord(), 0)


def appended(events: Iterator[LogEvent] | list[LogEvent]) -> list[Batch]:
    return [event.batch for event in events if isinstance(event, Appended)]


def no_ops(base_offset: int, count: int, epoch: int = 1) -> bytes:
    return b"".join(
        encode_batch(build_batch(base_offset + at, epoch, 1000 + at, [NO_OP]))
        for at in range(count)
    )


def leader_change(offset: int, epoch: int, leader: int = 1) -> bytes:
    message = LeaderChangeMessage(version=0, leader_id=leader)
    return encode_batch(build_batch(offset, epoch, 1000, [(message, 0)]))


def folder(epochs: bytes = b"0\n1\n1 0\n", **files: bytes) -> MemoryDisk:
    disk = MemoryDisk({FOLDER / "leader-epoch-checkpoint": epochs})
    for name, data in files.items():
        disk.contents[FOLDER / name] = bytearray(data)
    return disk
