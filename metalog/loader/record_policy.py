"""Decides whether a loader stops at a faulty record, or counts it and continues.

A strict policy stops at missing records, and at the faulty records that ``metalog.image.policy``
names. A tolerant policy, for tools that show a log's content, keeps a ``LoadDoubt`` instead. This
module must not know what is committed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from metalog.errors import CorruptLog, UnreadableRecord
from metalog.image.delta import MetadataDelta
from metalog.image.policy import concerns_authorization, doubt_about, name_of, readable_of
from metalog.ports import CutShort, Gap
from metalog.records.batch import Batch
from metalog.records.frame import Undecodable
from metalog.records.unread import UNREAD_RECORD
from metalog.text.plurals import noun_range, plural

_LOST: Final = "offsets that are missing from the log"
_CUT_OFF: Final = "records at the log's end"


class Skipped(NamedTuple):
    """``records`` counts skipped records. ``offset`` and ``reason`` are those of the first one."""

    records: int
    offset: int
    reason: str


class LoadDoubt(NamedTuple):
    """A reason why an image can differ from the image in Kafka's authorizer.

    ``records`` counts the records with this reason, or is 1 if their number is unknown. ``fault``
    is the error of the first. No answer from an image with a doubt is certain.
    """

    records: int
    fault: CorruptLog

    @property
    def offset(self) -> int | None:
        return self.fault.offset

    @property
    def reason(self) -> str:
        return self.fault.problem


class RecordPolicy:
    def __init__(self, *, tolerant: bool) -> None:
        self._tolerant = tolerant
        self._skipped: dict[str, Skipped] = {}
        self._doubts: dict[str, LoadDoubt] = {}
        self._counted: set[int] = set()

    @property
    def skipped(self) -> Mapping[str, Skipped]:
        return dict(self._skipped)

    @property
    def doubts(self) -> Mapping[str, LoadDoubt]:
        return dict(self._doubts)

    def doubt(self, kind: str, fault: CorruptLog, records: int = 1) -> None:
        """Raise ``fault``.

        A tolerant policy instead keeps the first fault of each ``kind``, and counts the records.
        """
        if not self._tolerant:
            raise fault
        first = self._doubts.get(kind, LoadDoubt(0, fault))
        self._doubts[kind] = first._replace(records=first.records + records)

    def replay(
        self,
        delta: MetadataDelta,
        records: Iterable[tuple[int, Any]],
        span: range,
        batches: Sequence[Batch],
    ) -> None:
        """Apply (offset, message) pairs of ``batches`` to ``delta``; all offsets are in ``span``.

        A readable record of an unknown version is applied, as in Kafka, unless the policy stops at
        the record. A tolerant policy also applies a readable record that Kafka refuses. After an
        error, the caller must drop ``delta``, which is incomplete.
        """
        doubtful = delta.doubtful
        delta.replay_all(records, partial(self._take_faulty, delta, batches))
        if delta.doubtful > doubtful:
            self._note_doubtful(span, batches)

    def _take_faulty(
        self,
        delta: MetadataDelta,
        batches: Sequence[Batch],
        offset: int,
        message: Any,
        fault: CorruptLog,
    ) -> None:
        """Apply the readable record in ``message`` (``readable_of``), or skip ``message``.

        A nested function that calls itself would be a reference cycle, and keep each batch in
        memory until the garbage collector runs.
        """
        batch = next(b for b in batches if b.base_offset <= offset < b.next_offset)
        readable = readable_of(message)
        if readable is None:
            self._skip(batch, offset, message, fault)
            return
        if concerns_authorization(message):
            self._doubt_record(batch, offset, message, fault)
        delta.replay_all([(offset, readable)], partial(self._take_faulty, delta, batches))

    def readable(self, batch: Batch, controls: Iterable[Any], first: int) -> Iterator[Any]:
        """The readable control records in ``controls``, which begin at offset ``first``.

        An unreadable record is skipped, or stops a strict loader.
        """
        for offset, message in enumerate(controls, first):
            if not isinstance(message, Undecodable):
                yield message
                continue
            self._skip(batch, offset, message, UnreadableRecord(message.reason))

    def to_buffer(self, batch: Batch, offset: int, message: Any) -> list[tuple[int, Any]]:
        """The record to buffer until its transaction ends; empty if the record can be skipped.

        Kafka stops at an unreadable record even if the transaction aborts. So such a record is
        counted at once, and a readable record that Kafka refuses is a doubt at once.
        """
        if message is UNREAD_RECORD:
            return []
        if not isinstance(message, Undecodable):
            return [(offset, message)]
        readable = readable_of(message)
        if readable is not None:
            if message.api_key is None:
                self._doubt_record(batch, offset, message, UnreadableRecord(message.reason))
            elif concerns_authorization(message):
                return [(offset, message)]
            return [(offset, readable)]
        _count(self._skipped, name_of(message), offset, message.reason)
        if not concerns_authorization(message):
            return []
        self._counted.add(offset)
        return [(offset, message)]

    def _skip(self, batch: Batch, offset: int, message: Any, fault: CorruptLog) -> None:
        if concerns_authorization(message):
            self._doubt_record(batch, offset, message, fault)
        if offset not in self._counted:
            _count(self._skipped, name_of(message), offset, fault.problem)

    def _doubt_record(self, batch: Batch, offset: int, message: Any, fault: CorruptLog) -> None:
        self.doubt(
            name_of(message), fault.located(file=batch.file, offset=offset, byte=batch.position)
        )

    def accept_gap(self, gap: Gap) -> None:
        if not gap.lost:
            return
        lost = gap.end - gap.start
        missing = CorruptLog(
            f"{noun_range('record', gap.start, gap.end)} {plural(lost, 'is', 'are')} missing",
            offset=gap.start,
            advice=f"begin with a snapshot that ends at offset {gap.end} or later",
        )
        self.doubt(_LOST, missing, lost)
        _count(self._skipped, _LOST, gap.start, "missing from the log", lost)

    def note_cut(self, event: CutShort) -> None:
        self.doubt(_CUT_OFF, event.fault)

    def _note_doubtful(self, span: range, batches: Sequence[Batch]) -> None:
        for batch in batches:
            for record in () if batch.is_control else batch.records():
                doubt = doubt_about(record.value or b"") if record.offset in span else None
                if doubt is None:
                    continue
                fault = UnreadableRecord(
                    doubt.problem,
                    file=batch.file,
                    offset=record.offset,
                    byte=batch.position,
                    advice="it concerns authorization, so replay stops before it",
                )
                self.doubt(f"doubtful {doubt.record_type}", fault)


def _count(counts: dict[str, Skipped], kind: str, offset: int, reason: str, by: int = 1) -> None:
    first = counts.get(kind, Skipped(0, offset, reason))
    counts[kind] = first._replace(records=first.records + by)
