"""Counts the batches, records and bytes that were replayed since the last image.

This module must not know what the counts are used for.
"""

from __future__ import annotations

from typing import NamedTuple

from metalog.records.batch import Batch


class Size(NamedTuple):
    batches: int = 0
    records: int = 0
    bytes: int = 0

    def with_batch(self, batch: Batch) -> Size:
        batches, records, size = self
        return tuple.__new__(Size, (batches + 1, records + batch.record_count, size + batch.size))
