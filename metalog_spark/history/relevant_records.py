"""Selects the records of a batch that a history needs: records of ACLs, transactions and features,
and records of unknown types.

Records are not checked against earlier records. This module must not know Spark, nor what the
records are used for.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final

from metalog.errors import UnreadableRecord
from metalog.image.policy import doubt_about
from metalog.loader.record_policy import RecordPolicy
from metalog.records.batch import Batch
from metalog.records.frame import Undecodable, decode_value
from metalog.records.messages import (
    AbortTransactionRecord,
    AccessControlEntryRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    RemoveAccessControlEntryRecord,
)
from metalog.records.messages.registry import METADATA
from metalog.records.record import refusal
from metalog.records.unread import UnreadTypes

_ACL_AND_TRANSACTION_TYPES: Final = (
    AccessControlEntryRecord,
    RemoveAccessControlEntryRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    AbortTransactionRecord,
)
_ACLS_AND_TRANSACTIONS: Final = frozenset(kind.API_KEY for kind in _ACL_AND_TRANSACTION_TYPES)
_UNREAD: Final = UnreadTypes.all_but((*_ACL_AND_TRANSACTION_TYPES, FeatureLevelRecord))
_NOT_NEEDED: Final = METADATA.keys() - _ACLS_AND_TRANSACTIONS - {FeatureLevelRecord.API_KEY}
"""The known types of records that a history does not need."""


def relevant(batch: Batch) -> Iterator[tuple[int, bytes]]:
    """The relevant records of ``batch``, each with its offset.

    Raises:
        CorruptLog: the batch is damaged or has a record that Kafka refuses, for example with a key.
            ``check_relevant`` checks the values.
    """
    if batch.is_control:
        deque(RecordPolicy(tolerant=False).readable(batch, batch.messages(), batch.base_offset), 0)
        return
    for raw in batch.raw_records(_UNREAD):
        offset = batch.base_offset + raw.offset_delta
        if (why := refusal(raw, is_control=False)) is not None:
            raise _unreadable(f"{why}, which Kafka refuses", batch, offset)
        value = raw.value or b""
        if len(value) < 2 or value[0] != 1 or value[1] not in _NOT_NEEDED:
            yield offset, value


def check_relevant(value: bytes, batch: Batch, offset: int) -> None:
    """Raise ``UnreadableRecord`` if the record can concern ACLs or transactions, and cannot be read
    with certainty."""
    message = decode_value(value)[1]
    if isinstance(message, Undecodable):
        if message.api_key is None or message.api_key in _ACLS_AND_TRANSACTIONS:
            raise _unreadable(message.reason, batch, offset)
    elif (doubt := doubt_about(value)) is not None:
        raise _unreadable(doubt.problem, batch, offset)


def _unreadable(problem: str, batch: Batch, offset: int) -> UnreadableRecord:
    return UnreadableRecord(problem, file=batch.file, offset=offset, byte=batch.position)
