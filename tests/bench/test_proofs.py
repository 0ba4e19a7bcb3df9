"""The benchmark of proofs uses the stated sets: some that mean the same, and a change that does
not."""

from __future__ import annotations

import json

import pytest

from tests.support.command.runs import run_python
from tests.support.kafka.cases import REPOSITORY

BENCH = REPOSITORY / "bench"


@pytest.mark.parametrize(("job", "differs"), [("same", False), ("change", True), ("claim", False)])
def test_a_job_tells_its_figures(job: str, differs: bool) -> None:
    paths = {"PYTHONPATH": str(BENCH)}
    done = run_python(BENCH / "proofs.py", "--job", job, "700", environment=paths)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["found"] > 0) is differs
    assert told["cells"] > 0
