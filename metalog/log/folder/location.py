"""Finds the metadata log at a path, and reads the small files around it.

A path may be a ``metadata.log.dir``, its ``__cluster_metadata-0``, or a copy. This module must not
know the contents of a segment or a snapshot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from metalog.disk.files import Files, read_whole
from metalog.errors import CorruptLog, InvalidSource
from metalog.ids import METADATA_TOPIC_ID, SnapshotId
from metalog.log.epochs import LeaderEpochs
from metalog.log.folder import layout
from metalog.log.folder.extent import LogExtent, find_extents
from metalog.log.folder.layout import ArchiveProperties, MetaProperties, QuorumState

_Parsed = TypeVar("_Parsed")
_SEARCH_LIMIT: Final = 200


class LogFolder(NamedTuple):
    """The files of a metadata log's folder at one moment, before any batch is read.

    ``partition`` is the folder with the segments. ``log_dir`` is the ``metadata.log.dir``, or None
    for a partition's folder alone. A value is None if its file is missing or damaged; ``problems``
    are the errors of damaged files. If ``is_marked``, a name or file in the folder shows that this
    is a metadata log.
    """

    partition: Path
    log_dir: Path | None
    segments: tuple[int, ...]
    snapshots: tuple[SnapshotId, ...]
    leader_epochs: LeaderEpochs
    quorum_state: QuorumState | None
    meta_properties: MetaProperties | None
    archive: ArchiveProperties | None
    bootstrap: Path | None
    problems: tuple[str, ...]
    extents: tuple[LogExtent, ...]
    is_marked: bool

    def segment_path(self, base_offset: int) -> Path:
        return self.partition / layout.segment_name(base_offset)

    def snapshot_path(self, id: SnapshotId) -> Path:
        return self.partition / layout.snapshot_name(id)


def read_folder(path: Path, files: Files) -> LogFolder:
    """The metadata log in ``path``.

    Raises ``InvalidSource`` if there is none, or ``CorruptLog`` if ``leader-epoch-checkpoint`` is
    damaged.
    """
    try:
        return _read_folder(path, files)
    except OSError as error:
        raise unreadable(path, error) from None


def unreadable(path: Path, error: OSError) -> InvalidSource:
    """The error for a file that the system refuses to read."""
    place = error.filename if error.filename is not None else path
    if isinstance(error, PermissionError):
        return InvalidSource(f"{place}: no permission to read it; ask its owner for a copy")
    return InvalidSource(f"{place}: cannot be read ({error.strerror or error})")


def _read_folder(path: Path, files: Files) -> LogFolder:
    log_dir, partition = _locate(path, files)
    names = files.names(partition) if files.is_folder(partition) else []
    problems: list[str] = []

    def parsed(file: Path, parse: Callable[[bytes, str], _Parsed]) -> _Parsed | None:
        if not files.is_file(file):
            return None
        try:
            return parse(read_whole(files, file), str(file))
        except CorruptLog as error:
            problems.append(str(error))
            return None

    topic_id = parsed(partition / layout.PARTITION_METADATA, layout.parse_partition_metadata)
    if topic_id not in (None, METADATA_TOPIC_ID):
        raise InvalidSource(
            f"{partition}: the log of an ordinary topic, not {layout.PARTITION_FOLDER}"
        )
    checkpoint = partition / layout.LEADER_EPOCH_CHECKPOINT
    leader_epochs = LeaderEpochs(str(checkpoint))
    if files.is_file(checkpoint):
        leader_epochs = layout.parse_leader_epochs(read_whole(files, checkpoint), str(checkpoint))
    meta_properties = archive = bootstrap = None
    if log_dir is not None:
        meta_properties = parsed(log_dir / layout.META_PROPERTIES, layout.parse_meta_properties)
        archive = parsed(log_dir / layout.ARCHIVE_PROPERTIES, layout.parse_archive_properties)
        bootstrap_path = log_dir / layout.BOOTSTRAP_CHECKPOINT
        bootstrap = bootstrap_path if files.is_file(bootstrap_path) else None
    return LogFolder(
        partition=partition,
        log_dir=log_dir,
        segments=tuple(layout.segments(names)),
        snapshots=tuple(layout.snapshots(names)),
        leader_epochs=leader_epochs,
        quorum_state=parsed(partition / layout.QUORUM_STATE, layout.parse_quorum_state),
        meta_properties=meta_properties,
        archive=archive,
        bootstrap=bootstrap,
        problems=tuple(problems),
        extents=find_extents(partition, names, files),
        is_marked=topic_id is not None
        or partition.name == layout.PARTITION_FOLDER
        or layout.QUORUM_STATE in names
        or any(layout.snapshots(names)),
    )


def _locate(path: Path, files: Files) -> tuple[Path | None, Path]:
    """The ``metadata.log.dir`` or None, and the partition's folder."""
    if not files.is_folder(path):
        raise InvalidSource(f"{path}: there is no such folder")
    names = files.names(path)
    if not names:
        raise InvalidSource(f"{path}: an empty folder; check the path")
    if layout.PARTITION_FOLDER in names:
        return path, path / layout.PARTITION_FOLDER
    if layout.segments(names) or layout.snapshots(names) or path.name == layout.PARTITION_FOLDER:
        above = path.absolute().parent
        is_in_log_dir = path.name == layout.PARTITION_FOLDER and any(
            files.is_file(above / name)
            for name in (layout.META_PROPERTIES, layout.ARCHIVE_PROPERTIES)
        )
        return (above if is_in_log_dir else None), path
    if layout.BOOTSTRAP_CHECKPOINT in names and layout.META_PROPERTIES in names:
        return path, path / layout.PARTITION_FOLDER
    below = _log_dir_below(path, names, files)
    advice = "give a controller's metadata.log.dir" if below is None else f"did you mean {below}?"
    raise InvalidSource(
        f"{path}: not a metadata log: it has no {layout.PARTITION_FOLDER}; {advice}"
    )


def _log_dir_below(path: Path, names: Sequence[str], files: Files) -> Path | None:
    for name in names[:_SEARCH_LIMIT]:
        try:
            if files.is_folder(path / name / layout.PARTITION_FOLDER):
                return path / name
        except OSError:
            continue
    return None
