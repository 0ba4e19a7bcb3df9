"""What the command prints, word for word, in the ``.txt`` files beside this one.

A transcript is remarks (``#``), commands (``$ metalog …``) and what each printed: stdout as
it is, stderr behind ``! ``, and the exit code where it is not 0. After a change that is
meant, METALOG_WRITE_TRANSCRIPTS=1 writes them anew, to be read before they are committed.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from tests.support.command.runs import Run
from tests.support.kafka.cases import REPOSITORY

FOLDER = Path(__file__).parent
TRANSCRIPTS = sorted(FOLDER.glob("*.txt"))
PROMPT = "$ metalog "


def played(transcript: str, run: Run) -> str:
    """``transcript`` with its commands run again."""
    lines = []
    for line in transcript.splitlines():
        if line.startswith(PROMPT):
            lines += [line, *printed(line.removeprefix(PROMPT), run), ""]
        elif line.startswith("#"):
            lines.append(line)
    return "\n".join(lines).rstrip("\n") + "\n"


def printed(command: str, run: Run) -> list[str]:
    words, _, given = command.partition(" <<< ")
    done = run(*shlex.split(words), stdin="\n".join(shlex.split(given)))
    lines = done.stdout.splitlines() + [f"! {line}" for line in done.stderr.splitlines()]
    lines = [line.replace(f"{REPOSITORY}/", "") for line in lines]
    return lines if done.returncode == 0 else [*lines, f"(exit {done.returncode})"]


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=[path.stem for path in TRANSCRIPTS])
def test_the_command_prints_what_the_transcript_says(path: Path, run: Run) -> None:
    written = path.read_text(encoding="utf-8")
    found = played(written, run)
    if os.environ.get("METALOG_WRITE_TRANSCRIPTS"):
        path.write_text(found, encoding="utf-8")
        return
    assert found == written, "METALOG_WRITE_TRANSCRIPTS=1 writes it anew"
