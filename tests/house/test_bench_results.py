"""What the README says of speed is what `make bench` wrote into bench/results.md."""

import re
from collections.abc import Callable
from pathlib import Path

RESULTS = Path(__file__).parents[2] / "bench" / "results.md"
ROW = re.compile(r"^\| (W\d\S*)[^|]*\| [\d,]+ \| [\d,]+ \| \**([\d,.]+)\** \|", re.MULTILINE)


def test_the_readmes_ratios_are_measured(figure: Callable[[str, int], None]) -> None:
    ratios = [
        (name, float(ratio.replace(",", "")))
        for name, ratio in ROW.findall(RESULTS.read_text(encoding="utf-8"))
    ]
    figure("workloads", len(ratios))
    figure("workloads-ahead", sum(ratio > 1 for _, ratio in ratios))
    figure("ratio", int(dict(ratios)["W3-plain-uniform"]))
