"""A metadata transaction that has begun and not ended (KIP-868), and its buffered records.

This module must not know what is committed, nor when a transaction ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from metalog.image.manifest import Provenance
from metalog.records.batch import Batch
from metalog.records.frame import Undecodable
from metalog.text.plurals import counted


class OpenTransaction(NamedTuple):
    """A transaction that began at ``offset`` and has not ended: its records are not in force.

    ``records`` is the number of buffered records. ``unreadable`` maps the offset of an unreadable
    record to the reason. Such a record makes answers uncertain if the transaction is committed.
    """

    offset: int
    records: int
    unreadable: Mapping[int, str]

    def __str__(self) -> str:
        begun = f"a transaction that began at offset {self.offset} is open"
        text = f"{begun}: its {counted(self.records, 'record is', 'records are')} not in force"
        if not self.unreadable:
            return text
        offset, reason = next(iter(self.unreadable.items()))
        why = f"because of offset {offset}: {reason}"
        return f"{text}; if it is committed, no answer is certain, {why}"


class Transaction(NamedTuple):
    """An open transaction: the log's position ``before`` it, and its records so far."""

    before: Provenance
    entries: list[tuple[int, Any]]
    batches: list[Batch]

    def summary(self) -> OpenTransaction:
        unreadable = {at: each.reason for at, each in self.entries if isinstance(each, Undecodable)}
        return OpenTransaction(self.before.offset, len(self.entries), unreadable)
