"""The README's speeds are those of bench/results.md, which `make bench` writes."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.pages.figures import TASK, WRITE, stated

REPOSITORY = Path(__file__).parents[2]
RESULTS = REPOSITORY / "bench" / "results.md"
ROW = re.compile(r"^\| (W\d\S*)[^|]*\| [\d,]+ \| [\d,]+ \| \**([\d,.]+)\** \|", re.MULTILINE)
COLD = re.compile(r"^\| (?:first|cold) (W\d\S*) \| [\d,]+ \| [\d,]+ \| ([\d,.]+) \|", re.MULTILINE)


@pytest.mark.check
def test_the_readmes_ratios_are_measured(figure: Callable[[str, int], None]) -> None:
    page = RESULTS.read_text(encoding="utf-8")
    ratios, cold = (
        [(name, float(ratio.replace(",", ""))) for name, ratio in rows.findall(page)]
        for rows in (ROW, COLD)
    )
    measured = {
        "workloads": len(ratios),
        "workloads-ahead": sum(ratio > 1 for _, ratio in ratios),
        "workloads-cold": len(cold),
        "workloads-cold-ahead": sum(ratio > 1 for _, ratio in cold),
        "ratio": int(dict(ratios)["W3-plain-uniform"]),
    }
    for name, number in measured.items():
        figure(name, number)
    said = stated((REPOSITORY / "README.md").read_text(encoding="utf-8"))
    if os.environ.get(TASK) != WRITE:
        assert {name: said[name] for name in measured} == measured, "run `make figures`"
