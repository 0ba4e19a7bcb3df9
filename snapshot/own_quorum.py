"""Formats the log folder of a new node that is the only voter of its quorum, for programs.

The verb ``metalog format`` has all options of ``kafka-storage format``; both use ``formatting``.
This module must not know what is written to the log later.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from metalog.disk.files import LOCAL_FILES, Files
from metalog.records.messages import FeatureLevelRecord
from metalog.records.messages.voters_record import Endpoint
from snapshot.formatting import Controller, Format, format_directories
from snapshot.initial_features import initial_features


def format_log(directory: str | Path, *, node_id: int = 1, files: Files = LOCAL_FILES) -> None:
    """Make ``directory`` the ``metadata.log.dir`` of a new node, the only voter of its quorum.

    A missing folder is created. Then ``metalog.open_writable_log`` opens the log.

    Raises:
        InvalidTarget: the folder is formatted already, or holds a log. Nothing was written.
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
