"""Formats folders for a node's log, as kafka-storage does.

Each folder gets ``meta.properties`` last, so a folder with this file is formatted completely.

- Up to metadata.version 4.3-IV0, ``bootstrap.checkpoint`` of each folder has the first records.
- Above 4.3-IV0, as in Kafka 4.4, a controller's snapshot of offset 0 has the first records.
- The first voters of a dynamic quorum are always in the log's snapshot of offset 0.

This module must not know arguments.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from metalog.disk.files import (
    LOCAL_FILES,
    OWNER_READS,
    OWNER_WRITES,
    Files,
    read_whole,
    replace_whole,
)
from metalog.errors import InvalidRequest, InvalidTarget
from metalog.ids import FORMATTED_SNAPSHOT, Entropy, Uuid, random_uuid, uuid_text
from metalog.image.state.features import LATEST_METADATA_VERSIONS, METADATA_VERSION
from metalog.log.folder import layout
from metalog.log.folder.layout import MetaProperties
from metalog.records.checkpoint import snapshot_batches
from metalog.records.message import ControlMessage, Message
from metalog.records.messages import FeatureLevelRecord, KRaftVersionRecord, VotersRecord
from metalog.records.messages.voters_record import Endpoint, KRaftVersionFeature, Voter
from snapshot.initial_features import initial_features
from snapshot.writer import write_durably

Records = Sequence[tuple[Message, int]]
_VERSION: Final = "1"
_CLUSTER_ID: Final = re.compile(r"[A-Za-z0-9_.-]+")
"""The characters that need no escape in ``meta.properties``."""


class Controller(NamedTuple):
    """A voter of the new quorum. ``directory_id`` is None for the node that is being formatted."""

    node_id: int
    endpoint: Endpoint
    directory_id: Uuid | None = None


class Format(NamedTuple):
    """How to format ``directories``.

    ``records`` are the first records of the log in ``metadata_dir``.
    ``cluster_id`` None means the id of a formatted folder or, without one, a new id.
    ``controllers`` are the voters that the log names (KIP-853). Without them, the configuration
    names the voters, or the log of the existing quorum (``joins_quorum``).
    ``ignore_formatted`` keeps formatted folders. Otherwise, formatted folders are refused.
    """

    metadata_dir: Path
    directories: Sequence[Path]
    node_id: int
    records: Records
    cluster_id: str | None = None
    controllers: Sequence[Controller] = ()
    ignore_formatted: bool = False
    is_controller: bool = True
    joins_quorum: bool = False


class Formatted(NamedTuple):
    """A formatted folder. ``kind`` is Kafka's name for the folder's use."""

    directory: Path
    kind: str
    cluster_id: str
    node_id: int
    directory_id: str | None
    is_new: bool


def format_directories(
    wanted: Format, *, now_ms: int, entropy: Entropy, files: Files = LOCAL_FILES
) -> list[Formatted]:
    """Format each unformatted folder, and return all folders.

    Before any write, an invalid cluster id raises ``InvalidRequest``, and an unusable folder raises
    ``InvalidTarget``.
    """
    known = {path: _properties(path, files) for path in sorted({*wanted.directories})}
    cluster_id = _check(wanted, known, files) or uuid_text(random_uuid(entropy))
    formatted = []
    for path, properties in known.items():
        kind = _kind(wanted, path)
        if properties is None:
            directory_id = _directory_id(wanted, path) or random_uuid(entropy)
            _format(wanted, path, cluster_id, directory_id, now_ms, files)
            made = uuid_text(directory_id)
            formatted.append(Formatted(path, kind, cluster_id, wanted.node_id, made, True))
        else:
            formatted.append(
                Formatted(path, kind, cluster_id, wanted.node_id, properties.directory_id, False)
            )
    return formatted


def _properties(path: Path, files: Files) -> MetaProperties | None:
    file = path / layout.META_PROPERTIES
    if not files.is_file(file):
        return None
    return layout.parse_meta_properties(read_whole(files, file), str(file))


def _check(wanted: Format, known: dict[Path, MetaProperties | None], files: Files) -> str | None:
    """Raise if a folder may not be formatted; return the given or found cluster id, if any."""
    cluster_id = wanted.cluster_id
    if cluster_id is not None and not _CLUSTER_ID.fullmatch(cluster_id):
        raise InvalidRequest(
            f"invalid cluster id {cluster_id!r}: use only letters, digits, '_', '-' and '.', or"
            " leave out the id for a random one"
        )
    for path, properties in known.items():
        if properties is None:
            _check_unused(path, files)
            continue
        if not wanted.ignore_formatted:
            advice = "name a new folder"
            if len(known) > 1:
                advice = "pass --ignore-formatted to keep it and format the other folders"
            raise InvalidTarget(f"{path}: already formatted; {advice}")
        cluster_id = cluster_id or properties.cluster_id
        if properties.cluster_id != cluster_id:
            raise InvalidTarget(
                f"{path}: formatted for the cluster {properties.cluster_id}, not {cluster_id}"
            )
        if properties.node_id != wanted.node_id:
            raise InvalidTarget(
                f"{path}: formatted for node {properties.node_id}, not {wanted.node_id}"
            )
    return cluster_id


def _check_unused(path: Path, files: Files) -> None:
    partition = path / layout.PARTITION_FOLDER
    if files.is_folder(partition) and layout.segments(files.names(partition)):
        raise InvalidTarget(
            f"{path}: has a metadata log but no {layout.META_PROPERTIES}: restore that file, or"
            " name an empty folder"
        )
    if files.is_file(path):
        raise InvalidTarget(f"{path}: a file, not a folder")


def _directory_id(wanted: Format, path: Path) -> Uuid | None:
    if path != wanted.metadata_dir:
        return None
    own = (each for each in wanted.controllers if each.node_id == wanted.node_id)
    return next((each.directory_id for each in own), None)


def _kind(wanted: Format, path: Path) -> str:
    if path != wanted.metadata_dir:
        return "data directory"
    if not wanted.controllers:
        return "metadata directory"
    votes = any(each.node_id == wanted.node_id for each in wanted.controllers)
    return f"dynamic metadata {'voter ' if votes else ''}directory"


def _format(
    wanted: Format, path: Path, cluster_id: str, directory_id: Uuid, now_ms: int, files: Files
) -> None:
    """First remove what an unfinished format left, because a node would read it."""
    files.make_folder(path)
    partition = path / layout.PARTITION_FOLDER
    bootstrap = path / layout.BOOTSTRAP_CHECKPOINT
    first = partition / layout.snapshot_name(FORMATTED_SNAPSHOT)
    for unwanted in filter(files.is_file, (bootstrap, first)):
        files.remove(unwanted)
        files.sync_folder(unwanted.parent)
    is_newest = _is_above_4_3(wanted.records)
    if not is_newest:
        _write_checkpoint(bootstrap, wanted.records, (), now_ms, files, OWNER_WRITES)
    if path == wanted.metadata_dir and (wanted.controllers or (is_newest and wanted.is_controller)):
        files.make_folder(partition)
        control = tuple(_control_records(wanted, directory_id))
        records = wanted.records if is_newest and wanted.is_controller else ()
        mode = OWNER_READS if is_newest else OWNER_WRITES
        _write_checkpoint(first, records, control, now_ms, files, mode)
    properties = MetaProperties(cluster_id, wanted.node_id, uuid_text(directory_id), _VERSION)
    replace_whole(files, path / layout.META_PROPERTIES, layout.meta_properties_bytes(properties))
    files.sync_folder(path.parent)


def _is_above_4_3(records: Records) -> bool:
    levels = [
        message.feature_level
        for message, _ in records
        if isinstance(message, FeatureLevelRecord) and message.name == METADATA_VERSION
    ]
    return max(levels, default=0) > LATEST_METADATA_VERSIONS["4.3"]


def _control_records(wanted: Format, directory_id: Uuid) -> Iterator[tuple[ControlMessage, int]]:
    if wanted.controllers or wanted.joins_quorum:
        yield KRaftVersionRecord(0, 1), 0
    if wanted.controllers:
        yield VotersRecord(0, tuple(_voters(wanted.controllers, directory_id))), 0


def _voters(controllers: Sequence[Controller], own_id: Uuid) -> Iterator[Voter]:
    """Kafka, too, sorts the voters by node id."""
    for node_id, endpoint, directory_id in sorted(controllers, key=lambda each: each.node_id):
        yield Voter(node_id, directory_id or own_id, (endpoint,), KRaftVersionFeature(0, 1))


def _write_checkpoint(
    path: Path,
    records: Records,
    control: Sequence[tuple[ControlMessage, int]],
    now_ms: int,
    files: Files,
    mode: int,
) -> None:
    batches = snapshot_batches(
        records,
        epoch=0,
        timestamp=now_ms,
        last_contained_timestamp=0 if path.name == layout.BOOTSTRAP_CHECKPOINT else now_ms,
        control=control,
    )
    write_durably(path, batches, files, mode=mode)


def format_log(directory: str | Path, *, node_id: int = 1, files: Files = LOCAL_FILES) -> None:
    """Make ``directory`` the ``metadata.log.dir`` of a new node, the only voter of its quorum.

    A missing folder is created. ``metalog.open_writable_log`` can then open the log.
    ``metalog format`` has all options of ``kafka-storage format``.

    Raises:
        InvalidTarget: ``directory`` is formatted already, has segments of a log, or is a file.
    """
    folder = Path(directory)
    features = initial_features(None, {})
    format_directories(
        Format(
            folder,
            [folder],
            node_id,
            [(FeatureLevelRecord(name, level), 0) for name, level in features.items()],
            controllers=[Controller(node_id, Endpoint("CONTROLLER", "localhost", 9093))],
        ),
        now_ms=time.time_ns() // 1_000_000,
        entropy=os.urandom,
        files=files,
    )
