"""The ways to run the shell: one command, commands from a pipe; and their exit codes."""

import io
from types import SimpleNamespace

import pytest

from metalog.image.metadata import EMPTY
from shell.browser import prompt_marker, run
from shell.output.output import Output


def replayed(offset=10, proven=10, ready=True):
    return SimpleNamespace(
        image=EMPTY, offset=offset, proven=SimpleNamespace(offset=proven), ready=ready
    )


def answers(arguments, monkeypatch, typed=""):
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    output = Output(io.StringIO(), io.StringIO())
    code = run(replayed(), arguments, output)
    return code, output.out.getvalue(), output.err.getvalue()


def test_one_command(monkeypatch):
    assert answers(["ls", "/"], monkeypatch) == (0, "acl\nimage\nlocal\nscram\n", "")


def test_one_command_that_fails(monkeypatch):
    assert answers(["ls", "/x"], monkeypatch) == (2, "", "ls: /x: no such file or directory\n")


def test_words_of_one_command_keep_their_blanks(monkeypatch):
    assert answers(["ls", "/a b"], monkeypatch)[2] == "ls: /a b: no such file or directory\n"


def test_commands_from_a_pipe(monkeypatch):
    typed = "cd /image\n\npwd\nls topics\nexit\npwd\n"
    assert answers([], monkeypatch, typed) == (0, "/image\nbyId\nbyName\n", "")


def test_a_failed_command_in_a_pipe_does_not_stop_the_others(monkeypatch):
    code, out, err = answers([], monkeypatch, "cat /x\npwd\n")
    assert (code, out, err) == (2, "/\n", "cat: /x: no such file or directory\n")


def test_bytes_that_are_no_utf8_are_no_path_and_no_fault(monkeypatch):
    typed = io.TextIOWrapper(io.BytesIO(b"ls /\xff\npwd\n"), encoding="utf-8")
    monkeypatch.setattr("sys.stdin", typed)
    output = Output(io.StringIO(), io.StringIO())
    assert run(replayed(), [], output) == 2
    assert output.out.getvalue() == "/\n"


def test_without_a_standard_input_there_is_nothing_to_do(monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    assert run(replayed(), [], Output(io.StringIO(), io.StringIO())) == 0


@pytest.mark.parametrize(
    ("seen", "marker"),
    [
        (replayed(), ""),
        (replayed(proven=9), " (uncommitted)"),
        (replayed(ready=False), " (stale)"),
        (replayed(proven=9, ready=False), " (uncommitted, stale)"),
    ],
)
def test_the_prompt_marks_what_is_doubtful(seen, marker):
    assert prompt_marker(seen) == marker
