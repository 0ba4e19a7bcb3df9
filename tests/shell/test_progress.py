"""Progress that a terminal shows never gets into the answer."""

from __future__ import annotations

import os
import pty
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import pytest

from shell.output import progress
from shell.output.output import Output
from shell.output.wrapping import text_width

WIPED = "\r\x1b[K"


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[int, TextIO]]:
    """A terminal whose clock advances only by the waits between redraws."""
    monkeypatch.setattr(progress, "PATIENCE_S", 0.0)
    monkeypatch.setattr(progress, "monotonic", lambda: 0.0)
    ours, its = pty.openpty()
    with os.fdopen(its, "w") as err:
        yield ours, err
    os.close(ours)


def shown(ours: int, up_to: str) -> str:
    text = ""
    deadline = time.monotonic() + 60
    while up_to not in text and time.monotonic() < deadline:
        text += os.read(ours, 4096).decode()
    return text


def test_long_work_says_what_it_is_at_and_leaves_nothing_behind(
    terminal: tuple[int, TextIO], tmp_path: Path
) -> None:
    ours, err = terminal
    with (tmp_path / "out").open("w") as out:
        output = Output(out, err)
        with output.busy("sorting") as work:
            assert "sorting (0 s)" in shown(ours, "sorting (0 s)")
            work.reached("reading", 5_000, 10_000)
            output.line("an answer")
            assert "reading: offset 5,000 of 10,000 (" in shown(ours, "10,000 (")
            output.warn("odd")
            assert f"{WIPED}warning: odd" in shown(ours, "odd")
        output.warn("the end")
        assert shown(ours, "the end").splitlines()[-1] in (
            "warning: the end",
            f"{WIPED}warning: the end",
        )
    assert (tmp_path / "out").read_text() == "an answer\n"


def test_it_is_one_line_of_the_terminal_whatever_a_file_is_called(
    terminal: tuple[int, TextIO], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A longer text would continue in the next line, and only the last line would be erased."""
    ours, err = terminal
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("a" * 200, "\x1b[2J" * 40, "読" * 100):
        with (tmp_path / "out").open("w") as out:
            output = Output(out, err)
            with output.busy(f"reading {name}"):
                drawn = shown(ours, "…\x1b[K").rpartition("\r")[2].removesuffix("\x1b[K")
            assert "\x1b" not in drawn
            assert text_width(drawn) < 80


def test_what_is_broken_off_leaves_nothing_behind(
    terminal: tuple[int, TextIO], tmp_path: Path
) -> None:
    """A generator reads a file of many lines: an error elsewhere does not end it."""
    ours, err = terminal

    def lines() -> Iterator[int]:
        with output.busy("reading"):
            yield 1

    with (tmp_path / "out").open("w") as out:
        output = Output(out, err)
        reading = lines()
        next(reading)
        assert "reading (0 s)" in shown(ours, "reading (0 s)")
        output.end_progress()
        err.write("metalog: odd\n")
        err.flush()
        assert shown(ours, "odd").endswith(f"{WIPED}metalog: odd\r\n")


def test_an_answer_on_the_same_terminal_ends_it(terminal: tuple[int, TextIO]) -> None:
    ours, err = terminal
    output = Output(err, err)
    with output.busy("sorting"):
        shown(ours, "sorting")
        output.line("an answer")
        time.sleep(0.6)
        output.line("more")
        output.flush()
        assert shown(ours, "more").rstrip().endswith(f"{WIPED}an answer\r\nmore")


@pytest.mark.parametrize("quiet", [True, False])
def test_nothing_is_shown_that_nobody_wants_or_sees(
    quiet: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(progress, "PATIENCE_S", 0.0)
    ours, its = pty.openpty()
    with os.fdopen(its, "w") as tty, (tmp_path / "err").open("w") as file:
        output = Output(file, tty if quiet else file, quiet=quiet)
        with output.busy("sorting"):
            time.sleep(0.1)
        tty.write("end")
        tty.flush()
        assert shown(ours, "end") == "end"
    os.close(ours)
    assert (tmp_path / "err").read_text() == ""


def test_what_begins_at_once_lasts_over_all_steps_until_the_answer(
    terminal: tuple[int, TextIO], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where standard error is lent to a starting process, such as Spark's JVM."""
    monkeypatch.setattr(progress, "PATIENCE_S", 3600.0)
    ours, err = terminal
    with (tmp_path / "log").open("w") as log, (tmp_path / "out").open("w") as out:
        output = Output(out, err)
        output.begin_progress("looking")
        assert "looking (0 s)" in shown(ours, "looking (0 s)")
        lent = os.dup(err.fileno())
        os.dup2(log.fileno(), err.fileno())
        with output.busy("starting Spark"):
            assert "starting Spark (" in shown(ours, "starting Spark (")
        os.dup2(lent, err.fileno())
        os.close(lent)
        with output.busy("reading") as work:
            work.doing = "counting"
            assert "counting (" in shown(ours, "counting (")
        output.warn("odd")
        assert f"{WIPED}warning: odd" in shown(ours, "odd")
        output.end_progress()
        err.write("metalog: broken\n")
        err.flush()
        assert shown(ours, "broken").splitlines()[-1].endswith("metalog: broken")
    assert (tmp_path / "log").read_text() == ""


def test_without_a_terminal_nothing_is_shown_of_it(tmp_path: Path) -> None:
    with (tmp_path / "err").open("w") as err, (tmp_path / "out").open("w") as out:
        output = Output(out, err)
        output.begin_progress("looking")
        with output.busy("reading"):
            output.line("an answer")
        output.end_progress()
    assert (tmp_path / "err").read_text() == ""
