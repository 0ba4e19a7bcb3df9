"""What a shell proposes: verbs, the verbs of a verb, and options."""

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
    """Of the shell itself, by the script that it is given."""
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


def test_bash_completes_a_name_that_readline_breaks_at_its_at_sign(run: Run) -> None:
    script = run("completion", "bash").stdout
    typed = "COMP_WORDBREAKS=' @:'; metalog() { echo @prod @demo; }; "
    for words, names in ((["@", "d"], ["demo"]), (["@"], ["prod", "demo"])):
        quoted = " ".join(f"'{word}'" for word in ("metalog", "acls", *words))
        asked = f"COMP_WORDS=({quoted}); COMP_CWORD={len(words) + 1}; _metalog; "
        command = f"{script}{typed}{asked}echo ${{COMPREPLY[@]}}"
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
        assert done.stdout.split() == names


def test_the_names_are_those_of_metalog_toml(run: Run) -> None:
    assert "@demo" in run("completion", "names").stdout.split()
    for shell in ("bash", "zsh", "fish"):
        assert "metalog completion names" in run("completion", shell).stdout
