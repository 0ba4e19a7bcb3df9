"""The figures in README.md: tests count them, and compare the README with them.

A test that takes the fixture ``figure`` calls ``figure("decisions", 7693)``; all counts of one
name are added up. In README.md a number follows its name: ``<!--decisions-->7,693``. With
``METALOG_FIGURES=check`` (as in ``make test``) a run fails if they differ. With
``METALOG_FIGURES=write`` (``make figures``) only those tests run, and the README is rewritten.
This module must not know what is counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

TASK, CHECK, WRITE = "METALOG_FIGURES", "check", "write"
PROPERTY = "figure "
FIXTURE = "figure"
NUMBER = re.compile(r"<!--([a-z-]+)-->([\d,]+)")


def stated(text: str) -> dict[str, int]:
    """The figures that a README states."""
    return {name: int(digits.replace(",", "")) for name, digits in NUMBER.findall(text)}


def rewritten(text: str, figures: Mapping[str, int]) -> str:
    """The README with each of ``figures`` replaced."""

    def number(match: re.Match[str]) -> str:
        name = match[1]
        return f"<!--{name}-->{figures[name]:,}" if name in figures else match[0]

    return NUMBER.sub(number, text)


class Figures:
    """A pytest plugin for one run, which checks the README or with ``write`` rewrites it."""

    def __init__(self, readme: Path, *, write: bool) -> None:
        self._readme = readme
        self._write = write
        self._counted: Counter[str] = Counter()
        self._wrong: list[str] = []

    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        if self._write:
            counting = [item for item in items if FIXTURE in getattr(item, "fixturenames", ())]
            config.hook.pytest_deselected(items=[item for item in items if item not in counting])
            items[:] = counting

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            for name, number in report.user_properties:
                if name.startswith(PROPERTY):
                    self._counted[name.removeprefix(PROPERTY)] += int(str(number))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workerinput") or session.exitstatus != 0:
            return
        text = self._readme.read_text(encoding="utf-8")
        if self._write:
            self._readme.write_text(rewritten(text, self._counted), encoding="utf-8")
            return
        for name, number in stated(text).items():
            if number != self._counted[name]:
                self._wrong.append(f"{name}: {number:,} stated, {self._counted[name]:,} counted")
        if self._wrong:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for wrong in self._wrong:
            terminalreporter.write_line(f"README.md, {wrong}; run `make figures`", red=True)
