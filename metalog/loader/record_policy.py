"""Records that a loader cannot take as they are: stop there, or count and go on.

``metalog.image.policy`` says which records concern authorization. A strict screen stops
at those; a tolerant one, for tools that show what a log holds, keeps a ``LoadDoubt`` of each.

This module must not know what is committed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from metalog.errors import CorruptLog, UnreadableRecord
from metalog.image.delta import MetadataDelta
from metalog.image.policy import concerns_authorization, doubt_about, name_of, readable_of
from metalog.ports import CutShort, Gap
from metalog.records.batch import Batch
from metalog.records.frame import Undecodable
from metalog.records.unread import UNREAD_RECORD

_LOST: Final = "offsets that the log does not have"
_CUT_OFF: Final = "records at the log's end"


class Skipped(NamedTuple):
    """So many records passed over, the first at ``offset`` because of ``reason``."""

    records: int
    offset: int
    reason: str


class LoadDoubt(NamedTuple):
    """Why an image may not be the one that Kafka's authorizer would decide by.

    ``fault`` is the first of so many ``records``, with its place; a strict loader stops there.
    No answer may be taken from an image with a doubt.
    """

    records: int
    fault: CorruptLog

    @property
    def offset(self) -> int | None:
        return self.fault.offset

    @property
    def reason(self) -> str:
        return self.fault.problem


class Screen:
    def __init__(self, *, tolerant: bool) -> None:
        self._tolerant = tolerant
        self._skipped: dict[str, Skipped] = {}
        self._doubts: dict[str, LoadDoubt] = {}
        self._counted: set[int] = set()

    @property
    def skipped(self) -> Mapping[str, Skipped]:
        """The records passed over, by type."""
        return dict(self._skipped)

    @property
    def doubts(self) -> Mapping[str, LoadDoubt]:
        """All that a strict screen would have stopped at, by kind; none of a strict screen."""
        return dict(self._doubts)

    def doubt(self, kind: str, fault: CorruptLog, records: int = 1) -> None:
        """Stop at ``fault``; or, if tolerant, note that no answer is certain from here on.

        Raises ``fault`` itself. ``kind`` groups equal doubts: only the first is kept whole.
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
        """Apply to ``delta`` all ``records`` of ``batches`` that have their offsets in ``span``.

        A tolerant screen applies a record that reads well and that Kafka's reader refuses, too,
        and keeps a doubt of it: tools show what the log holds.
        Where this raises, ``delta`` holds some of them and is of no use any more.
        """

        def refuse(offset: int, message: Any, fault: CorruptLog) -> None:
            batch = next(b for b in batches if b.base_offset <= offset < b.next_offset)
            readable = readable_of(message)
            if readable is None:
                self._pass_over(batch, offset, message, fault)
                return
            self._doubt_record(batch, offset, message, fault)
            delta.replay_all([(offset, readable)], refuse)

        doubtful = delta.doubtful
        delta.replay_all(records, refuse)
        if delta.doubtful > doubtful:
            self._judge_doubts(span, batches)

    def readable(self, batch: Batch, controls: Iterable[Any], first: int) -> Iterator[Any]:
        """The control records of ``batch``, the first at offset ``first``, but for those that
        cannot be read and need not stop the replay."""
        for offset, message in enumerate(controls, first):
            if not isinstance(message, Undecodable):
                yield message
                continue
            self._pass_over(batch, offset, message, UnreadableRecord(message.reason))

    def kept(self, offset: int, message: Any) -> list[tuple[int, Any]]:
        """What to keep of a record until its transaction ends: nothing where it cannot be read
        and need not be. One that cannot be read is counted at once, whatever becomes of the
        transaction, since Kafka reads no further."""
        if message is UNREAD_RECORD:
            return []
        if not isinstance(message, Undecodable) or readable_of(message) is not None:
            return [(offset, message)]
        _count(self._skipped, name_of(message), offset, message.reason)
        if not concerns_authorization(message):
            return []
        self._counted.add(offset)
        return [(offset, message)]

    def _pass_over(self, batch: Batch, offset: int, message: Any, fault: CorruptLog) -> None:
        if concerns_authorization(message):
            self._doubt_record(batch, offset, message, fault)
        if offset not in self._counted:
            _count(self._skipped, name_of(message), offset, fault.problem)

    def _doubt_record(self, batch: Batch, offset: int, message: Any, fault: CorruptLog) -> None:
        place = fault.located(file=batch.file, offset=offset, byte=batch.position)
        self.doubt(name_of(message), place)

    def pass_gap(self, gap: Gap) -> None:
        """Let ``gap`` pass, unless records were lost in it that ought to be there."""
        if not gap.lost:
            return
        missing = CorruptLog(
            f"the records from offset {gap.start} up to {gap.end} are not there",
            offset=gap.start,
            advice="begin with a snapshot that ends after them",
        )
        self.doubt(_LOST, missing, gap.end - gap.start)
        _count(self._skipped, _LOST, gap.start, "not there", gap.end - gap.start)

    def pass_end(self, event: CutShort) -> None:
        """Let the log end before records that it once held."""
        self.doubt(_CUT_OFF, event.fault)

    def _judge_doubts(self, span: range, batches: Sequence[Batch]) -> None:
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
                self.doubt(f"{doubt.record_type} that may mislead", fault)


def _count(counts: dict[str, Skipped], kind: str, offset: int, reason: str, by: int = 1) -> None:
    first = counts.get(kind, Skipped(0, offset, reason))
    counts[kind] = first._replace(records=first.records + by)
