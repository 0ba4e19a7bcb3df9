"""The next producer id that the cluster will allocate.

This module must not know what producers do with the id.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from metalog.image.state.never_doubtful import NeverDoubtful
from metalog.records.messages import ProducerIdsRecord

NONE_ALLOCATED: Final = -1


class ProducerIdsImage(NamedTuple):
    next_producer_id: int = NONE_ALLOCATED

    def write(self, metadata_version: int) -> Iterator[tuple[ProducerIdsRecord, int]]:
        """The snapshot's record with its version. As in Kafka, the record names no broker."""
        if self.next_producer_id >= 0:
            record = ProducerIdsRecord(
                broker_id=-1, broker_epoch=-1, next_producer_id=self.next_producer_id
            )
            yield record, 0


EMPTY: Final = ProducerIdsImage()


class ProducerIdsDelta(NeverDoubtful):
    __slots__ = ("image", "next_producer_id")

    def __init__(self, image: ProducerIdsImage, *, is_replacement: bool = False) -> None:
        self.image = image
        self.next_producer_id = NONE_ALLOCATED if is_replacement else image.next_producer_id

    def set_next(self, record: ProducerIdsRecord) -> None:
        self.next_producer_id = record.next_producer_id

    def apply(self) -> ProducerIdsImage:
        return ProducerIdsImage(self.next_producer_id)
