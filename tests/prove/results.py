"""The results of long runs, as a file, and as a table of docs/ASSURANCE.md. This module must not
know any one promise."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tests.support.kafka.cases import REPOSITORY

RESULTS = REPOSITORY / "docs" / "assurance" / "results.json"
PAGE = REPOSITORY / "docs" / "ASSURANCE.md"
_BEGIN, _END = "<!--long runs-->\n", "<!--end of long runs-->"


class Tried(NamedTuple):
    """``units`` of ``seed`` were run; the next run continues there. ``code`` is a hash of the
    tested code, ``broken`` the first seeds whose unit failed."""

    tried: str
    seed: int
    code: str
    units: int = 0
    tries: int = 0
    cpu_s: float = 0.0
    last: str = ""
    broken: tuple[int, ...] = ()


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


def rendered(page: str, results: Mapping[str, Tried]) -> str:
    """``page`` with the table of ``results`` between its marks."""
    head = "| run | one try | tries | broken | seed | CPU | last run | sum of the code |\n"
    rows = [
        f"| *{name}* | {each.tried} | {each.tries:,} | {len(each.broken)} | {each.seed} "
        f"| {each.cpu_s:,.0f} s | {each.last} | {each.code} |\n"
        for name, each in sorted(results.items())
    ]
    table = head + "|---|---|---|---|---|---|---|---|\n" + "".join(rows)
    between = re.compile(re.escape(_BEGIN) + ".*?" + re.escape(_END), re.DOTALL)
    return between.sub(lambda _: _BEGIN + "\n" + table + "\n" + _END, page)
