"""Text wrapped for a terminal keeps its content, and nothing else is wrapped."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shell.output.wrapping import visible_width, wrapped, wrapped_row
from tests.support.command.runs import Run
from tests.support.command.terminal import at_a_terminal
from tests.support.kafka.cases import DEMO

words = st.lists(st.text("abc-/Ä漢", min_size=1, max_size=30), min_size=1, max_size=12)
widths = st.integers(10, 60)
indents = st.integers(0, 6)
QUESTION = ("User:billing", "READ", "topic:payments")


def is_one_word(line: str, indent: int) -> bool:
    return len(line[indent:].split()) == 1


def test_notes_and_errors_are_broken_between_words() -> None:
    words = ("can", str(DEMO / "log-dir"), *QUESTION, "--color", "never")
    command = (sys.executable, "-m", "shell.main", *words)
    for more in ((), ("--at", "999999999")):
        said, _ = at_a_terminal([*command, *more], environment={"COLUMNS": "60"})
        lines = said.splitlines()
        begun = [at for at, line in enumerate(lines) if line.startswith(("note: ", "metalog: "))]
        assert begun
        assert all(lines[at + 1].startswith("  ") for at in begun if len(lines[at]) > 50)
        pasted_whole = str(DEMO)
        assert all(len(line) <= 75 for line in lines if pasted_whole not in line)


@given(words, widths, indents)
def test_words_stay_whole_and_in_order(said: list[str], width: int, indent: int) -> None:
    lines = wrapped(" ".join(said), width, indent)
    assert " ".join(lines).split() == said
    assert all(visible_width(line) <= width or is_one_word(line, 0) for line in lines)
    assert all(line.startswith(" " * indent) for line in lines[1:])


@given(words, widths)
def test_a_style_takes_no_room(said: list[str], width: int) -> None:
    styled = " ".join(f"\x1b[31m{word}\x1b[m" for word in said)
    plain = wrapped(" ".join(said), width, 2)
    assert [
        line.replace("\x1b[31m", "").replace("\x1b[m", "") for line in wrapped(styled, width, 2)
    ] == plain


@given(words, widths, indents)
def test_a_row_keeps_its_cells(cells: list[str], width: int, indent: int) -> None:
    lines = wrapped_row([f"{cell:<8}" for cell in cells], width, indent)
    assert " ".join(lines).split() == cells
    assert all(visible_width(line) <= width or is_one_word(line, 0) for line in lines)


def on_a_terminal(columns: int, *arguments: str) -> list[str]:
    command = [sys.executable, "-m", "shell.main", "--no-pager", *arguments]
    environment = {"COLUMNS": str(columns), "NO_COLOR": "1"}
    printed, _ = at_a_terminal(command, environment=environment)
    return printed.splitlines()


@pytest.mark.once
def test_an_explanation_fits_and_its_commands_stay_whole(run: Run) -> None:
    lines = on_a_terminal(80, "explain", "@demo", *QUESTION)
    long = [line.split()[0] for line in lines if len(line) > 80]
    assert long == ["kafka-acls", "metalog"]
    piped = run("explain", "@demo", *QUESTION).stdout
    assert " ".join(lines).split() == piped.split()


@pytest.mark.once
def test_a_listing_fits(run: Run) -> None:
    log = str(DEMO / "log-dir")
    lines = on_a_terminal(60, "acls", log)
    piped = run("acls", log).stdout
    assert max(map(len, lines)) <= 60 < max(map(len, piped.splitlines()))
    assert " ".join(lines).split() == piped.split()
