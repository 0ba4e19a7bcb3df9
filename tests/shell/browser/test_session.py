"""The commands, on a small tree made for the tests."""

import io

import pytest

from shell.browser.builtins import BUILTINS
from shell.browser.completion import MOST_LISTED, complete
from shell.browser.nodes import Directory, Leaf, fixed, listing
from shell.browser.session import ShellSession
from shell.output.output import Output

PRINCIPALS = {
    "User:*": 1,
    "User:a b": 2,
    "User:alice": 3,
    "User:bob/x": 4,
    "User:\x1b[2J": 5,
    "": 6,
}


def small_tree():
    return fixed(
        {
            "acl": lambda: fixed(
                {
                    "by": lambda: listing(lambda: PRINCIPALS, lambda n: Leaf({"n": n, "s": "ü"})),
                    "none": lambda: listing(dict, lambda n: Leaf("")),
                }
            ),
            "image": lambda: fixed({"text": lambda: Leaf("one\ntwo")}),
        }
    )


@pytest.fixture
def session():
    return ShellSession(small_tree(), BUILTINS, Output(io.StringIO(), io.StringIO()))


def said(session, line):
    """The output and the error of ``line``."""
    out, err = session.output.out, session.output.err
    session.run_line(line)
    texts = out.getvalue(), err.getvalue()
    for stream in (out, err):
        stream.seek(0)
        stream.truncate()
    return texts


@pytest.mark.parametrize(
    ("line", "printed"),
    [
        ("ls", "acl\nimage\n"),
        ("ls /", "acl\nimage\n"),
        ("ls acl/none", ""),
        ("ls /acl/by", "%\nUser:%1B[2J\nUser:*\nUser:a b\nUser:alice\nUser:bob%2Fx\n"),
        ("ls /acl/by/User:a*", "User:a b\nUser:alice\n"),
        ("ls /image/text /acl/none /image", "text\n\nnone:\n\nimage:\ntext\n"),
        ("ls acl/none image", "none:\n\nimage:\ntext\n"),
        ("pwd", "/\n"),
        ("find image", "image\nimage/text\n"),
        ("find /image/", "/image/\n/image/text\n"),
        ("find /i*", "/image\n/image/text\n"),
        ("cat /acl/by/User:alice", '{\n  "n": 3,\n  "s": "ü"\n}\n'),
        ("cat '/acl/by/User:*'", '{\n  "n": 1,\n  "s": "ü"\n}\n'),
        ("cat /acl/by/User:bob%2fx", '{\n  "n": 4,\n  "s": "ü"\n}\n'),
        ("cat /acl/by/%", '{\n  "n": 6,\n  "s": "ü"\n}\n'),
        ("cat /acl/../image/./text", "one\\u000atwo\n"),
        ("tree /image", "text:\n  one\\u000atwo\n"),
        ("tree -L 1", "acl:\n  (2 more)\nimage:\n  (1 more)\n"),
        ("tree /acl/by/User:alice", '{"n": 3, "s": "ü"}\n'),
        ("", ""),
    ],
)
def test_commands_print(session, line, printed):
    assert said(session, line) == (printed, "")
    assert not session.failed


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("ls /nope", "ls: /nope: no such file or directory\n"),
        ("cat /acl", "cat: /acl: is a directory\n"),
        ("cat /image/text/below", "cat: /image/text/below: no such file or directory\n"),
        ("cat", "usage: cat PATH...\n"),
        ("pwd x", "usage: pwd\n"),
        ("cd /image/text", "cd: /image/text: not a directory\n"),
        ("cd /*", "cd: /*: matches 2 paths; name one\n"),
        ("tree -L x /", "tree: -L needs a number of levels, 1 or more\n"),
        ("history x", "history: x: not a number of lines\n"),
        ("lss", "lss: no such command; did you mean ls?\n"),
        ("frobnicate", "frobnicate: no such command; help lists the commands\n"),
        ("man frobnicate", "frobnicate: no such command; help lists the commands\n"),
        ("cat 'x", "a ' is not closed\n"),
        ("cat /\x1b[2J", "cat: /\\u001b[2J: no such file or directory\n"),
    ],
)
def test_an_error_is_one_line_and_the_next_command_goes_on(session, line, complaint):
    assert said(session, line) == ("", complaint)
    assert session.failed
    assert said(session, "pwd") == ("/\n", "")


