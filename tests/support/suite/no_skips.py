"""In CI, a test that did not run has failed: nothing is left out silently."""

from __future__ import annotations

from collections.abc import Generator

import pytest

NOT_IN_CI = "skipped, which CI does not accept"


class NoSkips:
    """A pytest plugin that turns each skip, of a test or a whole file, into a failure."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if report.skipped and not hasattr(report, "wasxfail"):
            report.outcome = "failed"
            report.longrepr = f"{NOT_IN_CI}: {report.longrepr}"
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self,
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        report = yield
        if report.skipped:
            report.outcome = "failed"
            report.longrepr = f"{NOT_IN_CI}: {report.longrepr}"
        return report
