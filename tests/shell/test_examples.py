"""Every example in a ``--help`` runs as printed, on the demo and on a log of an hour. One log
stands for readers' logs, files and clusters. Examples that change something or never end run in
test_pasted_examples.py, those of the pipeline in its own tests."""

from __future__ import annotations

import ast
import re
import shlex
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from shell.main import TABLE, main
from shell.options import build_parser, parse
from tests.support.command import help_examples
from tests.support.disk.log_of_an_hour import an_hour
from tests.support.kafka.cases import DEMO, REPOSITORY

LOG = DEMO / "log-dir"
AUDIT_LINE = (
    "Principal = User:app is Denied operation = WRITE from host = 10.0.0.7 on resource = "
    "Topic:LITERAL:payments for request = Produce with resourceRefCount = 1 "
    "based on rule DefaultDeny"
)
STANDS_FOR = {
    "/var/kafka/metadata": str(LOG),
    "SOURCE": str(LOG),
    "FOLDER": str(LOG),
    "@prod": str(LOG),
    "@main": str(LOG),
    "@dr": str(LOG),
    "blue/metadata": str(LOG),
    "green/metadata": str(LOG),
    "/archive/prod": str(LOG),
    "cluster://broker:9092": str(LOG),
}
ELSEWHERE = (
    *("serve", "mcp", "pipeline", "shell", "apply", "archive", "passwd", "kafka-acls", "format"),
)
"""They never end, prompt, change something, or need Spark, and are only parsed here."""
GO_ON = re.compile(r" --(follow|listen [^ ]+|command-config [^ ]+)")
"""Options with which a verb does not end, or that a folder in place of a cluster does not take."""


def examples() -> Iterator[tuple[str, str]]:
    """Each with its verb."""
    for words, _, module in TABLE.commands():
        text = re.sub(r"\s*\\\n\s*", " ", module.EPILOG)
        for line in text.splitlines():
            if found := re.search(r"(?:^|\| )\s*metalog (.+)", line):
                yield words, re.split(r"  +(?=\S)|\s+[<>|]\s", found[1].strip())[0]


EXAMPLES = list(dict.fromkeys(command for _, command in examples()))


def test_every_verb_that_takes_a_source_has_examples() -> None:
    without = {words for words, _, _ in TABLE.commands()} - {words for words, _ in examples()}
    assert without == {"status", "acls", "dump", "completion"}


@pytest.mark.parametrize("command", EXAMPLES)
def test_each_is_understood(command: str) -> None:
    words = [word for word in shlex.split(command) if word != "…"]
    verb = next(n for n in (2, 1) if " ".join(words[:n]) in TABLE_COMMANDS)
    name = " ".join(words[:verb])
    line, module = TABLE_COMMANDS[name]
    if "…" not in command:
        parse(build_parser(name, line, module), words[verb:])


TABLE_COMMANDS = {words: (verb.line, module) for words, verb, module in TABLE.commands()}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the examples name."""
    monkeypatch.chdir(tmp_path)
    assert main(["export", str(LOG), "--split", "principal", "--to", "acls", "-q"]) == 0
    (tmp_path / "server.properties").write_bytes((DEMO / "server.properties").read_bytes())
    (tmp_path / "admin.properties").write_text("client.id=admin\n")
    (tmp_path / "least.yaml").write_bytes(
        (tmp_path / "acls" / "User" / "billing.yaml").read_bytes()
    )
    (tmp_path / "kafka-authorizer.log").write_text(f"{AUDIT_LINE}\n")
    expected = "deny:\n- {principal: User:nobody, operation: Read, resource: topic:payments}\n"
    (tmp_path / "expectations.yaml").write_text(expected)
    (tmp_path / "claims.yaml").write_text(expected)
    (tmp_path / "expectations").mkdir()
    (tmp_path / "expectations" / "all.yaml").write_text(expected)
    return tmp_path


@pytest.mark.parametrize("command", [each for each in EXAMPLES if each.split()[0] not in ELSEWHERE])
@pytest.mark.parametrize("log", ["demo", "an hour"])
def test_each_runs(command: str, log: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(LOG if log == "demo" else an_hour(here / "log"))
    words = [STANDS_FOR.get(word, word) for word in shlex.split(GO_ON.sub("", command))]
    words = [path if word == str(LOG) else word for word in words]
    words = [AUDIT_LINE if word.endswith("from host = …") else word for word in words]
    if words[0] == "export" and "DIR" in words:
        words[words.index("DIR")] = str(here / "snapshot")
    code = main(words)
    printed = capsys.readouterr()
    assert code in (0, 1), printed.err
    assert "metalog: " not in printed.err


DEAR = {"build": 2, "requests": 2, "report": 4, "shell": 2, "export": 1, "follow": 1, "demo": 1}
"""Examples of the pipeline's verb that no test runs as printed, since a run takes seconds. ``make
test-examples`` has them, except for a store, five million requests and ``…``."""


def test_other_examples_of_the_pipeline_are_run_by_the_tests_of_its_verbs() -> None:
    verbs = [words for words, _, _ in TABLE.commands() if words.startswith("pipeline ")]
    run = {
        node.value
        for path in (REPOSITORY / "tests" / "metalog_spark").rglob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant)
    }
    left = Counter(
        verb.removeprefix("pipeline ")
        for verb, text in help_examples.examples(*verbs)
        if f"metalog {verb}" in text and text not in run
    )
    assert left == DEAR
