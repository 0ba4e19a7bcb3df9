"""The command in this process, for tests in which the process is not the point."""

from __future__ import annotations

from functools import partial

import pytest
from command import Run, run_here


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """``metalog ARGUMENTS``: see ``run_here``."""
    return partial(run_here, capsys)
