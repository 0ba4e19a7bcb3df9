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


@pytest.mark.parametrize("file", ["hot.requests.tsv", "one.acls.tsv", "miss.requests.tsv"])
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
