"""A log that began an hour ago: younger than the day that some examples look back.

This module must not know what a test claims.
"""

from __future__ import annotations

import time
from pathlib import Path

from metalog.records.batch import build_batch, encode_batch
from metalog.records.messages import FeatureLevelRecord, NoOpRecord
from tests.support.disk.tiny_log import ace, batch
from tests.support.disk.written_log import formatted


def an_hour(folder: Path) -> Path:
    """Write two hundred records. The times are those of the writer's clock, so the log ends now."""
    end_ms = int(time.time() * 1000)
    batches = [batch(0, FeatureLevelRecord("metadata.version", 30), ace(1), ace(2, "u"))]
    batches += [batch(offset, NoOpRecord()) for offset in range(3, 200)]
    timed = (
        build_batch(
            each.base_offset,
            1,
            end_ms - (200 - each.next_offset) * 18_000,
            [(message, 0) for message in each.messages()],
        )
        for each in batches
    )
    path = formatted(folder)
    (path / "__cluster_metadata-0" / f"{0:020d}.log").write_bytes(
        b"".join(map(encode_batch, timed))
    )
    return path
