"""``/image/producerIds``: the next producer id to assign.

This module must not know how the tree is printed.
"""

from __future__ import annotations

from metalog.image.state.producer_ids import ProducerIdsImage
from shell.browser.nodes import Directory, Leaf, fixed


def kafka_producer_ids(image: ProducerIdsImage) -> Directory:
    return fixed({"nextProducerId": lambda: Leaf(str(image.next_producer_id))})
