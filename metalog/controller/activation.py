"""The records that a new leader writes first, as Kafka's ActivationRecordsGenerator does.

The new leader aborts a transaction that the previous leader did not end. If the log has no
metadata.version, the new leader also writes the bootstrap records: as one metadata transaction, or
as one batch if their metadata.version has no transactions. Pure. This module must not know where
the bootstrap records come from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from metalog.controller.transaction import (
    RECORDS_PER_BATCH,
    TRANSACTIONS_SINCE,
    Records,
    transaction_batches,
)
from metalog.errors import CorruptLog, InvalidRequest
from metalog.image.metadata import MetadataImage
from metalog.image.state.features import METADATA_VERSION, METADATA_VERSIONS
from metalog.ports import MAX_BATCH_BYTES
from metalog.records.batch import build_batch
from metalog.records.message import Message
from metalog.records.messages import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    ConfigRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
)

_ELR: Final = "eligible.leader.replicas.version"
"""Eligible leader replicas, a feature that needs a min.insync.replicas (KIP-966)."""
_BROKER_RESOURCE: Final = 4
_NAME: Final = "Bootstrap records"


def activation_batches(
    image: MetadataImage, open_since: int | None, bootstrap: Callable[[], Records]
) -> Iterator[Records]:
    """The batches to append. ``open_since`` is the offset of the first record of an open
    transaction, or None. ``bootstrap`` is called only if the log has no metadata.version.

    ``CorruptLog`` if a transaction is open and the metadata.version has no transactions: as in
    Kafka, no record can abort the transaction, so no node can lead.
    """
    level = image.features.metadata_version
    records = [] if level is not None else _first_records(bootstrap())
    if level is None:
        level = _levels(records).get(METADATA_VERSION, 0)
    abort = [] if open_since is None else [_abort(open_since, level)]
    if records:
        yield from transaction_batches(records, _NAME, level, before=abort)
    elif abort:
        yield abort


def check_kafkas_batches(bootstrap: Records) -> None:
    """Raise ``InvalidRequest`` if Kafka's first controller could not write ``bootstrap``: it puts
    ``RECORDS_PER_BATCH`` records into a batch, however large they are."""
    begin, end = (BeginTransactionRecord(name=_NAME), 0), (EndTransactionRecord(), 0)
    records = [begin, *_first_records(bootstrap), end]
    for start in range(0, len(records), RECORDS_PER_BATCH):
        part = records[start : start + RECORDS_PER_BATCH]
        size = build_batch(0, 0, 0, part).size
        if size > MAX_BATCH_BYTES:
            raise InvalidRequest(
                f"Kafka's first controller would write {len(part):,} records as one batch of"
                f" {size:,} bytes, and reads at most {MAX_BATCH_BYTES:,}; begin with fewer ACLs,"
                " and apply the others to the started cluster"
            )


def _abort(open_since: int, level: int) -> tuple[Message, int]:
    if level < TRANSACTIONS_SINCE:
        raise CorruptLog(
            "a transaction begins here and does not end, and it cannot be aborted: metadata.version"
            f" {METADATA_VERSIONS.get(level, level)} has no transactions",
            offset=open_since,
        )
    return AbortTransactionRecord(reason="Controller failover"), 0


def _first_records(bootstrap: Records) -> list[tuple[Message, int]]:
    records = list(bootstrap)
    if _levels(records).get(_ELR, 0):
        records.append((ConfigRecord(_BROKER_RESOURCE, "", "min.insync.replicas", "1"), 0))
    return records


def _levels(records: Records) -> dict[str, int]:
    return {
        message.name: message.feature_level
        for message, _ in records
        if isinstance(message, FeatureLevelRecord)
    }
