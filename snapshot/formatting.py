"""Formats folders for a node's log, as kafka-storage does: the state that it starts from.

A folder gets ``bootstrap.checkpoint``, for a dynamic quorum a checkpoint of control records
that names the voters, and at last ``meta.properties``, which makes it formatted. All is
checked before anything is written. This module must not know how options are written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from metalog.errors import InvalidRequest, InvalidTarget
from metalog.files import LOCAL_FILES, Files, read_whole, replace_whole
from metalog.ids import Entropy, SnapshotId, Uuid, random_uuid, uuid_text
from metalog.log.folder import layout
from metalog.log.folder.layout import MetaProperties
from metalog.records.checkpoint import snapshot_batches
from metalog.records.message import ControlMessage, Message
from metalog.records.messages import KRaftVersionRecord, VotersRecord
from metalog.records.messages.voters_record import Endpoint, KRaftVersionFeature, Voter
from snapshot.writer import write_durably

Records = Sequence[tuple[Message, int]]

_FIRST: Final = SnapshotId(0, 0)
_VERSION: Final = "1"
_CLUSTER_ID: Final = re.compile(r"[A-Za-z0-9_.-]+")
"""What needs no escape in ``meta.properties``."""


class Controller(NamedTuple):
    """One that votes from the start; without a ``directory_id`` it is the node formatted, and
    its folder gets a new one."""

    node_id: int
    endpoint: Endpoint
    directory_id: Uuid | None = None


class Format(NamedTuple):
    """What to make of ``directories``, of which ``metadata_dir`` holds the log.

    ``controllers`` are the voters where the log names them (KIP-853); none leaves the voters
    to the configuration. No ``cluster_id`` is that of the folders which are formatted already,
    else a new one.
    """

    metadata_dir: Path
    directories: Sequence[Path]
    node_id: int
    records: Records
    cluster_id: str | None = None
    controllers: Sequence[Controller] = ()
    ignore_formatted: bool = False


class Formatted(NamedTuple):
    """One folder: ``kind`` in Kafka's words; ``is_new`` is false where it was formatted before."""

    directory: Path
    kind: str
    cluster_id: str
    node_id: int
    directory_id: str | None
    is_new: bool


def format_directories(
    wanted: Format, *, now_ms: int, entropy: Entropy, files: Files = LOCAL_FILES
) -> list[Formatted]:
    """``InvalidTarget`` where a folder may not be formatted: nothing was written then."""
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
    """The cluster's id, if anything says it."""
    cluster_id = wanted.cluster_id
    if cluster_id is not None and not _CLUSTER_ID.fullmatch(cluster_id):
        raise InvalidRequest(
            f"the cluster id {cluster_id!r}: give letters, digits, _, - and . only, or leave it"
            " out for a random one"
        )
    for path, properties in known.items():
        if properties is None:
            _check_unused(path, files)
            continue
        if not wanted.ignore_formatted:
            raise InvalidTarget(
                f"{path}: already formatted; --ignore-formatted leaves it as it is and formats"
                " the others"
            )
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
            f"{path}: has a metadata log and no {layout.META_PROPERTIES}, which was lost or left"
            " behind; formatting would mix two clusters"
        )
    if files.is_file(path):
        raise InvalidTarget(f"{path}: a file, not a folder")


def _directory_id(wanted: Format, path: Path) -> Uuid | None:
    """The one by which the other voters know the folder, if they do."""
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
    files.make_folder(path)
    _write_checkpoint(path / layout.BOOTSTRAP_CHECKPOINT, wanted.records, (), now_ms, files)
    if wanted.controllers and path == wanted.metadata_dir:
        partition = path / layout.PARTITION_FOLDER
        files.make_folder(partition)
        voters = VotersRecord(0, tuple(_voters(wanted.controllers, directory_id)))
        control = ((KRaftVersionRecord(0, 1), 0), (voters, 0))
        _write_checkpoint(partition / layout.snapshot_name(_FIRST), (), control, now_ms, files)
    properties = MetaProperties(cluster_id, wanted.node_id, uuid_text(directory_id), _VERSION)
    replace_whole(files, path / layout.META_PROPERTIES, layout.meta_properties_bytes(properties))
    files.sync_folder(path.parent)


def _voters(controllers: Sequence[Controller], own_id: Uuid) -> Iterator[Voter]:
    """By node, as Kafka writes them."""
    for node_id, endpoint, directory_id in sorted(controllers, key=lambda each: each.node_id):
        yield Voter(node_id, directory_id or own_id, (endpoint,), KRaftVersionFeature(0, 1))


def _write_checkpoint(
    path: Path,
    records: Records,
    control: Sequence[tuple[ControlMessage, int]],
    now_ms: int,
    files: Files,
) -> None:
    batches = snapshot_batches(
        records,
        epoch=0,
        timestamp=now_ms,
        last_contained_timestamp=now_ms if control else 0,
        control=control,
    )
    write_durably(path, batches, files)
