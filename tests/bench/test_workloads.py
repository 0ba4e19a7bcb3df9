"""The workloads are the described ones, and the measuring programs still run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture(autouse=True)
def _bench_on_the_path(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))


def test_the_generator_is_splitmix64():
    from workloads import SplitMix64

    random = SplitMix64(1234567)
    assert [random.next() for _ in range(3)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
    ]


@pytest.mark.parametrize("file", ["hot.requests.tsv", "page.acls.tsv", "fleet.acls.tsv"])
def test_the_files_are_those_described(tmp_path, file):
    import hashlib

    import workloads

    made = b"".join(workloads.pieces(file))
    assert hashlib.sha256(made).hexdigest() == workloads.SUMS[file]


def test_the_log_is_one_that_kafka_would_read():
    import workloads

    from metalog.records.batch import decode_batch

    first, second = (decode_batch(each) for each in islice(workloads.pieces("replay.log"), 2))
    assert (first.base_offset, second.base_offset, first.epoch) == (0, 1_000, 1)
    assert second.base_timestamp == workloads.REPLAY_TIME_MS + 1


def test_our_side_runs():
    arguments = ["-", "0.01", "0.01", "1", "small"]
    done = subprocess.run(
        [sys.executable, str(BENCH / "ours.py"), *arguments],
        env={**os.environ, "PYTHONPATH": str(BENCH)},
        capture_output=True,
        check=True,
    )
    figures = json.loads(done.stdout)
    assert figures["allowed"] == [[88, 88]]
    assert figures["decision"][0][1] > 0


class _Always(dict[str, list[tuple[float, float]]]):
    """Returns the same measurement for every key."""

    def __init__(self, value: float) -> None:
        self._value = value

    def __missing__(self, name: str) -> list[tuple[float, float]]:
        return [(self._value, self._value)]


def _results(kafka: float, ours: float):
    from goals import AHEAD
    from measured import COLD, FIRST_DECISION, Results, Sides

    sides = Sides(_Always(kafka), _Always(ours))
    seconds = {"kafka": kafka, "ours": ours}
    return Results(
        decisions=dict.fromkeys(AHEAD, sides),
        cold=dict.fromkeys(COLD, sides),
        by_type=sides,
        many=5_000,
        many_actions=sides,
        bulk=sides,
        blocks=sides,
        load=sides,
        update=sides,
        heap=sides,
        replayed=1_000_000,
        replay=sides,
        start_ups={f"{side}: {FIRST_DECISION}": (s, s) for side, s in seconds.items()},
        libraries={"kraft-metalog": sides.ours},
    )


def test_each_goal_is_held_against_what_was_measured():
    import goals

    fast = {goal.key: goal for goal in goals.all_of(_results(1_000_000, 1))}
    slow = {goal.key: goal for goal in goals.all_of(_results(1, 1_000_000))}
    assert [key for key, goal in fast.items() if not goal.is_met] == []
    assert [key for key, goal in slow.items() if goal.is_met] == ["many", "blocks"]
    assert goals.reasons().keys() <= fast.keys()


def test_the_page_says_why_a_goal_is_not_met(monkeypatch):
    import goals
    import report

    monkeypatch.setattr(goals, "reasons", lambda: {"list": "It is slow."})
    sayings = {"is_quick": False, "began": 0.0, "busy": 0.0, "root": BENCH.parent}
    assert "It is slow." not in report.page(_results(1_000_000, 1), **sayings)
    page = report.page(_results(1, 1_000_000), **sayings)
    assert "**listing all ACLs: ahead of Kafka.** It is slow." in page
    assert "| W3-plain-uniform | 1 | 1,000,000 | 0.00 |" in page
