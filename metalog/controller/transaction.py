"""Turns records into the batches of one metadata transaction (KIP-868).

The next leader aborts an open transaction, so a transaction takes effect as a whole or not at all.
Pure. This module must not know what the records mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from metalog.errors import InvalidRequest
from metalog.image.state.features import METADATA_VERSIONS
from metalog.ports import MAX_BATCH_BYTES
from metalog.records.frame import encode_value
from metalog.records.message import Message
from metalog.records.messages import BeginTransactionRecord, EndTransactionRecord
from metalog.text.plurals import counted

Records = Sequence[tuple[Message, int]]

TRANSACTIONS_SINCE: Final = 13
"""metadata.version 3.6-IV1, the first with metadata transactions."""
MAX_TRANSACTION_BYTES: Final = 128 << 20
"""Readers buffer a transaction until its end; the loader's ``BUFFER_LIMIT`` is twice as large."""
RECORDS_PER_BATCH: Final = 10_000

_BATCH_HEADER: Final = 61
_RECORD_OVERHEAD: Final = 19
"""The most bytes of a record besides its value: lengths, offset delta, and so on."""


def transaction_batches(
    records: Records, name: str, metadata_version: int, *, before: Records = ()
) -> list[Records]:
    """The batches to append: ``before``, then the transaction; these can share a batch.

    If ``metadata_version`` has no transactions, all records must fit one batch.

    Raises:
        InvalidRequest: a record, the one batch, or the transaction would be too large.
    """
    unfit = counted(len(records), "record does not fit", "records do not fit")
    has_transactions = metadata_version >= TRANSACTIONS_SINCE
    if has_transactions:
        records = [(BeginTransactionRecord(name=name), 0), *records, (EndTransactionRecord(), 0)]
    batches = list(_parted([*before, *records], unfit))
    if len(batches) > 1 and not has_transactions:
        raise InvalidRequest(
            f"{unfit} a batch, and metadata.version"
            f" {METADATA_VERSIONS.get(metadata_version, metadata_version)} has no transactions;"
            f" raise it to {METADATA_VERSIONS[TRANSACTIONS_SINCE]}, or make fewer changes at a time"
        )
    return batches


def _parted(records: Records, unfit: str) -> Iterator[Records]:
    start, size, total = 0, _BATCH_HEADER, 0
    for position, (message, version) in enumerate(records):
        needed = len(encode_value(message, version)) + _RECORD_OVERHEAD
        if _BATCH_HEADER + needed > MAX_BATCH_BYTES:
            raise InvalidRequest(
                f"a record needs a batch of {_BATCH_HEADER + needed:,} bytes;"
                f" Kafka reads at most {MAX_BATCH_BYTES:,}"
            )
        total += needed
        if total > MAX_TRANSACTION_BYTES:
            raise InvalidRequest(
                f"{unfit} the {MAX_TRANSACTION_BYTES:,} bytes of a transaction;"
                " make fewer changes at a time"
            )
        if position - start == RECORDS_PER_BATCH or size + needed > MAX_BATCH_BYTES:
            yield records[start:position]
            start, size = position, _BATCH_HEADER
        size += needed
    if start < len(records):
        yield records[start:]
