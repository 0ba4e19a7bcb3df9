"""The layout of a metadata log's folder: file names, and the small files beside the segments.

Kafka's classes are ``UnifiedLog``, ``Snapshots``, ``LeaderEpochCheckpointFile``,
``QuorumStateData`` and ``PartitionMetadataFile``; ``docs/formats/directory.md`` describes the
formats. Pure; bytes that cannot be read raise ``CorruptLog``. This module must not know the
contents of a segment or a snapshot.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from metalog.config.properties import parse_properties, properties_mapping
from metalog.errors import CorruptLog
from metalog.ids import METADATA_TOPIC_ID, ZERO_UUID, SnapshotId, Uuid, parse_uuid, uuid_text
from metalog.log.epochs import EpochStart, LeaderEpochs
from metalog.text.plurals import counted

PARTITION_FOLDER: Final = "__cluster_metadata-0"
META_PROPERTIES: Final = "meta.properties"
ARCHIVE_PROPERTIES: Final = "archive.properties"
"""The file that ``metalog archive`` writes into its folder, in place of meta.properties."""
BOOTSTRAP_CHECKPOINT: Final = "bootstrap.checkpoint"
LEADER_EPOCH_CHECKPOINT: Final = "leader-epoch-checkpoint"
QUORUM_STATE: Final = "quorum-state"
PARTITION_METADATA: Final = "partition.metadata"
CHECKPOINT_SUFFIX: Final = ".checkpoint"
AVRO_SUFFIX: Final = ".avro"
SEGMENT_SUFFIX: Final = ".log"
LOCK: Final = ".lock"

_SEGMENT_NAME: Final = re.compile(r"([0-9]{20})\.log")
_INDEX_NAME: Final = re.compile(r"([0-9]{20})\.(?:index|timeindex)")
_PRODUCER_STATE_NAME: Final = re.compile(r"([0-9]{20})\.snapshot")
_UNFINISHED_NAME: Final = re.compile(r"([0-9]{20})(?:\.|-([0-9]{10})\D).*\.part")
_SNAPSHOT_NAME: Final = re.compile(r"([0-9]{20})-([0-9]{10})\.checkpoint")
_AVRO_SNAPSHOT_NAME: Final = re.compile(r"([0-9]{20})-([0-9]{10})\.avro")
_MAX_OFFSET: Final = 2**63 - 1
_MAX_EPOCH: Final = 2**31 - 1


def segment_name(base_offset: int) -> str:
    return f"{base_offset:020d}{SEGMENT_SUFFIX}"


def index_name(base_offset: int) -> str:
    return f"{base_offset:020d}.index"


def time_index_name(base_offset: int) -> str:
    return f"{base_offset:020d}.timeindex"


def producer_state_name(base_offset: int) -> str:
    """The name of a producer snapshot, which in a metadata log lists no producers."""
    return f"{base_offset:020d}.snapshot"


def segment_base_offset(name: str) -> int | None:
    return _named_offset(_SEGMENT_NAME.fullmatch(name))


def index_base_offset(name: str) -> int | None:
    return _named_offset(_INDEX_NAME.fullmatch(name))


def producer_state_offset(name: str) -> int | None:
    return _named_offset(_PRODUCER_STATE_NAME.fullmatch(name))


def _named_offset(match: re.Match[str] | None) -> int | None:
    if match is None or (offset := int(match[1])) > _MAX_OFFSET:
        return None
    return offset


def snapshot_name(id: SnapshotId) -> str:
    return f"{id}{CHECKPOINT_SUFFIX}"


def snapshot_id(name: str) -> SnapshotId | None:
    return _named_id(_SNAPSHOT_NAME.fullmatch(name))


def avro_snapshot_name(id: SnapshotId) -> str:
    return f"{id}{AVRO_SUFFIX}"


def avro_snapshot_id(name: str) -> SnapshotId | None:
    return _named_id(_AVRO_SNAPSHOT_NAME.fullmatch(name))


def _named_id(match: re.Match[str] | None) -> SnapshotId | None:
    if match is None:
        return None
    named = SnapshotId(int(match[1]), int(match[2]))
    return named if named.end_offset <= _MAX_OFFSET and named.epoch <= _MAX_EPOCH else None


def segments(names: Iterable[str]) -> list[int]:
    """Base offsets of the segments in ``names``, lowest first."""
    return sorted(base for name in names if (base := segment_base_offset(name)) is not None)


def snapshots(names: Iterable[str]) -> list[SnapshotId]:
    """Ids of the snapshots in ``names``, oldest first."""
    return sorted(named for name in names if (named := snapshot_id(name)) is not None)


def unfinished(names: Iterable[str], before: SnapshotId | None = None) -> list[str]:
    """The ``.part`` files that Kafka or this project did not finish.

    With ``before``, only the snapshots that are older than ``before``.
    """
    return [
        name
        for name in names
        if (match := _UNFINISHED_NAME.fullmatch(name)) is not None
        and (before is None or (match[2] and SnapshotId(int(match[1]), int(match[2])) < before))
    ]


def parse_leader_epochs(data: bytes, file: str) -> LeaderEpochs:
    """The lines: the version (0), the number of entries, and ``epoch offset`` per entry."""
    lines = data.decode("latin-1").removesuffix("\n").split("\n")
    if lines == [""] and not data:
        return LeaderEpochs(file)
    try:
        version, count, *entries = [[int(word) for word in line.split(" ")] for line in lines]
        starts = tuple(EpochStart(*entry) for entry in entries)
    except (TypeError, ValueError):
        raise _bad_epochs("not a leader-epoch-checkpoint", file) from None
    if version != [0]:
        raise _bad_epochs(f"version {version[0]} is unknown; expected 0", file)
    if count != [len(starts)]:
        raise _bad_epochs(
            f"it announces {counted(count[0], 'entry', 'entries')}, but has {len(starts)}", file
        )
    for previous, start in pairwise(starts):
        if start.epoch <= previous.epoch or start.start_offset <= previous.start_offset:
            raise _bad_epochs(
                f"epoch {start.epoch} from offset {start.start_offset} cannot follow"
                f" epoch {previous.epoch} from offset {previous.start_offset}",
                file,
            )
    return LeaderEpochs(file, starts)


def leader_epochs_bytes(starts: Sequence[EpochStart]) -> bytes:
    lines = ["0", str(len(starts)), *(f"{epoch} {offset}" for epoch, offset in starts)]
    return "".join(f"{line}\n" for line in lines).encode()


def _bad_epochs(problem: str, file: str) -> CorruptLog:
    advice = "to skip this check, read a copy of the folder without this file"
    return CorruptLog(problem, file=file, advice=advice)


class QuorumState(NamedTuple):
    """``quorum-state``: this node's knowledge of elections.

    Version 0 names the voters. With version 1, the log names the voters, and ``voters`` is empty.
    """

    leader_id: int
    leader_epoch: int
    voted_id: int
    voters: tuple[int, ...]
    data_version: int


def parse_quorum_state(data: bytes, file: str) -> QuorumState:
    try:
        state = json.loads(data)
        parsed = QuorumState(
            leader_id=state["leaderId"],
            leader_epoch=state["leaderEpoch"],
            voted_id=state.get("votedId", -1),
            voters=tuple(voter["voterId"] for voter in state.get("currentVoters") or ()),
            data_version=state.get("data_version", 0),
        )
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        raise CorruptLog("not a quorum-state", file=file) from None
    numbers = (*parsed[:3], *parsed.voters, parsed.data_version)
    if not all(type(number) is int for number in numbers):
        raise CorruptLog("not a quorum-state", file=file)
    if parsed.data_version not in (0, 1):
        raise CorruptLog(
            f"data_version {parsed.data_version} is unknown; expected 0 or 1", file=file
        )
    return parsed


def quorum_state_bytes(state: QuorumState) -> bytes:
    if state.data_version == 0:
        fields: dict[str, object] = {
            "clusterId": "",
            "leaderId": state.leader_id,
            "leaderEpoch": state.leader_epoch,
            "votedId": state.voted_id,
            "appliedOffset": 0,
            "currentVoters": [{"voterId": voter} for voter in state.voters],
        }
    else:
        fields = {
            "leaderId": state.leader_id,
            "leaderEpoch": state.leader_epoch,
            "votedId": state.voted_id,
            "votedDirectoryId": uuid_text(ZERO_UUID),
        }
    fields["data_version"] = state.data_version
    return json.dumps(fields, separators=(",", ":")).encode()


class MetaProperties(NamedTuple):
    """``meta.properties``; a field is None if its key is missing."""

    cluster_id: str | None
    node_id: int | None
    directory_id: str | None
    version: str | None


def parse_meta_properties(data: bytes, file: str) -> MetaProperties:
    try:
        properties = properties_mapping(parse_properties(data))
        node_id = properties.get("node.id", properties.get("broker.id"))
        directory_id = properties.get("directory.id")
        if directory_id is not None:
            parse_uuid(directory_id)
        return MetaProperties(
            cluster_id=properties.get("cluster.id"),
            node_id=None if node_id is None else int(node_id),
            directory_id=directory_id,
            version=properties.get("version"),
        )
    except ValueError as error:
        raise CorruptLog(f"not a meta.properties ({error})", file=file) from None


class ArchiveProperties(NamedTuple):
    """``archive.properties``; a field is None if its key is missing."""

    cluster_id: str | None


def parse_archive_properties(data: bytes, file: str) -> ArchiveProperties:
    try:
        properties = properties_mapping(parse_properties(data))
    except ValueError as error:
        raise CorruptLog(f"not an {ARCHIVE_PROPERTIES} ({error})", file=file) from None
    return ArchiveProperties(properties.get("cluster.id"))


def archive_properties_bytes(properties: ArchiveProperties) -> bytes:
    text = "# An archive of a Kafka metadata log, made by metalog archive.\n"
    text += "" if properties.cluster_id is None else f"cluster.id={properties.cluster_id}\n"
    return text.encode()


def meta_properties_bytes(properties: MetaProperties) -> bytes:
    """A ``meta.properties`` with the keys of Kafka's version 1."""
    lines = {
        "node.id": properties.node_id,
        "directory.id": properties.directory_id,
        "version": properties.version,
        "cluster.id": properties.cluster_id,
    }
    return "".join(f"{key}={value}\n" for key, value in lines.items()).encode()


PARTITION_METADATA_BYTES: Final = f"version: 0\ntopic_id: {uuid_text(METADATA_TOPIC_ID)}".encode()


def parse_partition_metadata(data: bytes, file: str) -> Uuid:
    """``partition.metadata``: the topic id of the folder's partition."""
    lines = data.decode("latin-1").splitlines()
    if len(lines) != 2 or lines[0] != "version: 0" or not lines[1].startswith("topic_id: "):
        raise CorruptLog("not a partition.metadata of version 0", file=file)
    try:
        return parse_uuid(lines[1].removeprefix("topic_id: "))
    except ValueError as error:
        raise CorruptLog(str(error), file=file) from None
