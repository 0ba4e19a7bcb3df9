"""A writer that is killed at a system call, and its successor that is killed while it recovers:
acknowledged changes are there, and no change is there in part. ``make prove`` tries every call."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.disk.kill_world import Kill, killed
from tests.support.disk.written_log import formatted

KINDS = {"write", "fsync", "openat", "rename", "unlink", "ftruncate"}


def last_of_each(steps: list[str]) -> list[int]:
    """The place of the last call of each kind."""
    return list({name: at for at, name in enumerate(steps)}.values())


@pytest.mark.once
def test_what_was_acknowledged_survives(tmp_path: Path) -> None:
    fresh = formatted(tmp_path / "fresh")
    first, second = (run.steps for run in killed(fresh, tmp_path / "whole", [Kill(None)]))
    assert {*first, *second} >= KINDS
    for at, after in zip(last_of_each(first), last_of_each(second), strict=False):
        killed(fresh, tmp_path / str(at), [Kill(at, tear=True), Kill(after, tear=True)])
