"""The records that a new leader writes first, as Kafka's ActivationRecordsGenerator does.

A log without a metadata.version gets its bootstrap records, even if it has other records. They are
one metadata transaction if their metadata.version supports transactions, else one batch. A
transaction that the previous leader left open is aborted, unless these records are one batch. Pure.
This module must not know where the bootstrap records come from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from metalog.controller.transaction import Records, transaction_batches
from metalog.image.metadata import MetadataImage
from metalog.image.state.features import METADATA_VERSION
from metalog.records.messages import AbortTransactionRecord, ConfigRecord, FeatureLevelRecord

_ELR: Final = "eligible.leader.replicas.version"
"""The feature of eligible leader replicas, which needs a min.insync.replicas (KIP-966)."""
_BROKER: Final = 4


def activation_batches(
    image: MetadataImage, is_transaction_open: bool, bootstrap: Callable[[], Records]
) -> Iterator[Records]:
    """The batches to append. ``bootstrap`` is called only if its records are needed."""
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
