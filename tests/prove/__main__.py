"""Runs each promise for a share of a budget of CPU seconds, and keeps what was tried.

A run goes on where the last one of the same seed and code ended, and may be broken off at any
time: the results are written after each unit. It ends with 1 where a promise is broken.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

from tests.prove import crashes, decisions, fuzz, interleavings, kills, metamorphic, reads, results
from tests.prove.promise import Promise

PROMISES = (
    decisions.PROMISE, metamorphic.PROMISE, interleavings.PROMISE, reads.PROMISE, crashes.PROMISE,
    kills.PROMISE, fuzz.PROMISE,
)  # fmt: skip


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
        tried = _begun(promise, found, given.seed)
        ends = _cpu_s() + share
        while _cpu_s() < ends:
            tried = _with_one_more(promise, tried)
            found[promise.name] = tried
            results.write(found, given.results)
        print(f"{promise.name}: {tried.tries:,} tries, broken: {list(tried.broken) or 'none'}")
    given.page.write_text(results.rendered(given.page.read_text(), found))
    return 1 if any(each.broken for each in found.values()) else 0


def _begun(promise: Promise, found: dict[str, results.Tried], seed: int) -> results.Tried:
    """What the last run of this seed and code came to, or nothing; the longest run of other code
    is kept beside it."""
    code, before = results.code(), found.get(promise.name)
    if before is not None and (before.seed, before.code) == (seed, code):
        return before
    longest = found.get(promise.name + results.LONGEST)
    if before is not None and (longest is None or before.tries >= longest.tries):
        found[promise.name + results.LONGEST] = before
    return results.Tried(promise.tried, seed, code)


def _with_one_more(promise: Promise, before: results.Tried) -> results.Tried:
    began, seed = _cpu_s(), (before.seed << 32) + before.units
    tries, broken = 0, before.broken
    try:
        tries = promise.unit(seed)
    except Exception as failure:
        print(f"{promise.name}: broken with seed {seed}: {failure!r}", file=sys.stderr)
        broken = (*broken, seed)[: results.MOST_BROKEN]
    return before._replace(
        units=before.units + 1,
        tries=before.tries + tries,
        cpu_s=round(before.cpu_s + _cpu_s() - began, 1),
        last=f"{datetime.now(UTC):%Y-%m-%d}",
        broken=broken,
    )


def _cpu_s() -> float:
    """Of this process and of those that it waited for."""
    children = getrusage(RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    sys.exit(main())
