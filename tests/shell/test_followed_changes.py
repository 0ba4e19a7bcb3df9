"""``history --follow`` yields the changes that ``history`` lists later."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

import pytest

from authorizer.analysis.changes.changes import Change
from metalog.errors import CorruptLog
from metalog.image.metadata import EMPTY
from metalog.log.opening import OpenedLog
from metalog.ports import HighWatermark, LogEvent
from metalog_sources.moment import AtOffset
from metalog_sources.replay import replay_source
from metalog_sources.source import Source, open_source
from shell.tasks.follow.changes import follow
from shell.tasks.history import history_of
from tests.support.kafka.cases import kafka_case, kafka_cases

TRANSACTIONS = "commit-across-batches", "abort-then-begin-commit-later", "create-and-remove-inside"
WANTED = (
    "demo",
    "basic-4.3",
    "trimmed-4.3",
    *(f"transactions-crafted/{each}" for each in TRANSACTIONS),
)
CASES = [case.name for case in kafka_cases() if case.name in WANTED]


def source_of(name: str) -> Source:
    return open_source(str(kafka_case(name).log_dir), environ={})


class Arriving:
    """A log whose records are committed ``step`` at a time, and which fails once on the way."""

    def __init__(self, log: OpenedLog, first: int, step: int) -> None:
        self._log = log
        self._end = log.bounds().end
        self.bounds, self.splits = log.bounds, log.splits
        self.snapshots, self.open_snapshot = log.snapshots, log.open_snapshot
        self._mark, self._step = first, step
        self._has_failed = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    def read(self, start: int) -> Iterator[LogEvent]:
        yield HighWatermark(self._mark)
        for event in self._log.read(start):
            if not isinstance(event, HighWatermark):
                yield event

    def poll(self, timeout_s: float) -> Sequence[LogEvent]:
        self._mark = min(self._mark + self._step, self._end)
        if not self._has_failed and self._mark > self._end // 2:
            self._has_failed = True
            raise CorruptLog("cannot be read now")
        return (HighWatermark(self._mark),)


@pytest.mark.parametrize("name", CASES)
def test_followed_changes_are_those_that_a_later_run_lists(name: str) -> None:
    """Each has its own offset and time, whatever arrives together."""
    source = source_of(name)
    whole = history_of(replay_source(source, tolerant=True))
    assert whole is not None
    start, end = whole.start, source.log.bounds().end
    for seen, step in ((start, 1), (start + (end - start) // 3, 7), ((start + end) // 2, end)):
        replayed = replay_source(source, at=AtOffset(seen), tolerant=True)
        wanted = [change for change in whole.changes if change.at > seen]
        assert wanted
        live = source._replace(opened=Arriving(source.log, min(seen + 2, end), step))
        found: list[Change] = []
        with closing(follow(replayed._replace(source=live), lambda fault: None)) as groups:
            while len(found) < len(wanted):
                found += next(groups)
        assert found == wanted


def test_the_difference_of_a_snapshot_is_followed_where_it_replaces_records() -> None:
    """So the followed changes lead to the ACLs of the log."""
    source = source_of("trimmed-4.3")
    state = replay_source(source, tolerant=True)
    with closing(follow(state._replace(image=EMPTY), lambda fault: None)) as groups:
        found = next(groups)
    assert {change.at for change in found} == {state.image.provenance.offset}
    added = {each.id: each.acl for each in found if not hasattr(each, "user")}
    assert added == dict(state.image.acls.by_id.items())
