"""The queue before a log: logging never waits; lost lines are counted and reported; all others are
written."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event

import pytest

from metalog_node.ops import log_queue
from metalog_node.ops.log_queue import LogQueue
from tests.support.suite.waiting import eventually


class Stuck(logging.Handler):
    """A disk that blocks until released, and records its lines."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[str] = []
        self.begun, self.goes_on = Event(), Event()

    def emit(self, record: logging.LogRecord) -> None:
        self.begun.set()
        assert self.goes_on.wait(60)
        self.written.append(record.getMessage())


@contextmanager
def stuck(most_lines: int = 10, most_characters: int = 1000) -> Iterator[tuple[LogQueue, Stuck]]:
    """A queue whose thread blocks in the writing of its first line, "0"."""
    sink = Stuck()
    queue = LogQueue(sink, most_lines=most_lines, most_characters=most_characters)
    log(queue, "0")
    assert sink.begun.wait(60)
    try:
        yield queue, sink
    finally:
        sink.goes_on.set()
        queue.close()


def log(queue: LogQueue, text: str, *arguments: object, source: str | None = None) -> None:
    record = logging.LogRecord("audit", logging.INFO, "f", 1, text, arguments, None)
    record.__dict__["source"] = source
    queue.handle(record)


def test_whoever_logs_never_waits_for_the_disk_and_nothing_is_lost_within_the_bound() -> None:
    """The disk continues only after all have logged, so a wait for it would never end."""
    with stuck() as (queue, sink):
        for each in range(1, 11):
            log(queue, "%d", each)
        assert sink.written == []
    assert sink.written == [str(each) for each in range(11)]
    assert queue.lost == 0


@pytest.mark.parametrize(("most_lines", "letters"), [(10, 1), (10_000, 100)])
def test_what_is_lost_is_counted_and_said_once_at_its_place(most_lines: int, letters: int) -> None:
    """By either bound, lines or total length: ten lines fit."""
    with stuck(most_lines=most_lines) as (queue, sink):
        for each in range(17):
            log(queue, f"{each:0{letters}}")
        assert queue.lost == 7
        sink.goes_on.set()
        assert eventually(lambda: len(sink.written) == 12)
        log(queue, "later")
    said = "lines lost here, because they came faster than they could be written: 7"
    assert sink.written == ["0", *(f"{each:0{letters}}" for each in range(10)), said, "later"]
    assert queue.lost == 7


@pytest.mark.parametrize(("most_lines", "letters"), [(100, 5), (100_000, 10)])
def test_who_floods_the_queue_loses_its_own_lines(most_lines: int, letters: int) -> None:
    """For any number of them: a source with few lines loses none."""
    with stuck(most_lines=most_lines) as (queue, sink):
        for source in ("a", "b", "c"):
            for _ in range(1000):
                log(queue, source * letters, source=source)
        quiet = [f"{each:0{letters}}" for each in range(5)]
        for text in quiet:
            log(queue, text, source=text)
        lost = queue.lost
    assert [each for each in sink.written if each in quiet] == quiet
    kept = Counter(each[0] for each in sink.written if each[0] in "abc")
    assert kept == {"a": 50, "b": 25, "c": 13}
    assert lost == 3000 - kept.total()


def test_a_source_may_have_its_share_again_once_it_is_written() -> None:
    with stuck(most_lines=4) as (queue, sink):
        for each in range(3):
            log(queue, f"a{each}", source="a")
        sink.goes_on.set()
        assert eventually(lambda: len(sink.written) == 4)
        log(queue, "a3", source="a")
    said = "lines lost here, because they came faster than they could be written: 1"
    assert sink.written == ["0", "a0", "a1", said, "a3"]


def test_what_is_lost_last_is_said_too() -> None:
    with stuck(most_lines=1) as (queue, sink):
        log(queue, "kept")
        log(queue, "lost")
    assert sink.written == [
        "0",
        "kept",
        "lines lost here, because they came faster than they could be written: 1",
    ]


def test_a_line_keeps_what_it_said_when_it_was_logged() -> None:
    with stuck() as (queue, sink):
        names = ["orders"]
        log(queue, "%s", names)
        names.append("payments")
    assert sink.written[1] == "['orders']"


def test_after_the_end_lines_are_written_at_once() -> None:
    with stuck() as (queue, sink):
        sink.goes_on.set()
        queue.close()
        log(queue, "late")
        assert sink.written == ["0", "late"]


def test_a_disk_that_never_goes_on_does_not_keep_a_node_from_stopping(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(log_queue, "DRAINED_WITHIN_S", 0.05)
    with stuck() as (queue, sink):
        queue.close()
        assert sink.written == []
