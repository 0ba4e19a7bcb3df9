"""A round of the event loop takes no longer with many clients than with one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Semaphore

import pytest

from metalog_node.net.loop_budget import BUDGET_S, MOST_UNITS, LoopBudget, RequestTurns

UNIT_S = BUDGET_S / 2
CLIENTS = 1_000
WITHIN_S = 30


class Worked:
    """Units of ``seconds`` each; ``rounds`` has the time of each round of the loop."""

    def __init__(self, seconds: float) -> None:
        self.now_s = 0.0
        self.done: list[str] = []
        self.rounds: list[tuple[float, int]] = []
        self.budget = LoopBudget(clock=lambda: self.now_s)
        self._seconds = seconds

    def unit(self, name: str) -> str:
        self.now_s += self._seconds
        self.done.append(name)
        return name

    async def count(self) -> None:
        while True:
            began_s, began = self.now_s, len(self.done)
            await asyncio.sleep(0)
            self.rounds.append((self.now_s - began_s, len(self.done) - began))

    def run(self, main: Callable[[], Awaitable[None]]) -> None:
        async def beside() -> None:
            counting = asyncio.create_task(self.count())
            await main()
            counting.cancel()

        asyncio.run(beside())


@pytest.mark.parametrize("seconds", [UNIT_S, 10 * BUDGET_S, 0.0])
def test_a_round_ends_when_its_budget_is_spent(seconds: float) -> None:
    """By few long units, or many short ones. A round may span the end of one budget and the
    beginning of the next."""
    worked = Worked(seconds)

    async def all_at_once() -> None:
        asked = [worked.budget.run(name, worked.unit, str(name)) for name in range(CLIENTS)]
        assert await asyncio.gather(*asked) == [str(name) for name in range(CLIENTS)]

    worked.run(all_at_once)
    assert max(spent for spent, _ in worked.rounds) <= 2 * (BUDGET_S + seconds)
    assert max(units for _, units in worked.rounds) <= 2 * MOST_UNITS


def test_a_client_that_yields_nowhere_else_gives_way_too() -> None:
    worked = Worked(UNIT_S)

    async def one_pipeline() -> None:
        for _ in range(CLIENTS):
            await worked.budget.run("one", worked.unit, "x")

    worked.run(one_pipeline)
    assert max(spent for spent, _ in worked.rounds) <= 2 * (BUDGET_S + UNIT_S)


def test_owners_take_turns() -> None:
    """An owner with a thousand connections delays another by one unit, not by a thousand."""
    worked = Worked(BUDGET_S)

    async def many_and_one() -> None:
        many = [worked.budget.run("many", worked.unit, "many") for _ in range(CLIENTS)]
        await asyncio.gather(*many, worked.budget.run("one", worked.unit, "one"))

    worked.run(many_and_one)
    assert worked.done.index("one") <= 2


def test_who_has_gone_is_not_worked_for() -> None:
    worked = Worked(BUDGET_S)

    async def one_gone() -> None:
        asked = [
            asyncio.create_task(worked.budget.run("a", worked.unit, str(each))) for each in range(3)
        ]
        await asyncio.sleep(0)
        asked[1].cancel()
        await asyncio.gather(*asked, return_exceptions=True)

    worked.run(one_gone)
    assert worked.done == ["0", "2"]


def test_what_a_unit_raises_reaches_who_asked_alone() -> None:
    worked = Worked(BUDGET_S)

    def failing() -> None:
        raise ValueError("this one")

    async def one_fails() -> None:
        outcomes = await asyncio.gather(
            worked.budget.run("a", worked.unit, "first"),
            worked.budget.run("b", failing),
            worked.budget.run("c", worked.unit, "last"),
            return_exceptions=True,
        )
        assert [str(each) for each in outcomes] == ["first", "this one", "last"]

    worked.run(one_fails)


def test_a_cancelled_caller_keeps_its_turn_until_its_request_is_done() -> None:
    """So a client that closes its connections cannot occupy several threads."""
    go_on, began = Event(), Semaphore(0)

    def slow() -> None:
        began.release()
        assert go_on.wait(WITHIN_S)

    async def cancelled_and_next() -> None:
        with ThreadPoolExecutor(2) as threads:
            turns = RequestTurns(threads)
            left = asyncio.create_task(turns.run("owner", slow))
            await asyncio.to_thread(began.acquire)
            left.cancel()
            following = asyncio.create_task(turns.run("owner", slow))
            await asyncio.gather(left, return_exceptions=True)
            assert not await asyncio.to_thread(began.acquire, timeout=0.05)
            go_on.set()
            await following

    asyncio.run(cancelled_and_next())
