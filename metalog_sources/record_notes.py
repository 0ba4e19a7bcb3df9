"""Notes that a caller takes about the records of a log during a replay.

This module must not know what the notes are used for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from metalog.image.policy import name_of, readable_of
from metalog.records.batch import Batch
from metalog.records.fast_decode.acl_fast_decode import (
    AclRun,
    Part,
    messages_of,
    numbered,
    record_count,
)
from metalog.records.fast_decode.partition_fast_decode import PartitionChangeRun
from metalog.records.messages import AccessControlEntryRecord, PartitionChangeRecord

NotedRecord = tuple[int, int, Any]
"""A record's offset, the latest time of all batches up to the record's batch, and the message."""

_TYPES_OF_RUNS: Final[Mapping[type, str]] = {
    AclRun: AccessControlEntryRecord.TYPE_NAME,
    PartitionChangeRun: PartitionChangeRecord.TYPE_NAME,
}


class RecordNotes(Protocol):
    def clear(self) -> None:
        """Drop all notes, because the replay begins again."""
        ...

    def note(self, batch: Batch, offset: int, parts: Sequence[Part]) -> None:
        """Note ``parts``, decoded records of ``batch``. ``offset`` is the first record's."""
        ...


class NotedRecords:
    """Notes the records that add ACLs, and records of ``types``."""

    def __init__(self, types: Iterable[type]) -> None:
        self._types = frozenset({AclRun, *types})
        self._parts: list[tuple[int, int, Part]] = []
        self.time_ms = 0
        """The latest time of the batches given to ``note``."""

    def clear(self) -> None:
        self._parts.clear()
        self.time_ms = 0

    def note(self, batch: Batch, offset: int, parts: Sequence[Part]) -> None:
        self.time_ms = time_ms = max(self.time_ms, batch.max_timestamp)
        while self._parts and self._parts[-1][0] >= offset:  # replayed again after a fault
            self._parts.pop()
        for at, part in numbered(parts, offset):
            readable = readable_of(part) or part
            if type(readable) in self._types:
                self._parts.append((at, time_ms, readable))

    def drop_before(self, offset: int) -> None:
        self._parts = [part for part in self._parts if part[0] >= offset]

    def records(self, start: int, time_ms: int = 0) -> Iterator[NotedRecord]:
        """The noted records from offset ``start`` on. ``time_ms`` is the latest time of all
        batches before the first noted batch."""
        for at, noted_ms, part in self._parts:
            for offset, message in enumerate(messages_of([part]), at):
                if offset >= start:
                    yield offset, max(time_ms, noted_ms), message


class RecordCounts(Counter[str]):
    """Counts the records of each type in a log."""

    def note(self, batch: Batch, offset: int, parts: Sequence[Part]) -> None:
        for part in parts:
            self[_TYPES_OF_RUNS.get(type(part)) or name_of(part)] += record_count(part)
