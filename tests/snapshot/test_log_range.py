"""A range of a log is all of it, or none: a part would pass for the whole."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tiny_log import ace, batch

from metalog.errors import InvalidSource
from metalog.ids import SnapshotId
from metalog.log.memory import MemoryLog
from metalog.ports import Appended, Gap, HighWatermark, LogEvent, SnapshotNeeded, Truncated
from snapshot.exchange.moment import AtTime, resolve_moment
from snapshot.log_range import read_range

FIRST, LAST = Appended(batch(0, ace(1))), Appended(batch(2, ace(2)))
GAP = Gap(1, 2, lost=False)


class Told(MemoryLog):
    """A log of three offsets, of which these events are told."""

    path, problems, damage, missing = "told", (), None, None

    def __init__(self, *events: LogEvent) -> None:
        super().__init__([FIRST.batch, batch(1, ace(1)), LAST.batch])
        self.events = events

    def read(self, start: int) -> Iterator[LogEvent]:
        return iter(self.events)


def test_it_ends_where_it_should_and_has_the_gaps() -> None:
    log = Told(HighWatermark(3), FIRST, GAP, LAST, SnapshotNeeded(SnapshotId(9, 1)))
    assert list(read_range(log, 0, 3)) == [FIRST, GAP, LAST]  # type: ignore[arg-type]
    assert list(read_range(log, 0, 2)) == [FIRST, GAP]  # type: ignore[arg-type]
    assert list(read_range(log, 3, 3)) == []  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "cut", [(), (Truncated(1), LAST), (SnapshotNeeded(SnapshotId(2, 1)), LAST)]
)
def test_a_log_that_is_cut_meanwhile_has_no_range(cut: tuple[LogEvent, ...]) -> None:
    log = Told(FIRST, *cut)
    with pytest.raises(InvalidSource, match="between offsets 1 and 3 is not there any more"):
        list(read_range(log, 0, 3))  # type: ignore[arg-type]
    if cut:
        with pytest.raises(InvalidSource, match="cut while its times were read"):
            resolve_moment(AtTime(1000), log, now_ms=10**13)
