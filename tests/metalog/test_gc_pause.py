"""The garbage collector pauses while a log is loaded, and never walks the loaded objects."""

import gc
from contextlib import contextmanager

import pytest

from metalog.gc_pause import gc_paused


@pytest.fixture(autouse=True)
def thawed():
    """Restores the collector's state for later tests."""
    yield
    gc.enable()
    gc.unfreeze()


@contextmanager
def collections_seen():
    seen = []

    def note(phase, info):
        seen.append((phase, info["generation"]))

    gc.callbacks.append(note)
    try:
        yield seen
    finally:
        gc.callbacks.remove(note)


def many_tracked_objects():
    return [[number] for number in range(50_000)]


def test_nothing_is_collected_within_and_nothing_made_is_walked_after():
    with collections_seen() as seen:
        many_tracked_objects()
        assert seen, "so many objects make a collector run that does not rest"
        seen.clear()
        with gc_paused():
            kept = many_tracked_objects()
        assert not seen
    tracked = {id(each) for each in gc.get_objects()}
    assert gc.isenabled()
    assert not any(id(each) in tracked for each in kept)


def test_what_is_no_longer_used_is_freed_all_the_same():
    freed = []

    class Noted(list):
        def __del__(self):
            freed.append(True)

    with gc_paused():
        kept = Noted()
    assert not freed
    del kept
    assert freed


def test_a_collector_that_is_off_stays_off():
    gc.disable()
    gc.unfreeze()
    with gc_paused():
        pass
    assert not gc.isenabled()
    assert gc.get_freeze_count() == 0


def test_a_fault_within_leaves_the_collector_on():
    with pytest.raises(ValueError, match="a fault"), gc_paused():
        raise ValueError("a fault")
    assert gc.isenabled()
