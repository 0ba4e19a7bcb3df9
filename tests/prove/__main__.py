"""Runs each promise for a share of a budget of CPU seconds, and records what was tried. A run
continues the last one of the same seed and code, and may be interrupted at any time: the results
are written after each unit. It exits with 1 if a promise is broken."""

from __future__ import annotations

import argparse
import hashlib
import logging
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

from tests.prove import crashes, decisions, interleavings, metamorphic, results
from tests.prove.promise import Promise
from tests.support.kafka.cases import REPOSITORY

PROMISES = (decisions.PROMISE, metamorphic.PROMISE, interleavings.PROMISE, crashes.PROMISE)
MOST_BROKEN = 5
CODE = ("authorizer", "metalog", "snapshot", "tests/prove", "tests/support")


def main(arguments: Sequence[str] | None = None) -> int:
    known = {each.name: each for each in PROMISES}
    parser = argparse.ArgumentParser(prog="make prove", description=__doc__)
    parser.add_argument("--budget", type=float, default=120, help="seconds of CPU, for all runs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=known, action="append", help="a run; may be repeated")
    parser.add_argument("--results", type=Path, default=results.RESULTS)
    parser.add_argument("--page", type=Path, default=results.PAGE)
    given = parser.parse_args(arguments)
    chosen = [known[name] for name in given.only or known]
    found = results.read(given.results)
    for promise in chosen:
        share = given.budget / len(chosen)
        tried = _begun(promise, found.get(promise.name), given.seed)
        ends = _cpu_s() + share
        while _cpu_s() < ends:
            tried = _with_one_more(promise, tried)
            found[promise.name] = tried
            results.write(found, given.results)
        print(f"{promise.name}: {tried.tries:,} tries, broken: {list(tried.broken) or 'none'}")
    given.page.write_text(results.rendered(given.page.read_text(), found))
    return 1 if any(each.broken for each in found.values()) else 0


def _begun(promise: Promise, before: results.Tried | None, seed: int) -> results.Tried:
    code = _code()
    if before is not None and (before.seed, before.code) == (seed, code):
        return before
    return results.Tried(promise.tried, seed, code)


def _with_one_more(promise: Promise, before: results.Tried) -> results.Tried:
    began, seed = _cpu_s(), (before.seed << 32) + before.units
    tries, broken = 0, before.broken
    try:
        tries = promise.unit(seed)
    except Exception as failure:
        print(f"{promise.name}: broken with seed {seed}: {failure!r}", file=sys.stderr)
        broken = (*broken, seed)[:MOST_BROKEN]
    return before._replace(
        units=before.units + 1,
        tries=before.tries + tries,
        cpu_s=round(before.cpu_s + _cpu_s() - began, 1),
        last=f"{datetime.now(UTC):%Y-%m-%d}",
        broken=broken,
    )


def _cpu_s() -> float:
    """Of this process and its ended children."""
    children = getrusage(RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _code() -> str:
    """A hash of the tested code, stable under rebases; with a plus for uncommitted code."""
    changed = _git("status", "--short", "--", *CODE)
    trees = _git("rev-parse", *(f"HEAD:{folder}" for folder in CODE))
    return hashlib.sha256(trees.encode()).hexdigest()[:12] + ("+" if changed else "")


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    return done.stdout.strip()


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    sys.exit(main())
