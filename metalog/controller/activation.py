"""The records that a new leader writes first, as Kafka's ActivationRecordsGenerator.

A log without a metadata.version gets what the folder was formatted with, whatever else
stands in it: as one metadata transaction where that version has them, else as one batch.
A transaction that the leader before left open is aborted.
Pure. This module must not know where the bootstrap records come from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from metalog.controller.transaction import Records, transaction_batches
from metalog.image.features import METADATA_VERSION
from metalog.image.metadata import MetadataImage
from metalog.records.messages import AbortTransactionRecord, ConfigRecord, FeatureLevelRecord

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
    level = levels.get(METADATA_VERSION, 0)
    before = abort if is_transaction_open else ()
    yield from transaction_batches(records, "Bootstrap records", level, before=before)


def _levels(records: Records) -> dict[str, int]:
    return {
        message.name: message.feature_level
        for message, _ in records
        if isinstance(message, FeatureLevelRecord)
    }
