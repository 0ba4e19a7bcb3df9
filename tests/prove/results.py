"""What long runs have tried so far, as a file, and as a table of docs/ASSURANCE.md.

This module must not know any one promise.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tests.support.kafka.cases import REPOSITORY

RESULTS = REPOSITORY / "docs" / "assurance" / "results.json"
PAGE = REPOSITORY / "docs" / "ASSURANCE.md"
MOST_BROKEN = 5
CODE = ("authorizer", "metalog", "snapshot", "tests/prove", "tests/support")
LONGEST = ", longest run"
"""Behind a run's name: the one with the most tries, of an earlier code."""
_BEGIN, _END = "<!--long runs-->\n", "<!--end of long runs-->"


class Tried(NamedTuple):
    """``units`` of ``seed`` were run; the next begins there. ``code`` is a sum over what was
    tried, ``broken`` the first seeds whose unit failed, and ``figures`` what was measured."""

    tried: str
    seed: int
    code: str
    units: int = 0
    tries: int = 0
    cpu_s: float = 0.0
    last: str = ""
    broken: tuple[int, ...] = ()
    figures: str = ""


def read(file: Path = RESULTS) -> dict[str, Tried]:
    if not file.exists():
        return {}
    kept = json.loads(file.read_text())
    return {name: Tried(**{**each, "broken": tuple(each["broken"])}) for name, each in kept.items()}


def write(results: Mapping[str, Tried], file: Path = RESULTS) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    kept = {name: each._asdict() for name, each in sorted(results.items())}
    unfinished = file.with_suffix(".part")
    unfinished.write_text(json.dumps(kept, indent=1) + "\n")
    unfinished.replace(file)


def code() -> str:
    """A sum over what is tried, which no rebase changes; with a plus where it is not committed."""
    changed = _git("status", "--short", "--", *CODE)
    trees = _git("rev-parse", *(f"HEAD:{folder}" for folder in CODE))
    return hashlib.sha256(trees.encode()).hexdigest()[:12] + ("+" if changed else "")


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    return done.stdout.strip()


def rendered(page: str, results: Mapping[str, Tried]) -> str:
    """``page`` with the table of ``results`` between its marks."""
    head = (
        "| run | one try | tries | broken | seed | CPU | last run | sum of the code | figures |\n"
    )
    rows = [
        f"| *{name}* | {each.tried} | {each.tries:,} | {len(each.broken)} | {each.seed} "
        f"| {each.cpu_s:,.0f} s | {each.last} | {each.code} | {each.figures} |\n"
        for name, each in sorted(results.items())
        if not _is_surpassed(name, results)
    ]
    table = head + "|---|---|---|---|---|---|---|---|---|\n" + "".join(rows)
    between = re.compile(re.escape(_BEGIN) + ".*?" + re.escape(_END), re.DOTALL)
    return between.sub(lambda _: _BEGIN + "\n" + table + "\n" + _END, page)


def _is_surpassed(name: str, results: Mapping[str, Tried]) -> bool:
    newest = results.get(name.removesuffix(LONGEST))
    return name.endswith(LONGEST) and newest is not None and newest.tries >= results[name].tries
