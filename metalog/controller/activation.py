"""What a new leader writes first, as Kafka's ActivationRecordsGenerator.

A log without a metadata.version gets what the folder was formatted with, whatever else
stands in it: as one metadata transaction where that version has them, else as one batch.
A transaction that the leader before left open is aborted.
Pure. This module must not know where the bootstrap records come from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from metalog.image.features import METADATA_VERSION
from metalog.image.metadata import MetadataImage
from metalog.records.message import Message
from metalog.records.messages import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    ConfigRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
)

Records = Sequence[tuple[Message, int]]

TRANSACTIONS_SINCE: Final = 13
"""metadata.version 3.6-IV1, the first with metadata transactions (KIP-868)."""
RECORDS_PER_BATCH: Final = 1024

_ELR: Final = "eligible.leader.replicas.version"
"""Eligible leader replicas count from the cluster's min.insync.replicas (KIP-966)."""
_BROKER: Final = 4


def activation_batches(
    image: MetadataImage, is_transaction_open: bool, bootstrap: Callable[[], Records]
) -> Iterator[Records]:
    """What to append, a batch each. ``bootstrap`` is called only if it is needed."""
    abort = [(AbortTransactionRecord(reason="Controller failover"), 0)]
    if image.features.metadata_version is not None:
        if is_transaction_open:
            yield abort
        return
    records = list(bootstrap())
    levels = _levels(records)
    if levels.get(_ELR, 0):
        records.append((ConfigRecord(_BROKER, "", "min.insync.replicas", "1"), 0))
    if levels.get(METADATA_VERSION, 0) < TRANSACTIONS_SINCE:
        yield records
        return
    records.insert(0, (BeginTransactionRecord(name="Bootstrap records"), 0))
    records.append((EndTransactionRecord(), 0))
    if is_transaction_open:
        records[:0] = abort
    for start in range(0, len(records), RECORDS_PER_BATCH):
        yield records[start : start + RECORDS_PER_BATCH]


def _levels(records: Records) -> dict[str, int]:
    return {
        message.name: message.feature_level
        for message, _ in records
        if isinstance(message, FeatureLevelRecord)
    }
