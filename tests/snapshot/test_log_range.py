"""A range of a log is complete or refused: a part would pass for the whole."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from metalog.errors import InvalidSource
from metalog.ids import SnapshotId
from metalog.log.memory import MemoryLog
from metalog.ports import Appended, Gap, HighWatermark, LogEvent, SnapshotNeeded, Truncated
from metalog_sources.moment import AtTime, resolve_moment
from metalog_spark.history import splits
from snapshot.log_range import read_range
from tests.support.disk.tiny_log import ace, batch

FIRST, LAST = Appended(batch(0, ace(1))), Appended(batch(2, ace(2)))
GAP = Gap(1, 2, lost=False)


class ScriptedLog(MemoryLog):
    """A log of three offsets with these events."""

    path, problems, damage, missing = "told", (), None, None

    def __init__(self, *events: LogEvent) -> None:
        super().__init__([FIRST.batch, batch(1, ace(1)), LAST.batch])
        self.events = events

    def read(self, start: int) -> Iterator[LogEvent]:
        return iter(self.events)


def test_it_ends_where_it_should_and_has_the_gaps() -> None:
    log = ScriptedLog(HighWatermark(3), FIRST, GAP, LAST, SnapshotNeeded(SnapshotId(9, 1)))
    assert list(read_range(log, 0, 3)) == [FIRST, GAP, LAST]  # type: ignore[arg-type]
    assert list(read_range(log, 0, 2)) == [FIRST, GAP]  # type: ignore[arg-type]
    assert list(read_range(log, 3, 3)) == []  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "cut", [(), (Truncated(1), LAST), (SnapshotNeeded(SnapshotId(2, 1)), LAST)]
)
def test_a_log_that_is_cut_meanwhile_has_no_range(cut: tuple[LogEvent, ...]) -> None:
    log = ScriptedLog(FIRST, *cut)
    with pytest.raises(InvalidSource, match="between offsets 1 and 3 are gone"):
        list(read_range(log, 0, 3))  # type: ignore[arg-type]
    if cut:
        with pytest.raises(InvalidSource, match="cut while its times were read"):
            resolve_moment(AtTime(1000), log, now_ms=10**13)


def test_a_split_of_a_live_log_is_whole_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker opens the log again, when another leader may have begun its log later."""
    told = [
        ScriptedLog(FIRST, GAP, LAST),
        ScriptedLog(FIRST, SnapshotNeeded(SnapshotId(2, 1)), LAST),
    ]
    monkeypatch.setattr(splits, "open_source", lambda *_, **__: SimpleNamespace(log=told.pop(0)))
    split = splits.WholeSplit("quorum://a:1", None, 0, 3)
    assert list(split.read()) == [FIRST.batch, LAST.batch]
    with pytest.raises(InvalidSource, match="between offsets 1 and 3 are gone"):
        list(split.read())
