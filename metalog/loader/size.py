"""The size of the log that was replayed since the last image.

This module must not know what it is used for.
"""

from __future__ import annotations

from typing import NamedTuple

from metalog.records.batch import Batch


class Size(NamedTuple):
    batches: int = 0
    records: int = 0
    bytes: int = 0

    def with_batch(self, batch: Batch) -> Size:
        return Size(self.batches + 1, self.records + batch.record_count, self.bytes + batch.size)
