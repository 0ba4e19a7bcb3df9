"""A change of any size as batches: one transaction (KIP-868), within Kafka's limit for a batch."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalog.controller import transaction
from metalog.controller.transaction import MAX_TRANSACTION_BYTES, transaction_batches
from metalog.errors import InvalidRequest
from metalog.loader import BUFFER_LIMIT
from metalog.ports import MAX_BATCH_BYTES
from metalog.records.batch import build_batch
from metalog.records.messages import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    UserScramCredentialRecord,
)

NEWEST, LAST_WITHOUT = 30, 12
BEFORE = [(AbortTransactionRecord(), 0)]


def records(*lengths: int) -> list:  # type: ignore[type-arg]
    """Records of about that many bytes: a salt has no limit, unlike a name."""
    return [
        (UserScramCredentialRecord(f"u{number}", 1, b"s" * length, b"", b"", 4096), 0)
        for number, length in enumerate(lengths)
    ]


@given(st.lists(st.integers(0, 300), max_size=30), st.integers(60, 700), st.integers(1, 9))
def test_nothing_is_lost_and_no_batch_is_too_large(
    lengths: list[int], max_bytes: int, max_records: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transaction, "MAX_BATCH_BYTES", 420 + max_bytes)
        patch.setattr(transaction, "RECORDS_PER_BATCH", max_records)
        batches = transaction_batches(records(*lengths), "name", NEWEST, before=BEFORE)
    together = [pair for batch in batches for pair in batch]
    assert together == [
        *BEFORE,
        (BeginTransactionRecord(name="name"), 0),
        *records(*lengths),
        (EndTransactionRecord(), 0),
    ]
    for batch in batches:
        assert 0 < len(batch) <= max_records
        assert build_batch(2**40, 1, 2**40, batch).size <= 420 + max_bytes


def test_a_batch_is_as_large_as_kafka_reads() -> None:
    sizes = [
        build_batch(0, 1, 0, batch).size
        for batch in transaction_batches(records(*[1 << 20] * 20), "", NEWEST)
    ]
    assert len(sizes) == 3
    assert max(sizes) <= MAX_BATCH_BYTES < sizes[0] + (1 << 20)


def test_before_transactions_one_batch_is_as_good() -> None:
    assert transaction_batches(records(1, 2), "", LAST_WITHOUT) == [records(1, 2)]
    with pytest.raises(InvalidRequest, match=r"3\.6-IV0 has no transactions; raise it to 3\.6-IV1"):
        transaction_batches(records(*[1 << 20] * 9), "", LAST_WITHOUT)


def test_a_record_larger_than_a_batch_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="at most 8,388,608"):
        transaction_batches(records(1, 8 << 20), "", NEWEST)


def test_what_a_reader_could_not_hold_back_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_TRANSACTION_BYTES <= BUFFER_LIMIT / 2
    monkeypatch.setattr(transaction, "MAX_TRANSACTION_BYTES", 10_000)
    with pytest.raises(InvalidRequest, match="12 records do not fit the 10,000 bytes"):
        transaction_batches(records(*[1000] * 12), "", NEWEST, before=records(1))
