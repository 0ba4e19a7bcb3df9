"""Runs mutmut with one session of pytest for all changes.

mutmut begins a session of pytest for each change, which costs more than the tests do. Here a server
collects the tests once, and each change runs its tests in a fork of the server: the cheapest first,
until they have taken ``SECONDS`` (as they took without a change), and one at least. The server
itself runs no test, so no cache is warm from the code without the change. On 32 changes of the
permissions, 22 of them unnoticed, mutmut's own runner came to the same result for each. This module
must not know the groups, and imports nothing of ``tests``: mutmut copies those.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterable
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from _pytest.config import _prepareconfig
from mutmut.__main__ import cli
from mutmut.runners.harness import PytestRunner

SECONDS = 3.0
STATS = Path("mutmut-stats.json")
"""Written by mutmut into the folder of the tests: how long each took."""


def collect(runner: Any) -> None:
    """Collects the tests of ``runner``, which stays in their folder."""
    os.chdir("mutants")
    options = runner._pytest_args_regular_run([])
    base = Path("tests-of-one-change").absolute()
    config = _prepareconfig(
        [
            "--rootdir=.",
            "--capture=no",
            f"--basetemp={base}",
            *options,
            *runner._pytest_add_cli_args,
        ]
    )
    runner.session = session = pytest.Session.from_config(config)
    config._do_configure()
    config.hook.pytest_sessionstart(session=session)
    config.hook.pytest_collection(session=session)


def run(runner: Any, *, mutant_name: str | None, tests: Iterable[str]) -> int:
    """Runs ``tests``, or all; returns 1 after the first that fails. Once in a process."""
    for each in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(each, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if not hasattr(runner, "session"):
        collect(runner)
    session, items = runner.session, _affordable(runner.session.items, set(tests))
    for item, following in zip(items, [*items[1:], None], strict=True):
        if session.testsfailed:
            break
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
    return int(session.testsfailed > 0)


def _affordable(collected: Iterable[pytest.Item], wanted: set[str]) -> list[pytest.Item]:
    took = json.loads(STATS.read_text())["duration_by_test"]
    items = sorted(
        (each for each in collected if not wanted or each.nodeid in wanted),
        key=lambda each: took.get(each.nodeid, 0.0),
    )
    spent = accumulate((took.get(each.nodeid, 0.0) for each in items), initial=0.0)
    return [each for each, before in zip(items, spent, strict=False) if before < SECONDS]


PytestRunner.warm_up = collect
PytestRunner.run_tests = run

if __name__ == "__main__":
    sys.exit(cli())
