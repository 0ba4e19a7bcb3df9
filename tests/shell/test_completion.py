"""What a shell proposes: verbs, the verbs of a verb, and options."""

from __future__ import annotations

import subprocess

import pytest
from command import Run

from shell.main import TABLE


def test_bash_knows_every_verb_and_its_options(run: Run) -> None:
    script = run("completion", "bash").stdout

    def proposed(*words: str) -> list[str]:
        typed = " ".join(f"'{word}'" for word in ("metalog", *words))
        asked = f"COMP_WORDS=({typed}); COMP_CWORD={len(words)}; _metalog; echo ${{COMPREPLY[@]}}"
        done = subprocess.run(
            ["bash", "-c", script + asked], capture_output=True, text=True, check=True
        )
        return done.stdout.split()

    assert proposed("arch") == ["archive"]
    assert proposed("pipeline", "bui") == ["build"]
    assert proposed("pipeline", "build", "--skip") == ["--skip-damaged"]
    assert proposed("acls", "--comm") == ["--command-config", "--committed"]
    verbs = [words.split() for words, _, _ in TABLE.commands()]
    inner = {words[1] for words in verbs if words[0] == "pipeline"}
    assert {*proposed("pipeline", "")} == inner | {"--help"}
    assert {*proposed("")} == {words[0] for words in verbs} | {"--help", "--version"}


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_others_know_the_verbs_of_a_verb(shell: str, run: Run) -> None:
    script = run("completion", shell).stdout
    for words, verb, _ in TABLE.commands():
        assert verb.line.replace("'", "'\\''") in script, words
