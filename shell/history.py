"""Since when an answer holds: the log's changes to ACLs, as far back as it goes.

What an aborted or open transaction holds never happened. This module must not know how
an answer is found or shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from authorizer.insight.since import AclChange, Since, since
from metalog.errors import CorruptLog
from metalog.ports import Appended
from metalog.records.acl_codes import acl_of
from metalog.records.messages import (
    AbortTransactionRecord,
    AccessControlEntryRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    RemoveAccessControlEntryRecord,
)
from snapshot.reader import read_snapshot

if TYPE_CHECKING:
    from authorizer.config import AuthorizerConfig
    from authorizer.trace import Question
    from metalog.acl import Acl
    from metalog.ids import SnapshotId, Uuid
    from metalog.records.batch import Batch
    from snapshot.exchange.replay import Replayed


def answer_since(replayed: Replayed, config: AuthorizerConfig, question: Question) -> Since | None:
    """When the answer began; None where the log is too damaged to say, or is none."""
    if replayed.source.store is not None:
        return None
    for base in _bases(replayed):
        start = replayed.bounds.start if base is None else base.end_offset
        try:
            held = list(_snapshot_acls(replayed, base))
            return since(start, held, acl_changes(replayed, start), config, question)
        except CorruptLog:
            continue
    return None


def time_of(replayed: Replayed, offset: int) -> int | None:
    """When the record at ``offset`` was written, in epoch milliseconds."""
    for batch in _batches(replayed, offset):
        return batch.max_timestamp
    return None


def _bases(replayed: Replayed) -> list[SnapshotId | None]:
    """From where the ACLs can be followed, the longest history first."""
    bounds = replayed.bounds
    reaching = [
        each for each in replayed.snapshots if bounds.start <= each.end_offset <= replayed.offset
    ]
    return [None, *reaching] if bounds.start == 0 else [*reaching]


def _snapshot_acls(replayed: Replayed, base: SnapshotId | None) -> Iterator[tuple[Uuid, Acl]]:
    if base is None:
        return
    for batch in read_snapshot(replayed.source.log, base):
        for message in batch.messages():
            if isinstance(message, AccessControlEntryRecord):
                yield message.id, acl_of(message)


def acl_changes(replayed: Replayed, start: int) -> Iterator[AclChange]:
    """What happened to the ACLs from offset ``start`` up to where the replay ended."""
    pending: list[AclChange] | None = None
    for batch in _batches(replayed, start):
        for offset, message in enumerate(batch.messages(), batch.base_offset):
            if isinstance(message, AccessControlEntryRecord):
                change = AclChange(offset, message.id, acl_of(message))
            elif isinstance(message, RemoveAccessControlEntryRecord):
                change = AclChange(offset, message.id, None)
            else:
                if isinstance(message, EndTransactionRecord):
                    yield from pending or ()
                if isinstance(message, BeginTransactionRecord):
                    pending = []
                elif isinstance(message, EndTransactionRecord | AbortTransactionRecord):
                    pending = None
                continue
            if pending is None:
                yield change
            else:
                pending.append(change)


def _batches(replayed: Replayed, start: int) -> Iterator[Batch]:
    for event in replayed.source.log.read(start):
        if isinstance(event, Appended):
            if event.batch.base_offset >= replayed.offset:
                return
            yield event.batch
