"""The files for other people's CI: the action, its script, the hooks, the guide's examples."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

from metalog_sources.store import SUFFIXES
from shell.main import VERBS
from tests.support.kafka.cases import REPOSITORY

SCRIPT = REPOSITORY / ".github" / "check-acls"
INPUTS = set(re.findall(r"\$\{?([A-Z_]{4,})", SCRIPT.read_text("utf-8")))


def checked(folder: Path, **given: str) -> subprocess.CompletedProcess[str]:
    (folder / "metalog").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m shell.main "$@"\n')
    (folder / "metalog").chmod(0o755)
    return subprocess.run(
        [SCRIPT],
        cwd=folder,
        env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", **given},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_action_annotates_sums_up_and_fails(tmp_path: Path) -> None:
    shutil.copytree(REPOSITORY / "docs" / "guide" / "acls", tmp_path / "acls")
    shutil.copy(REPOSITORY / "docs" / "guide" / "expectations.yaml", tmp_path)
    done = checked(
        tmp_path,
        ACLS="acls",
        EXPECTATIONS="expectations.yaml",
        TARGET="@demo",
        PRUNE="true",
        GITHUB_STEP_SUMMARY=str(tmp_path / "summary.md"),
    )
    assert done.returncode == 1, done.stderr
    assert "::notice file=acls/payments.yaml,line=" in done.stdout
    assert "::error file=expectations.yaml,line=" in done.stdout
    assert "title=metalog plan%3A remove::remove ALLOW User:billing" in done.stdout
    summary = (tmp_path / "summary.md").read_text("utf-8")
    assert re.findall("^#.*$", summary, re.MULTILINE) == [
        *("## metalog lint", "## metalog test", "## metalog plan")
    ]
    assert "| remove | ALLOW | User:billing |" in summary
    sarif = json.loads((tmp_path / "metalog-reports" / "lint.sarif").read_text("utf-8"))
    assert sarif["version"] == "2.1.0"
    assert sarif["runs"][0]["results"]


def test_what_cannot_be_read_is_no_clean_bill(tmp_path: Path) -> None:
    (tmp_path / "acls.yaml").write_text("acl: []")
    done = checked(tmp_path, ACLS="acls.yaml", FORMAT="junit")
    assert done.returncode == 2
    assert "acls.yaml, line 1, column 1" in done.stderr


def test_the_action_gives_the_script_all_that_it_reads() -> None:
    action = yaml.safe_load((REPOSITORY / "action.yml").read_text("utf-8"))
    *_, step = action["runs"]["steps"]
    given = {name for name, value in step["env"].items() if "inputs." in value}
    assert given | {"FORMAT", "REPORTS", "GITHUB_STEP_SUMMARY"} == INPUTS
    named = {re.search(r"inputs\.([a-z-]+)", value) for value in step["env"].values()} - {None}
    assert {each[1] for each in named} | {"python"} == set(action["inputs"])
    commands = "\n".join(each["run"] for each in action["runs"]["steps"])
    assert "${{" not in commands, "an input would be run as a part of the script"


def test_a_hook_runs_a_verb_when_a_file_of_any_format_changes() -> None:
    for hook in yaml.safe_load((REPOSITORY / ".pre-commit-hooks.yaml").read_text("utf-8")):
        command, verb = hook["entry"].split()
        assert command == "metalog"
        assert verb in VERBS
        assert [each for each in SUFFIXES if not re.search(hook["files"], f"acls/a{each}")] == []


def test_the_guide_names_what_there_is() -> None:
    page = (REPOSITORY / "docs" / "guide" / "ci.md").read_text("utf-8")
    workflow, gitlab, hooks, acls = map(
        yaml.safe_load, re.findall(r"^```yaml\n(.*?)^```", page, re.M | re.S)
    )
    action = yaml.safe_load((REPOSITORY / "action.yml").read_text("utf-8"))
    [step] = [each for each in workflow["jobs"]["acls"]["steps"] if each.get("id") == "metalog"]
    assert step["with"].keys() <= action["inputs"].keys()
    assert gitlab["acls"]["variables"].keys() <= INPUTS
    known = yaml.safe_load((REPOSITORY / ".pre-commit-hooks.yaml").read_text("utf-8"))
    ids = {hook["id"] for hook in known}
    assert {hook["id"] for hook in hooks["repos"][0]["hooks"]} == ids
    assert acls["acls"]
