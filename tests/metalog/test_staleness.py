"""The thread that tells gates how old the image is."""

from __future__ import annotations

import threading

from metalog.loader import Loader
from metalog.replica.staleness import Staleness


def test_the_clock_of_the_gates_does_not_keep_a_process_alive() -> None:
    before = set(threading.enumerate())
    staleness = Staleness(Loader([]), lambda: None)
    staleness.start()
    [thread] = set(threading.enumerate()) - before
    assert (thread.name, thread.daemon) == ("metalog-staleness", True)
    staleness.close()
    assert not thread.is_alive()
