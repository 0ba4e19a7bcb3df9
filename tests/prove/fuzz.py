"""Fuzzing guided by coverage: each unit is one target for some seconds, with its kept corpus.

libFuzzer, by atheris, makes an input of others that were worth keeping, and keeps it if it
reaches something new. ``make prove`` installs atheris into ``build/atheris``. The corpus is
``build/fuzz``; ``--keep`` writes the part of it that reaches all of it to ``CORPUS``, which
``make test`` tries, too.
"""

from __future__ import annotations

import gzip
import logging
import os
import re
import subprocess
import sys
import time
from base64 import b64decode, b64encode
from collections.abc import Iterator
from pathlib import Path
from random import Random

from tests.prove.promise import Promise
from tests.support.kafka.cases import BUILD, FIXTURES, REPOSITORY

ATHERIS, FOUND, CORPUS = BUILD / "atheris", BUILD / "fuzz", FIXTURES / "fuzz" / "corpus.gz"
NAMES = FIXTURES / "fuzz" / "targets.txt"
OURS = ["authorizer", "metalog", "metalog_node", "metalog_sources", "metalog_spark", "shell"]
AT_ONCE, SECONDS, SLOWEST_S, MOST_BYTES = 8, 5, 1.0, 2_048
MOST_KEPT, SHORT = 8, 200
"""Of a target, in the repository: those that reach most."""


def kept() -> Iterator[tuple[str, bytes]]:
    """Each target's name, and an input of it."""
    for line in gzip.decompress(CORPUS.read_bytes()).decode().splitlines():
        name, _, data = line.partition("\t")
        yield name, b64decode(data)


def unit(seed: int) -> int:
    """Some of the targets, so that each has its turn."""
    names = NAMES.read_text().splitlines()
    chosen = [names[(seed * AT_ONCE + number) % len(names)] for number in range(AT_ONCE)]
    drawn = str(Random(seed).randrange(1, 1 << 31))
    done = subprocess.run(
        [sys.executable, "-m", "tests.prove.fuzz", drawn, *chosen],
        cwd=REPOSITORY, capture_output=True, text=True, errors="replace", check=False,
        env={**os.environ, "PYTHONPATH": str(ATHERIS)},
    )  # fmt: skip
    if done.returncode:
        raise AssertionError(f"{done.stdout}{done.stderr[-3000:]}")
    return sum(map(int, re.findall(r"Done (\d+) runs", done.stderr)))


def folder_of(name: str) -> Path:
    return FOUND / name.replace(" ", "_").replace(",", "")


def fuzz(seed: str, names: list[str]) -> int:
    """Each of the targets in a process of its own, which ``atheris`` ends: the instrumented code
    is imported once. Returns 1 if one of them has a fault."""
    import atheris

    with atheris.instrument_imports(include=OURS, enable_loader_override=False):
        from tests.prove import fuzz_targets
    logging.disable(logging.CRITICAL)
    faults = 0
    for name in names:
        folder = folder_of(name)
        if not folder.exists():
            folder.mkdir(parents=True)
            inputs = [*fuzz_targets.seeds(name), *(data for each, data in kept() if each == name)]
            for number, data in enumerate(inputs):
                (folder / f"kept-{number}").write_bytes(data)

        def one(data: bytes, name: str = name) -> None:
            began = time.thread_time()
            fuzz_targets.tried(name, data)
            took = time.thread_time() - began
            assert took < SLOWEST_S, f"{took:.1f} s for {len(data)} bytes"

        child = os.fork()
        if child == 0:
            atheris.Setup(["fuzz", *LIMITS, f"-seed={seed}", str(folder)], one)
            atheris.Fuzz()
            os._exit(0)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
            print(f"{name}: a fault; the input is in {FOUND}")
            faults += 1
    return min(faults, 1)


LIMITS = (
    f"-max_len={MOST_BYTES}", f"-max_total_time={SECONDS}", "-timeout=60", "-rss_limit_mb=2048",
    f"-artifact_prefix={FOUND}/",
)  # fmt: skip


def keep() -> None:
    """Write ``CORPUS`` from what was found: the longest of the short inputs reach most."""
    from tests.prove import fuzz_targets

    CORPUS.parent.mkdir(parents=True, exist_ok=True)
    NAMES.write_text("".join(f"{name}\n" for name in fuzz_targets.TARGETS))
    lines = []
    for name in fuzz_targets.TARGETS:
        found = {each.read_bytes() for each in folder_of(name).glob("*")}
        short = sorted(
            (data for data in found if len(data) <= SHORT), key=lambda data: (len(data), data)
        )
        lines += [f"{name}\t{b64encode(data).decode()}\n" for data in short[-MOST_KEPT:]]
    CORPUS.write_bytes(gzip.compress("".join(lines).encode(), mtime=0))


def main() -> None:
    if sys.argv[1:] == ["--keep"]:
        keep()
    else:
        seed, *names = sys.argv[1:]
        sys.exit(fuzz(seed, names))


PROMISE = Promise("fuzzing", "an input of one of the readers, guided by coverage", unit)

if __name__ == "__main__":
    main()
