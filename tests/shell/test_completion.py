"""The completions that a shell proposes: verbs, the verbs of a verb, and options."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from authorizer.analysis.lint.checks import CHECKS
from metalog.acl import Operation, camel
from shell.main import TABLE
from tests.support.command.completion import proposed
from tests.support.command.runs import Run

SHELLS = ("bash", "zsh", "fish")
OPERATIONS = {camel(each) for each in Operation if each.value > 1}
FILES = {"acls.yaml", "two words.yaml"}
NAMES = {"@prod", "@demo"}
VERBS = [words.split() for words, _, _ in TABLE.commands()]
WORDS = {
    "metalog arch": {"archive"},
    "metalog -": {"--help", "--version"},
    "metalog pipeline bui": {"build"},
    "metalog pipeline -": {"--help", "--version"},
    "metalog pipeline build --skip": {"--skip-damaged"},
    "metalog acls --comm": {"--command-config", "--committed"},
    "metalog acls @": NAMES,
    "metalog acls @d": {"@demo"},
    "metalog acls SOURCE --operation Alter": {"Alter", "AlterConfigs"},
    "metalog acls SOURCE --operation alterC": {"AlterConfigs"},
    "metalog acls SOURCE --operation DESCRIBEC": {"DescribeConfigs"},
    "metalog who-can SOURCE wri": {"Write"},
    "metalog who-can SOURCE WRITE": {"Write"},
    "metalog acls --resource-pattern-type p": {"prefixed"},
    "metalog acls --resource-pattern-type ": {"literal", "prefixed", "match", "any"},
    "metalog lint SOURCE --only red": {"redundant"},
    "metalog lint SOURCE --except ": {check.id for check in CHECKS},
    "metalog who-can SOURCE Wri": {"Write"},
    "metalog who-can SOURCE Write trans": {"transactional-id:"},
    "metalog can SOURCE User:a CreateT": {"CreateTokens"},
    "metalog acls acl": {"acls.yaml"},
    "metalog acls --command-config acl": {"acls.yaml"},
    "metalog who-can @demo Read topic:pay": {"topic:payments", "topic:payouts"},
    "metalog can @demo User:b": {"User:billing"},
    "metalog acls @demo --topic payo": {"payouts"},
    "metalog acls nowhere --topic payo": set[str](),
    "metalog acls --topic @d": set[str](),
    "metalog history acls --js": {"--json"},
    "metalog acls test --foll": set[str](),
    "metalog completion ": {"bash", "zsh", "fish"},
}


def available(shell: str) -> str:
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here; on Debian: sudo apt-get install {shell}")
    return shell


@pytest.mark.once
@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_proposes_what_may_follow(shell: str, run: Run, tmp_path: Path) -> None:
    """The shell itself is asked, with our script loaded."""
    script = run("completion", available(shell)).stdout
    for name in FILES:
        (tmp_path / name).touch()
    formats = {
        f"metalog {words} SOURCE -o ": set(module.FORMATS)
        for words, _, module in TABLE.commands()
        if len(module.FORMATS) > 1
    }
    first = {words[0] for words in VERBS}
    inner = {words[1] for words in VERBS if words[0] == "pipeline"}
    lines = [*WORDS, *formats, "metalog ", "metalog pipeline ", "metalog who-can SOURCE "]
    equal = "metalog acls SOURCE --operation=Alter"
    found = proposed(shell, script, [*lines, equal], tmp_path)
    for line, words in (WORDS | formats).items():
        assert found[line] == words, line
    assert found["metalog "] - {"--help", "--version"} == first
    assert found["metalog pipeline "] - {"--help", "--version"} == inner
    assert found["metalog who-can SOURCE "] >= {*FILES, *OPERATIONS, "topic:", "group:"}
    assert {each.removeprefix("--operation=") for each in found[equal]} == {"Alter", "AlterConfigs"}


def test_bash_runs_no_name(run: Run, tmp_path: Path) -> None:
    """`compgen -W` does: a metalog.toml of a cloned repository could have such a SOURCE."""
    script = run("completion", "bash").stdout
    asked = (
        "metalog() { echo '@$(touch run)'; }; COMP_LINE='metalog acls @' COMP_POINT=14; _metalog"
    )
    command = f"{script}{asked}; echo ${{COMPREPLY[@]}}"
    bash = ["bash", "-c", command]
    done = subprocess.run(bash, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == "$(touch run)\n"
    assert not (tmp_path / "run").exists()


def test_names_of_a_source_are_proposed(run: Run) -> None:
    question = run("completion", "names", "@demo", "question", "topic:payments-").stdout
    assert question.split() == ["topic:payments-eu", "topic:payments-us"]
    assert run("completion", "names", "@demo", "group").stdout.split()
    principals = run("completion", "names", "@demo", "principal").stdout.split()
    assert {"User:billing", "User:fraud-check"} <= {*principals}
    users = run("users", "@demo", "-o", "csv").stdout.split()[1:]
    assert run("completion", "names", "@demo", "login").stdout.split() == sorted(
        {each.partition(",")[0] for each in users}
    )


def test_a_proposal_connects_to_nobody(run: Run) -> None:
    done = run("completion", "names", "cluster://127.0.0.1:1", "topic")
    assert done.returncode == 2
    assert "is not on this machine" in done.stderr


def test_the_names_are_those_of_metalog_toml(run: Run) -> None:
    assert "@demo" in run("completion", "names").stdout.split()
    assert "(choose from 'bash', 'zsh', 'fish')" in run("completion", "tcsh").stderr
    for shell in ("bash", "zsh", "fish"):
        assert "metalog completion names" in run("completion", shell).stdout
