"""Records that a loader cannot take as they are: stop there, or count and go on.

``metalog.image.policy`` says which records concern authorization. A strict screen stops
at those; a tolerant one, for tools that show what a log holds, counts them too.

This module must not know what is committed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from metalog.errors import CorruptLog, UnreadableRecord
from metalog.image.delta import MetadataDelta
from metalog.image.policy import concerns_authorization, doubt_about, name_of
from metalog.ports import Gap
from metalog.records.batch import Batch
from metalog.records.frame import Undecodable

_LOST: Final = "offsets that the log does not have"


class Skipped(NamedTuple):
    """So many records passed over, the first at ``offset`` because of ``reason``."""

    records: int
    offset: int
    reason: str


class Screen:
    def __init__(self, *, tolerant: bool) -> None:
        self._tolerant = tolerant
        self._skipped: dict[str, Skipped] = {}
        self._doubts: dict[str, Skipped] = {}

    @property
    def skipped(self) -> Mapping[str, Skipped]:
        """The records passed over, by type."""
        return dict(self._skipped)

    @property
    def doubts(self) -> Mapping[str, Skipped]:
        """The records applied although they may mislead, by type; none of a strict screen."""
        return dict(self._doubts)

    def replay(
        self,
        delta: MetadataDelta,
        records: Iterable[tuple[int, Any]],
        span: range,
        batches: Sequence[Batch],
    ) -> None:
        """Apply to ``delta`` all ``records`` of ``batches`` that have their offsets in ``span``.

        Where this raises, ``delta`` holds some of them and is of no use any more.
        """

        def refuse(offset: int, message: Any, fault: CorruptLog) -> None:
            if self._passes(offset, message, fault):
                return
            batch = next(b for b in batches if b.base_offset <= offset < b.next_offset)
            raise fault.located(file=batch.file, offset=offset, byte=batch.position)

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
            fault = UnreadableRecord(message.reason)
            if not self._passes(offset, message, fault):
                raise fault.located(file=batch.file, offset=offset, byte=batch.position)

    def _passes(self, offset: int, message: Any, fault: CorruptLog) -> bool:
        if not self._tolerant and concerns_authorization(message):
            return False
        _count(self._skipped, name_of(message), offset, fault.problem)
        return True

    def pass_gap(self, gap: Gap) -> None:
        """Let ``gap`` pass, unless records were lost in it that ought to be there."""
        if not gap.lost:
            return
        if not self._tolerant:
            raise CorruptLog(
                f"the records from offset {gap.start} up to {gap.end} are not there",
                offset=gap.start,
                advice="begin with a snapshot that ends after them",
            )
        _count(self._skipped, _LOST, gap.start, "not there", gap.end - gap.start)

    def _judge_doubts(self, span: range, batches: Sequence[Batch]) -> None:
        for batch in batches:
            for record in () if batch.is_control else batch.records():
                doubt = doubt_about(record.value or b"") if record.offset in span else None
                if doubt is None:
                    continue
                if not self._tolerant:
                    raise UnreadableRecord(
                        doubt.problem,
                        file=batch.file,
                        offset=record.offset,
                        byte=batch.position,
                        advice="it concerns authorization, so replay stops before it",
                    )
                _count(self._doubts, doubt.record_type, record.offset, doubt.problem)


def _count(counts: dict[str, Skipped], kind: str, offset: int, reason: str, by: int = 1) -> None:
    first = counts.get(kind, Skipped(0, offset, reason))
    counts[kind] = first._replace(records=first.records + by)
