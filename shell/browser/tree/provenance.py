"""``/image/provenance``: the position in the log up to which the image was replayed.

This module must not know how the tree is printed.
"""

from __future__ import annotations

from metalog.image.manifest import Provenance
from shell.browser.nodes import Leaf
from shell.browser.tree.kafka import zoned_time


def kafka_provenance(provenance: Provenance) -> Leaf:
    """``/image/provenance``. Its ``offset`` is that of the last record, as in Kafka;
    ``Provenance.offset`` is one more (exclusive)."""
    offset, epoch, timestamp = provenance
    return Leaf(f"offset {offset - 1}, epoch {epoch}, time {zoned_time(timestamp)}")