def test_one_missing_path_does_not_keep_the_others_back(session):
    assert said(session, "cat /nope /image/text") == (
        "one\\u000atwo\n",
        "cat: /nope: no such file or directory\n",
    )


def test_cd_changes_what_relative_paths_mean(session):
    said(session, "cd acl/by")
    assert said(session, "pwd") == ("/acl/by\n", "")
    assert said(session, "ls User:alice ../none") == ("User:alice\n\nnone:\n", "")
    said(session, "cd ..")
    assert session.place == "/acl"
    said(session, "cd")
    assert session.place == "/"


def test_a_directory_whose_name_holds_a_star_can_be_stood_in():
    root = fixed({"*": lambda: fixed({"in": lambda: Leaf("x")}), "other": lambda: fixed({})})
    session = ShellSession(root, BUILTINS, Output(io.StringIO(), io.StringIO()))
    said(session, r"cd \*")
    assert said(session, "ls") == ("in\n", "")


def test_history_is_the_lines_typed(session):
    for line in ("pwd", "  ls /image ", ""):
        said(session, line)
    assert said(session, "history")[0] == "    0  pwd\n    1  ls /image\n    2  history\n"
    assert said(session, "history 1")[0] == "    3  history 1\n"


def test_every_command_has_help_and_a_manual(session):
    text, _ = said(session, "help")
    for name, command in BUILTINS.items():
        assert f"{command.synopsis} " in text
        assert said(session, f"man {name}")[0].startswith(f"{command.synopsis}: ")


def test_exit_leaves(session):
    said(session, "exit")
    assert session.leaving


def test_ls_uses_the_width_of_a_terminal(session):
    session.width = 30
    assert said(session, "ls /acl/by")[0] == (
        "%            User:a b\nUser:%1B[2J  User:alice\nUser:*       User:bob%2Fx\n"
    )


def completed(session, line):
    return [line[: each.start] + each.text for each in complete(session, line)]


@pytest.mark.parametrize(
    ("line", "becomes"),
    [
        ("h", ["help ", "history "]),
        ("ls /", ["ls /acl/", "ls /image/"]),
        ("ls im", ["ls image/"]),
        ("cat /image/", ["cat /image/text "]),
        ("cat ../acl/by/User:a", [r"cat ../acl/by/User:a\ b ", "cat ../acl/by/User:alice "]),
        ("cat '/acl/by/User:a l", []),
        ("cat '/acl/by/User:a ", [r"cat /acl/by/User:a\ b "]),
        (r"cat /acl/by/User:\*", [r"cat /acl/by/User:\* "]),
        ("cat /acl/by/User:b", ["cat /acl/by/User:bob%2Fx "]),
        ("man hi", ["man history "]),
        ("cd /acl /", []),
        ("frob /", []),
        ("pwd /", []),
        ("cat /image/text/", []),
        ("cat /nope/", []),
    ],
)
def test_completion(session, line, becomes):
    assert completed(session, line) == becomes


def test_a_huge_directory_is_completed_up_to_what_its_names_share():
    root = listing(lambda: {f"name-{n}": n for n in range(MOST_LISTED * 3)}, lambda n: fixed({}))
    session = ShellSession(root, BUILTINS, Output(io.StringIO(), io.StringIO()))
    assert completed(session, "ls na") == ["ls name-"]
    assert completed(session, "ls name-") == []
    assert completed(session, "ls name-1234") == ["ls name-1234/"]


def test_nothing_is_computed_before_it_is_looked_at():
    def never():
        raise AssertionError("expanded")

    root = fixed({"acl": lambda: Directory(never, lambda name: Leaf(name)), "x": never})
    session = ShellSession(root, BUILTINS, Output(io.StringIO(), io.StringIO()))
    assert said(session, "ls") == ("acl\nx\n", "")
    assert said(session, "cat /acl/one") == ("one\n", "")
    assert next(complete(session, "ls /a")).text == "/acl/"
