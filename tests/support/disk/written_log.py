"""Folders that tests may write to: copies of Kafka's, and new ones.

This module must not know what a test claims.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from metalog.ids import parse_uuid
from metalog.image.metadata import MetadataImage
from metalog.loader import Loader, feed
from metalog.log.folder.directory import DirectoryLog
from metalog.ports import Appended
from metalog.records.batch import Batch, encode_batch
from metalog.records.checkpoint import snapshot_batches
from metalog.records.messages import FeatureLevelRecord, KRaftVersionRecord, VotersRecord
from metalog.records.messages.voters_record import Endpoint, KRaftVersionFeature, Voter
from tests.support.disk.tiny_log import ace
from tests.support.kafka.cases import kafka_case

DIRECTORY_ID = "o_4CMkHkb9_BKRqMW_rAaw"
FIRST_ACL = ace(1, "bootstrapped")


def copied(case: str, target: Path) -> Path:
    """A copy of the case's log directory, for changing."""
    shutil.copytree(kafka_case(case).log_dir, target, copy_function=shutil.copyfile)
    return target


def formatted(folder: Path, *, node: int = 1, dynamic: bool = True, level: int = 30) -> Path:
    """A folder as kafka-storage leaves it, without a log; ``dynamic`` is its ``--standalone``."""
    partition = folder / "__cluster_metadata-0"
    partition.mkdir(parents=True)
    (folder / "meta.properties").write_text(
        f"node.id={node}\ndirectory.id={DIRECTORY_ID}\nversion=1\ncluster.id=c\n"
    )
    records = [(FeatureLevelRecord("metadata.version", level), 0), (FIRST_ACL, 0)]
    _write(folder / "bootstrap.checkpoint", records, [])
    if dynamic:
        voter = Voter(
            1,
            parse_uuid(DIRECTORY_ID),
            (Endpoint("CONTROLLER", "localhost", 9093),),
            KRaftVersionFeature(0, 1),
        )
        control = [(KRaftVersionRecord(0, 1), 0), (VotersRecord(0, (voter,)), 0)]
        _write(partition / f"{0:020d}-{0:010d}.checkpoint", [], control)
    return folder


def image_in(folder: Path) -> MetadataImage:
    """The image of a sound log, which a reader replays whole."""
    log = DirectoryLog(folder)
    loader = Loader()
    feed(loader, log, log.read(0))
    assert log.problems == ()
    return loader.image


def files_in(folder: Path) -> dict[str, bytes]:
    """The content of each file, but the lock's."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".lock"
    }


def batches_in(folder: Path) -> list[Batch]:
    """The log's batches, as a reader finds them."""
    events = DirectoryLog(folder).read(0)
    return [event.batch for event in events if isinstance(event, Appended)]


def _write(path: Path, records: list, control: list) -> None:  # type: ignore[type-arg]
    batches = snapshot_batches(
        records, epoch=0, timestamp=1, last_contained_timestamp=0, control=control
    )
    path.write_bytes(b"".join(map(encode_batch, batches)))
