"""Gates hear how old the image is, from a thread of its own."""

from __future__ import annotations

import threading

from metalog.loader import Loader
from metalog.ports import Appended, HighWatermark
from metalog.replica.staleness import Staleness
from tests.support.disk.tiny_log import Recorder, ace, batch


class Gate(Recorder):
    def __init__(self) -> None:
        super().__init__()
        self.heard: list[int] = []

    def complete_initial_load(self) -> None:
        pass

    def note_staleness(self, for_ms: int) -> None:
        self.heard.append(for_ms)


def test_gates_hear_of_a_stale_image_and_once_that_it_is_not() -> None:
    gate = Gate()
    loader = Loader([gate])
    for event in (HighWatermark(1), Appended(batch(0, ace(1)))):
        loader.handle(event)
    said: list[float | None] = [None]
    staleness = Staleness(loader, lambda: said[0])
    for stale_s in (None, 0.0, 1.5, 2.0004, None, None, 3.0):
        said[0] = stale_s
        staleness.check()
    assert gate.heard == [0, 1500, 2000, 0, 3000]


def test_the_clock_of_the_gates_does_not_keep_a_process_alive() -> None:
    before = set(threading.enumerate())
    staleness = Staleness(Loader([]), lambda: None)
    staleness.start()
    [thread] = set(threading.enumerate()) - before
    assert (thread.name, thread.daemon) == ("metalog-staleness", True)
    staleness.close()
    assert not thread.is_alive()
