"""Metrics of any SOURCE for Prometheus, and the dashboards and alerts of docs/observability."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from shell.main import main
from tests.support.command.runs import Run
from tests.support.disk.written_log import formatted
from tests.support.kafka.cases import DEMO, REPOSITORY, kafka_case

PAGES = REPOSITORY / "docs" / "observability"
ACLS = REPOSITORY / "docs" / "guide" / "acls"
NAME = re.compile(r"\b(?:metalog|kafka_server)_[a-z_]+")


def figures(text: str) -> dict[tuple[str, ...], float]:
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def counted(run: Run, *words: str | Path) -> int:
    return len(run(*words, "-q", "-o", "json").stdout.splitlines())


def test_the_figures_are_what_the_verbs_find(run: Run) -> None:
    options = ("--wanted", str(ACLS), "--audit", str(ACLS / "audit.txt"))
    found = figures(run("exporter", "@demo", *options).stdout)
    assert found["metalog_source_up",] == 1
    assert found["metalog_source_acls",] == len(kafka_case("demo").json("acls.json"))
    assert found["metalog_source_end_offset",] == 179
    last = kafka_case("demo").json_lines("records.jsonl")[-1]
    assert found["metalog_source_last_record_timestamp_seconds",] == last["timestamp"] / 1000
    lint = sum(each for (name, *_), each in found.items() if name.endswith("lint_findings"))
    assert lint == counted(run, "lint", "@demo")
    drift = [found["metalog_source_drift_acls", change] for change in ("add", "remove")]
    assert sum(drift) == counted(run, "plan", "@demo", ACLS, "--prune")
    assert found["metalog_source_audit_denials", "User:billing"] == 2


def test_a_store_has_no_age_and_what_cannot_be_read_is_down(run: Run, tmp_path: Path) -> None:
    found = figures(run("exporter", ACLS).stdout)
    assert found["metalog_source_acls",] > 0
    assert ("metalog_source_end_offset",) not in found
    done = run("exporter", tmp_path / "missing")
    assert figures(done.stdout) == {("metalog_source_up",): 0}
    assert (done.returncode, "there is no such file" in done.stderr) == (2, True)


def test_it_serves_until_sigterm_which_a_container_sends() -> None:
    words = [sys.executable, "-m", "shell.main", "exporter", "@demo", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(words, cwd=REPOSITORY, stderr=subprocess.PIPE, text=True) as exporter:
        assert exporter.stderr is not None
        told = iter(exporter.stderr.readline, "")
        address = next(found[0] for line in told if (found := re.search(r"http://\S+(?=;)", line)))
        with urlopen(address) as answer:
            assert figures(answer.read().decode())["metalog_source_up",] == 1
        exporter.terminate()
        assert exporter.wait() == 0


def test_an_address_is_host_and_port(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["exporter", str(DEMO / "log-dir"), "--listen", "9405"]) == 2
    assert "give HOST:PORT" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("127.0.0.1:99999", "metalog: --listen 127.0.0.1:99999 cannot be opened: the port is too"),
        ("192.0.2.1:0", "metalog: --listen 192.0.2.1:0 cannot be opened: Cannot assign"),
    ],
)
def test_an_address_that_cannot_be_opened_is_named(
    address: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["exporter", str(DEMO / "log-dir"), "--listen", address]) == 2
    assert capsys.readouterr().err.startswith(said)


def test_a_file_that_cannot_be_read_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["exporter", "@demo", "--audit", "nowhere.log"]) == 2
    assert capsys.readouterr().err == "metalog: nowhere.log: No such file or directory\n"


def test_a_formatted_folder_has_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["exporter", str(formatted(tmp_path / "node"))]) == 0
    found = figures(capsys.readouterr().out)
    assert found["metalog_source_up",] == 1
    assert found["metalog_source_end_offset",] == 0
    assert ("metalog_source_last_record_timestamp_seconds",) not in found


def test_rules_and_dashboard_name_figures_that_there_are() -> None:
    pages = (PAGES / "README.md", REPOSITORY / "docs" / "guide" / "operating.md")
    known = {name for page in pages for name in NAME.findall(page.read_text("utf-8"))}
    rules = yaml.safe_load((PAGES / "alerts.yml").read_text("utf-8"))
    board = json.loads((PAGES / "dashboard.json").read_text("utf-8"))
    asked = [rule["expr"] for group in rules["groups"] for rule in group["rules"]]
    asked += [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    named = {name.removesuffix("_bucket") for expr in asked for name in NAME.findall(expr)}
    assert named - known == set()
    assert {"metalog_ready", "metalog_source_drift_acls"} <= named
