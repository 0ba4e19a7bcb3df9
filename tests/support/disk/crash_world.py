"""Runs a writer on a disk that fails, and checks the log after a crash. This module must not know
at which steps it fails.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from metalog import Loader, MetadataImage
from metalog.controller.activation import activation_batches
from metalog.errors import MetalogError
from metalog.loader import feed
from metalog.log.folder_writer.appender import SegmentLimits
from metalog.log.folder_writer.writer import WritableDirectoryLog
from tests.support.disk.crashing_disk import CrashingDisk
from tests.support.disk.memory_disk import MemoryDisk
from tests.support.disk.tiny_log import ace
from tests.support.disk.written_log import formatted

FOLDER = Path("/node")
IN_ONE_REQUEST = 3
LIMITS = SegmentLimits(max_bytes=1200)


@cache
def fresh() -> dict[Path, bytes]:
    with TemporaryDirectory() as folder:
        disk = MemoryDisk.of(formatted(Path(folder) / "node"))
        found = disk.contents.items()
        return {FOLDER / path.relative_to(Path(folder) / "node"): bytes(d) for path, d in found}


def opened(disk: CrashingDisk) -> tuple[WritableDirectoryLog, Loader, int]:
    log = WritableDirectoryLog(FOLDER, limits=LIMITS, files=disk, now_ms=lambda: 1000)
    epoch = log.claim()
    loader = Loader()
    feed(loader, log, log.read(0))
    is_open = loader.open_transaction
    open_since = None if is_open is None else is_open.offset
    for records in activation_batches(loader.image, open_since, log.bootstrap_records):
        log.append(epoch, records)
        feed(loader, log, log.poll(0))
    return log, loader, epoch


def work(disk: CrashingDisk) -> tuple[set[int], set[int]]:
    """Run two writers one after the other; each continues whatever fails. Returns the requests
    that were made and those that were acknowledged."""
    asked: set[int] = set()
    acknowledged: set[int] = set()
    try:
        for writer in (1, 2):
            log, _, epoch = opened(disk)
            for request in range(writer * 100, writer * 100 + 6):
                asked.add(request)
                numbers = range(request * 10, request * 10 + IN_ONE_REQUEST)
                with suppress(MetalogError):
                    log.append(epoch, [(ace(number, "x" * 60), 0) for number in numbers])
                    acknowledged.add(request)
            log.close()
    except (MetalogError, OSError):
        pass
    return asked, acknowledged


def requests_in(image: MetadataImage) -> dict[int, int]:
    found: dict[int, int] = {}
    for key in image.acls.by_id:
        request = int.from_bytes(key, "big") // 10
        if request:
            found[request] = found.get(request, 0) + 1
    return found


@cache
def steps() -> int:
    disk = CrashingDisk(fresh())
    asked, acknowledged = work(disk)
    assert asked == acknowledged
    assert len(asked) == 12
    return disk.steps


def crashed_at(fail_at: int, *, tear: bool, seeds: Iterable[int]) -> None:
    """``AssertionError`` unless, after each crash, all acknowledged changes are there, no change
    is there in part, and a writer can continue the log."""
    disk = CrashingDisk(fresh(), fail_at=fail_at, tear=tear)
    asked, acknowledged = work(disk)
    for seed in seeds:
        after = CrashingDisk(disk.after_crash(Random(seed)))
        log, loader, epoch = opened(after)
        found = requests_in(loader.image)
        assert acknowledged <= found.keys() <= asked, (fail_at, seed)
        assert set(found.values()) <= {IN_ONE_REQUEST}, (fail_at, seed)
        log.append(epoch, [(ace(9990), 0)])
        log.close()
        _, loader, _ = opened(CrashingDisk(after.after_crash(Random(seed))))
        assert requests_in(loader.image) == {**found, 999: 1}
