"""The guide's tables of a node's keys and metrics are the code's, and its first node works."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.kafka.cases import REPOSITORY
from tests.support.kafka.tools import free_ports
from tests.support.node.served import served
from tests.support.pages.node_tables import key_table, metric_table

PAGE = (REPOSITORY / "docs" / "guide" / "operating.md").read_text(encoding="utf-8")
HOW = "python -m tests.support.pages.node_tables prints it"


def test_each_key_is_on_the_page() -> None:
    assert key_table() in PAGE, HOW


def test_each_metric_is_on_the_page() -> None:
    assert metric_table() in PAGE, HOW


@pytest.mark.once
def test_the_first_node_is_as_the_page_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All commands but the last, which is the node itself, with other ports."""
    monkeypatch.chdir(tmp_path)
    [commands] = re.findall(r"^```sh\n(.*?)^```", PAGE, re.M | re.S)
    node, client = re.findall(r"^```properties\n(.*?)^```", PAGE, re.M | re.S)[:2]
    [user] = re.findall(r"`(SCRAM-SHA-512=\[.*?\])`", PAGE)
    for written, port in zip((":9094", ":9093"), free_ports(2), strict=True):
        node = node.replace(written, f":{port}")
    Path("server.properties").write_text(node)
    Path("client.properties").write_text(client.replace("…", "admins-own"))
    Path("users.txt").write_text(user.replace("…", "admins-own") + "\n")
    prepared, serve = commands.rstrip().rsplit("\n", 1)
    typed(prepared)
    assert serve == "metalog serve --config server.properties"
    with served("--config", "server.properties", listeners=2) as addresses:
        target = f"cluster://localhost:{addresses['SASL_SSL'].rpartition(':')[2]}"
        listed = typed(f"metalog users {target} --command-config client.properties")
    assert listed == "admin  SCRAM-SHA-512  4096 iterations\n"


def typed(commands: str) -> str:
    """Their output, in the test's folder."""
    run = commands.replace("metalog ", f"{sys.executable} -m shell.main ")
    return subprocess.run(["sh", "-ec", run], check=True, stdout=subprocess.PIPE, text=True).stdout
