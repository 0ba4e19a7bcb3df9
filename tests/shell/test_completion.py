"""What a shell proposes: verbs, the verbs of a verb, and options."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from command import Run

from shell.main import TABLE


def test_bash_knows_every_verb_and_its_options(run: Run) -> None:
    script = run("completion", "bash").stdout

    def proposed(*words: str, breaks: str = " :") -> list[str]:
        typed = f"COMP_WORDBREAKS='{breaks}'; metalog() {{ echo @prod @demo; }}; "
        quoted = " ".join(f"'{word}'" for word in ("metalog", *words))
        typed += f"COMP_WORDS=({quoted}); COMP_CWORD={len(words)}; "
        asked = f"{typed}_metalog; echo ${{COMPREPLY[@]}}"
        done = subprocess.run(
            ["bash", "-c", script + asked], capture_output=True, text=True, check=True
        )
        return done.stdout.split()

    assert proposed("arch") == ["archive"]
    assert proposed("pipeline", "bui") == ["build"]
    assert proposed("pipeline", "build", "--skip") == ["--skip-damaged"]
    assert proposed("acls", "--comm") == ["--command-config", "--committed"]
    for words, _, module in TABLE.commands():
        formats = module.FORMATS if len(module.FORMATS) > 1 else ()
        assert not formats or proposed(*words.split(), "SOURCE", "-o", "") == [*formats], words
    assert proposed("acls", "SOURCE", "--operation", "Alter") == ["Alter", "AlterConfigs"]
    assert proposed("acls", "--resource-pattern-type", "p") == ["prefixed"]
    assert proposed("lint", "SOURCE", "--only", "red") == ["redundant"]
    assert proposed("who-can", "SOURCE", "Wri") == ["Write"]
    assert proposed("who-can", "SOURCE", "Write", "trans") == ["transactional-id:"]
    assert proposed("acls", "@d") == ["@demo"]
    assert proposed("acls", "@", "d", breaks=" @:") == ["demo"]
    assert proposed("acls", "@", breaks=" @:") == ["prod", "demo"]
    verbs = [words.split() for words, _, _ in TABLE.commands()]
    inner = {words[1] for words in verbs if words[0] == "pipeline"}
    assert {*proposed("pipeline", "")} == inner | {"--help"}
    assert {*proposed("")} == {words[0] for words in verbs} | {"--help", "--version"}


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_others_know_the_verbs_of_a_verb(shell: str, run: Run) -> None:
    script = run("completion", shell).stdout
    for words, verb, _ in TABLE.commands():
        assert verb.line.replace("'", "'\\''") in script, words


def test_the_names_are_those_of_metalog_toml(run: Run) -> None:
    assert "@demo" in run("completion", "names").stdout.split()
    for shell in ("bash", "zsh", "fish"):
        assert "metalog completion names" in run("completion", shell).stdout


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_the_shell_can_read_its_script(shell: str, run: Run, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    (tmp_path / "script").write_text(run("completion", shell).stdout)
    subprocess.run([shell, "-n", str(tmp_path / "script")], check=True)
