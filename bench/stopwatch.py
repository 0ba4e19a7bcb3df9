"""Times operations in rounds, by elapsed time and by the CPU time of the whole process.

The rounds are those of ``bench/peer``'s Stopwatch; the warm-up and each round last a number of CPU
seconds. This module must not know what it times.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import cycle, islice
from typing import Any

_BETWEEN_LOOKS_S = 0.005


class Stopwatch:
    """``figures``: each name's pairs of elapsed and CPU nanoseconds per item, one pair per
    round."""

    def __init__(self, warmup_s: float, round_s: float, rounds: int) -> None:
        self._warmup_s = warmup_s
        self._round_s = round_s
        self._rounds = rounds
        self.figures: dict[str, list[tuple[float, float]]] = {}

    def time_repeated(
        self, name: str, operation: Callable[..., object], arguments: Iterable[tuple[Any, ...]]
    ) -> None:
        """Time ``operation`` of two arguments, repeated over ``arguments``."""
        endless = cycle(arguments)
        batch, start = 1, time.process_time()
        while time.process_time() - start < self._warmup_s:
            before = time.perf_counter()
            for one, other in islice(endless, batch):
                operation(one, other)
            if time.perf_counter() - before < _BETWEEN_LOOKS_S:
                batch *= 2
        for _ in range(self._rounds):
            count = 0
            with self._kept(name) as items:
                end = time.process_time() + self._round_s
                while time.process_time() < end:
                    for one, other in islice(endless, batch):
                        operation(one, other)
                    count += batch
                items.append(count)

    def time_whole(self, name: str, items: int, operation: Callable[[], object]) -> None:
        """Time an operation that handles ``items`` at once; each run is a round, also the
        first."""
        for _ in range(self._rounds):
            self.time_once(name, items, operation)

    def time_once(self, name: str, items: int, operation: Callable[[], object]) -> None:
        with self._kept(name) as counted:
            made = operation()
            counted.append(items)
        del made

    def note(self, name: str, value: float) -> None:
        """Record a figure that is not a time."""
        self.figures.setdefault(name, []).append((value, value))

    @contextmanager
    def _kept(self, name: str) -> Iterator[list[int]]:
        items: list[int] = []
        cpu, wall = time.process_time_ns(), time.perf_counter_ns()
        yield items
        wall, cpu = time.perf_counter_ns() - wall, time.process_time_ns() - cpu
        self.figures.setdefault(name, []).append((wall / items[0], cpu / items[0]))
