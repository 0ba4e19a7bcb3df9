"""The prompt at a terminal: keys go in, and the terminal's output comes out."""

import io
from functools import partial

import pytest
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output.vt100 import Vt100_Output

from shell.browser.builtins import BUILTINS
from shell.browser.completion import complete
from shell.browser.nodes import Leaf, fixed, listing
from shell.browser.prompt import converse
from shell.browser.session import ShellSession
from shell.output.output import Output

TAB, CTRL_C, CTRL_D = "\t", "\x03", "\x04"


@pytest.fixture
def typing():
    """Types keys at a prompt until it ends; returns the answers, errors and drawn text."""

    def type_keys(keys, marker=""):
        users = {"User:*": "star", "User:alice": "alice"}
        root = fixed({"acl": lambda: listing(lambda: users, Leaf)})
        session = ShellSession(root, BUILTINS, Output(io.StringIO(), io.StringIO()))
        screen = io.StringIO()
        terminal = Vt100_Output(screen, lambda: Size(rows=24, columns=80), term="xterm")
        with create_pipe_input() as pipe:
            pipe.send_text(keys)
            converse(session, partial(complete, session), marker, input=pipe, output=terminal)
        return session.output.out.getvalue(), session.output.err.getvalue(), screen.getvalue()

    return type_keys


def test_lines_are_carried_out_until_exit(typing):
    answers, complaints, _ = typing("cd acl\rpwd\rexit\rpwd\r")
    assert (answers, complaints) == ("/acl\n", "")


def test_ctrl_d_leaves(typing):
    assert typing(f"pwd\r{CTRL_D}")[0] == "/\n"


def test_ctrl_c_drops_the_line_and_no_more(typing):
    answers, complaints, _ = typing(f"pw{CTRL_C}pwd\rexit\r")
    assert (answers, complaints) == ("/\n", "")


def test_ctrl_c_stops_an_answer_and_the_prompt_comes_back(typing, monkeypatch):
    def interrupted(session, words):
        raise KeyboardInterrupt

    endless = BUILTINS["find"]._replace(run=interrupted)
    monkeypatch.setitem(BUILTINS, "find", endless)
    assert typing("find /\rpwd\rexit\r")[0] == "/\n"


def test_an_error_is_said_and_the_prompt_comes_back(typing):
    answers, complaints, _ = typing("cat nope\rpwd\rexit\r")
    assert (answers, complaints) == ("/\n", "cat: nope: no such file or directory\n")


def test_tab_completes_commands_and_paths(typing):
    assert typing(f"ca{TAB}/a{TAB}User:al{TAB}\rexit\r")[0] == "alice\n"


def test_tab_quotes_what_a_glob_would_take(typing):
    assert typing(f"cat /acl/User:\\*{TAB}\rexit\r")[0] == "star\n"


def test_history_is_the_lines_of_this_visit(typing):
    assert typing("pwd\rhistory\rexit\r")[0] == "/\n    0  pwd\n    1  history\n"


def test_the_prompt_says_where_and_what_is_doubtful(typing):
    _, _, screen = typing("cd acl\rexit\r", marker=" (uncommitted)")
    assert "/ (uncommitted)> " in screen
    assert "/acl (uncommitted)> " in screen
