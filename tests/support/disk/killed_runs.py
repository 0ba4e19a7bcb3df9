"""Runs of ``killed_writer``, each killed in the middle, and what must hold after each.

This module must not know where the log is stored.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections import Counter

from metalog import MetadataImage
from tests.support.disk.killed_writer import IN_ONE_REQUEST
from tests.support.kafka.cases import REPOSITORY

WRITER = REPOSITORY / "tests" / "support" / "disk" / "killed_writer.py"
LINES = 30


def run_and_kill(log: str, run: int, chance: random.Random) -> list[str]:
    """The lines that a writer printed before it was killed at a random moment."""
    with subprocess.Popen(
        [sys.executable, WRITER, log, str(run)], stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        said = [writer.stdout.readline() for _ in range(LINES)]
        time.sleep(chance.uniform(0, 0.1))
        writer.kill()
        said += writer.stdout.readlines()
    assert writer.returncode == -9, "the writer ended by itself"
    return [line.removesuffix("\n") for line in said if line.endswith("\n")]


def check(image: MetadataImage, said: list[str]) -> None:
    found = Counter(
        acl.resource_name.rpartition("-")[0]
        for acl in image.acls.by_id.values()
        if "-" in acl.resource_name
    )
    assert set(found.values()) <= {IN_ONE_REQUEST}, "a request is half there"
    told: dict[str, set[str]] = {}
    for line in said:
        word, _, request = line.partition(" ")
        told.setdefault(word, set()).add(request)
    assert found.keys() <= told.get("create", set())
    assert told.get("created", set()) - told.get("delete", set()) <= found.keys(), (
        "acknowledged and lost"
    )
    assert not told.get("deleted", set()) & found.keys(), "deleted and back again"
