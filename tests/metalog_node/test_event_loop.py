"""A round of the event loop serves a few sockets, and all in turn."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import chain
from selectors import EVENT_READ, EVENT_WRITE

import pytest

from metalog_node.net.event_loop import MOST_SOCKETS, LimitedSelector

SOCKETS = 3 * MOST_SOCKETS + 1
CHANGED = -1


@pytest.fixture
def selector() -> Iterator[LimitedSelector]:
    with LimitedSelector() as made:
        yield made


@pytest.fixture
def sockets(selector: LimitedSelector) -> Iterator[list[socket.socket]]:
    """Each is registered under its index; all have data to read."""
    with ExitStack() as stack:
        made: list[socket.socket] = []
        for place in range(SOCKETS):
            here, there = map(stack.enter_context, socket.socketpair())
            there.send(b"x")
            selector.register(here, EVENT_READ, place)
            made.append(here)
        yield made


def told(selector: LimitedSelector) -> list[int]:
    return [key.data for key, _ in selector.select(0)]


def test_all_have_their_turn_before_any_has_a_second(
    selector: LimitedSelector, sockets: list[socket.socket]
) -> None:
    """Even if the first ones are always ready."""
    for _ in range(2):
        rounds = [told(selector) for _ in range(4)]
        assert [len(each) for each in rounds] == [MOST_SOCKETS] * 3 + [1]
        assert sorted(chain.from_iterable(rounds)) == list(range(SOCKETS))


def test_who_is_not_waited_for_any_more_is_not_told_of(
    selector: LimitedSelector, sockets: list[socket.socket]
) -> None:
    """Its number may be another's by then, whose callback it would remove."""
    seen = set(told(selector))
    gone, changed, *_ = sorted(set(range(SOCKETS)) - seen)
    selector.unregister(sockets[gone])
    selector.modify(sockets[changed], EVENT_WRITE, CHANGED)
    rest = {data for _ in range(2) for data in told(selector)}
    assert rest == set(range(SOCKETS)) - seen - {gone, changed}
    assert CHANGED in {data for _ in range(4) for data in told(selector)}


def test_it_waits_where_nothing_is_ready(selector: LimitedSelector) -> None:
    assert selector.select(0.001) == []
