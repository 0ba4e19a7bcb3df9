"""Keeps a growing log small: writes snapshots, and deletes old files beyond the retention.

``Upkeep`` runs on the replica's thread, so changes of the log wait for the write of a snapshot.
This module must not know how a snapshot is laid out.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path

from metalog.disk.files import LOCAL_FILES, Files
from metalog.ids import SnapshotId
from metalog.image.delta import MetadataDelta
from metalog.image.manifest import Manifest
from metalog.image.metadata import MetadataImage
from metalog.log.config import LogConfig
from metalog.log.folder_writer.retention import measured, snapshot_to_keep
from metalog.log.folder_writer.writer import WritableDirectoryLog
from snapshot.generator import SnapshotGenerator
from snapshot.writer import write_snapshot

_log = logging.getLogger(__name__)


class Upkeep:
    """A publisher that writes a snapshot of a log when one is due, and then deletes old files.

    The oldest snapshot is deleted while the log's size exceeds ``metadata.max.retention.bytes`` or
    this snapshot's age exceeds ``metadata.max.retention.ms``. Segments that the oldest kept
    snapshot replaces are deleted, too. The newest snapshot always stays.

    ``config`` is the result of ``metalog.log_config``. ``now_ms`` returns the wall-clock time.
    """

    def __init__(
        self,
        log: WritableDirectoryLog,
        config: LogConfig,
        *,
        files: Files = LOCAL_FILES,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self._target = log
        self._config = config
        self._files = files
        self._now_ms = now_ms
        self._generator = SnapshotGenerator(
            self._write,
            max_bytes=config.bytes_between_snapshots,
            max_ms=config.snapshot_interval_ms or None,
        )

    def publish(self, delta: MetadataDelta, image: MetadataImage, manifest: Manifest) -> None:
        """Write a snapshot and delete files, if a snapshot is due."""
        self._generator.publish(delta, image, manifest)

    def _write(self, image: MetadataImage) -> Path:
        folder = self._target.folder
        wanted = SnapshotId(image.provenance.offset, image.provenance.epoch)
        if wanted in folder.snapshots:
            return folder.snapshot_path(wanted)
        written = write_snapshot(
            image,
            folder.partition,
            timestamp=self._now_ms(),
            files=self._files,
            control=self._target.snapshot_control,
        )
        self._delete_replaced()
        return written

    def _delete_replaced(self) -> None:
        snapshots, segments = measured(self._target.folder, self._files)
        keep = snapshot_to_keep(snapshots, segments, self._config, self._now_ms())
        if keep is not None:
            try:
                self._target.trim(keep)
            except OSError as error:
                _log.warning("cannot delete the files before snapshot %s (%s)", keep, error)
