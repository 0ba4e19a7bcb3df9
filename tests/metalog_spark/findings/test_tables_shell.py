"""``metalog pipeline shell`` answers many questions in one Spark session, each as the verb alone
does."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.support.command.help_examples import as_printed
from tests.support.command.runs import run_here

if TYPE_CHECKING:
    from metalog_spark.store.table_store import Tables

QUESTIONS = """
unused
SELECT state, count(*) AS hours FROM coverage GROUP BY state
SELECT nothing FROM coverage
exit
unused
"""


def test_each_line_of_a_pipe_is_answered(
    tables: Tables, capsys: pytest.CaptureFixture[str]
) -> None:
    alone = run_here(capsys, "pipeline", "unused", tables.path, "--json").stdout
    example = "metalog pipeline shell prod.tables -o json < questions"
    words = as_printed(example, {"prod.tables": tables.path})
    done = run_here(capsys, *words, stdin=QUESTIONS)
    assert done.returncode == 2
    *unused, hours = done.stdout.splitlines()
    assert unused == alone.splitlines()
    assert json.loads(hours) == {"state": "BOTH", "hours": 24}
    *_, complaint = done.stderr.splitlines()
    assert complaint.startswith("metalog: line 4: Spark: [UNRESOLVED_COLUMN")
