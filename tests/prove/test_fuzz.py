"""Each input that fuzzing kept, and what each reader may need for it: see ``fuzz``."""

from __future__ import annotations

import tracemalloc
from collections import defaultdict

import pytest

from tests.laws.test_readers_are_bounded import ALWAYS, INFLATED, LINES, READERS, allowed
from tests.prove.fuzz import NAMES, kept
from tests.prove.fuzz_targets import TARGETS, seeds, tried

OWN_A_BYTE = 2_000
"""Bytes of memory for each byte, of what docs/formats/limits.md does not list."""


def test_every_reader_is_a_target() -> None:
    assert NAMES.read_text().splitlines() == list(TARGETS)
    assert {name for name, _ in kept()} <= TARGETS.keys()
    assert READERS.keys() <= TARGETS.keys()


@pytest.mark.once
def test_kept_inputs_raise_nothing_else_and_need_little_memory() -> None:
    stated, inputs = allowed(), defaultdict(list)
    for name in TARGETS:
        inputs[name] += seeds(name)
    for name, data in kept():
        inputs[name].append(data)
    for name, found in inputs.items():
        always = INFLATED if "batch" in name else LINES if "audit" in name else ALWAYS
        tried(name, found[0])
        for data in found:
            tracemalloc.start()
            try:
                tried(name, data)
                peak = tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
            assert peak <= always + stated.get(name, OWN_A_BYTE) * len(data), (name, data)
