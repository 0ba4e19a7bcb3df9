"""Every example in the ``--help`` of the pipeline's verbs, in order, on the demo and a young log.
Each takes seconds of CPU, so only ``make test-examples`` runs them; ``make test`` runs some in the
tests of each verb (``as_printed``). Only names of files and folders are replaced."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from authorizer.audit.line import LOGGER
from metalog import DirectoryLog
from metalog.ports import Appended
from shell.verbs.pipeline import report
from tests.support.command.help_examples import examples, typed
from tests.support.command.runs import run_words
from tests.support.disk.log_of_an_hour import an_hour
from tests.support.kafka.cases import DEMO

BUILT = [
    f"pipeline {verb}"
    for verb in ("build", "unused", "least-privilege", "what-if", "requests", "report", "shell")
]
ELSEWHERE = "s3a://"
"""There is no such store here."""
QUESTIONS = "unused\nSELECT count(*) AS requests FROM requests\n"


@pytest.fixture(params=["demo", "an hour"])
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return DEMO / "log-dir" if request.param == "demo" else an_hour(tmp_path / "log")


def audit_lines(log: Path) -> str:
    """Audit lines of the log's last second."""
    batches = [each.batch for each in DirectoryLog(log).read(0) if isinstance(each, Appended)]
    at = datetime.fromtimestamp(batches[-1].max_timestamp / 1000 - 1, UTC)
    return "".join(
        f"[{at:%Y-%m-%d %H:%M:%S},{number:03}] {level} Principal = User:billing is {answer}"
        f" operation = READ from host = 10.0.0.1 on resource = Topic:LITERAL:{name} for request ="
        f" Fetch with resourceRefCount = 1 based on rule DefaultDeny ({LOGGER})\n"
        for number, (name, answer, level) in enumerate(
            [("orders", "Denied", "INFO"), ("t", "Allowed", "DEBUG")]
        )
    )


def a_readers_folder(folder: Path, log: Path) -> None:
    """A folder with the files that the examples name."""
    (folder / "metalog.toml").write_text(f'[sources.prod]\nurl = "{log}"\n')
    (folder / "server.properties").write_bytes((DEMO / "server.properties").read_bytes())
    for name in ("logs/broker-1", "new/broker-1"):
        (folder / name).mkdir(parents=True)
        (folder / name / "kafka-authorizer.log").write_text(audit_lines(log))
    (folder / "questions").write_text(QUESTIONS)
    owners, accepted = re.findall(r"\n\n((?: {2}.+\n)+)", report.EPILOG)
    (folder / "owners.yaml").write_text(owners)
    (folder / "accepted.yaml").write_text(accepted)


def test_each_runs(
    spark: SparkSession,
    log: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    a_readers_folder(tmp_path, log)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "acls").mkdir()
    assert run_words(capsys, ["export", str(log), "--to", "acls/a.yaml"]).returncode == 0
    places = {
        **dict.fromkeys(("/archive/prod", "cluster://staging:9092"), str(log)),
        **dict.fromkeys(("DIR", "STAGING"), "prod.tables"),
        "/data/acl-audit": "acl-audit",
        "User:app": "User:billing" if DEMO in log.parents else "User:a",
    }
    for _, command in examples(*BUILT, "pipeline export"):
        if ELSEWHERE not in command:
            run(command, places, capsys)


def run(command: str, places: Mapping[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    said = typed(command)
    words = [places.get(word, word) for word in said.words]
    stdin = said.echoed or ("" if said.read is None else Path(said.read).read_text())
    done = run_words(capsys, words, stdin=stdin)
    assert done.returncode in (0, 1), (command, done.stderr)
    assert "metalog: " not in done.stderr, (command, done.stderr)
    if said.written is not None:
        Path(said.written).write_text(done.stdout)
