"""The common rules of the command: help, version, exit codes, streams."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tomllib
from argparse import SUPPRESS
from contextlib import suppress
from pathlib import Path

import pytest

from shell.main import TABLE, VERBS, main
from shell.options import build_parser, invocation
from shell.verb_table import Verb, VerbModule
from shell.version import VERSION, VERSION_LINE
from tests.support.command.runs import Run, run_metalog, run_python
from tests.support.command.terminal import at_a_terminal
from tests.support.kafka.cases import DEMO, OWN_KAFKA, REPOSITORY

LOG_DIR = str(DEMO / "log-dir")
BASIC = str(OWN_KAFKA / "basic-4.3" / "log-dir")


def on_a_terminal(*arguments: str, environment: dict[str, str] | None = None) -> tuple[str, int]:
    """The output of ``metalog ARGUMENTS`` on a terminal, and its exit code."""
    command = [sys.executable, "-m", "shell.main", *arguments]
    return at_a_terminal(command, environment=environment)


@pytest.mark.smoke
def test_the_version_is_the_distributions() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["version"] == VERSION
    assert run_metalog("--version").stdout.startswith(f"metalog {VERSION} ")


def test_each_verb_says_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    for words in ("", "pipeline", *(name for name, _, _ in TABLE.commands())):
        with suppress(SystemExit):
            main([*words.split(), "--version"])
        assert capsys.readouterr().out == f"{VERSION_LINE}\n", words


def test_help_shows_the_verbs_there_are_by_group(run: Run) -> None:
    done = run("--help")
    assert done.returncode == 0
    for name, verb in VERBS.items():
        assert f"{name:<12}{verb.line}" in done.stdout
    assert [line.split()[0] for line in done.stdout.splitlines() if line[:1].isupper()][:6] == [
        "Ask",
        "Look",
        "Check",
        "Change",
        "Run",
        "Set",
    ]


def test_without_a_verb_it_helps_and_has_no_answer(run: Run) -> None:
    done = run()
    assert (done.stdout, done.returncode) == (run("--help").stdout, 2)


def test_each_verb_has_what_the_command_needs_of_it():
    for words, _, module in TABLE.commands():
        assert isinstance(module, VerbModule), words


@pytest.mark.parametrize(("words", "verb"), [(words, verb) for words, verb, _ in TABLE.commands()])
def test_each_verb_helps(words: str, verb: Verb, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main([*words.split(), "--help"])
    assert left.value.code == 0
    assert verb.line in " ".join(capsys.readouterr().out.split())


def test_help_shows_which_options_take_a_value() -> None:
    for words, verb, module in TABLE.commands():
        for action in build_parser(words, verb.line, module)._actions:
            if action.option_strings and action.nargs != 0 and action.help is not SUPPRESS:
                assert invocation(action).endswith(f" {action.metavar}"), (words, action.dest)


def test_a_verb_with_verbs_of_its_own_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pipeline", "--help"]) == 0
    listed = capsys.readouterr().out
    assert main(["help", "pipeline"]) == 0
    assert capsys.readouterr().out == listed
    assert main(["pipeline"]) == 2
    assert capsys.readouterr().out == listed
    for words, verb, _ in TABLE.commands():
        if words.startswith("pipeline "):
            assert f"  {words.split()[1]} " in listed
            assert f"  {verb.line}\n" in listed


def test_options_for_every_verb_may_stand_before_the_verb(run: Run) -> None:
    before = run("--no-pager", "--color", "always", "-q", "users", LOG_DIR)
    after = run("users", LOG_DIR, "--no-pager", "--color=always", "-q")
    assert before.stdout == after.stdout != ""
    assert "\x1b[" in before.stdout


def test_help_may_be_asked_for_as_a_verb(run: Run) -> None:
    assert run("help").stdout == run("--help").stdout != ""
    assert run("help", "acls").stdout == run("acls", "--help").stdout != ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["aclz"], "unknown verb 'aclz'; did you mean acls?"),
        (["report"], "unknown verb 'report'; did you mean pipeline report?"),
        (["qqqqqq"], "unknown verb 'qqqqqq'; metalog --help lists the verbs"),
        (["--at", "5", "acls", LOG_DIR], "metalog: options such as --at come after the verb"),
        (["acls", "--bootstrap-server", "b:1"], "a cluster is a SOURCE, cluster://HOST:PORT"),
        (["--frob"], "unknown option --frob without a verb"),
        (["pipeline", "qqqq"], "unknown verb 'qqqq'; metalog pipeline --help lists the verbs"),
        (["pipeline", "--frob"], "--frob without a verb; metalog pipeline --help lists"),
        (["acls"], "the following arguments are required: SOURCE; see metalog acls --help"),
        (["acls", LOG_DIR, "--frob"], "unknown option --frob; see metalog acls --help"),
        (["acls", LOG_DIR, "-frob"], "unknown option -f; see metalog acls --help"),
        (["acls", LOG_DIR, "-topic", "x"], "unknown option -t; did you mean --topic?"),
        (["acls", LOG_DIR, "--quiet=x"], "argument -q/--quiet takes no value; see metalog acls"),
        (["acls", LOG_DIR, "--topc=x"], "unknown option --topc; did you mean --topic?"),
        (["acls", LOG_DIR, "--allow-principal", "User:a"], "--allow-principal; see metalog acls"),
        (["apply", LOG_DIR, LOG_DIR, "--audit", "x"], "option --audit; see metalog apply --help"),
        (["acls", LOG_DIR, "a", "b"], "too many arguments: a b; see metalog acls --help"),
        (["who-can", LOG_DIR, "topic:t", "read"], "'topic:t' is not an operation; the order is"),
        (["format", "x", "--node-id", "one"], "--node-id: its value is not a whole number;"),
        (["acls", LOG_DIR, "-o", "xml"], "invalid choice: 'xml'"),
        (["acls", LOG_DIR, "-o", "yaml"], "; metalog export writes ACLs as yaml; see metalog acls"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_2(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("metalog: ")
    assert said in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [
        ["-ptop-secret-1", "passwd", LOG_DIR, "alice"],
        ["--password", "top-secret-1", "passwd", LOG_DIR, "alice"],
        ["-ptop-secret-1", "passwrd"],
        ["-ptop-secret-1"],
        ["--password=top-secret-1"],
        ["passwd", LOG_DIR, "alice", "-ptop-secret-1"],
        ["passwd", LOG_DIR, "alice", "-p", "top-secret-1"],
        ["passwd", LOG_DIR, "alice", "--top-secret-1"],
        ["passwd", LOG_DIR, "alice", "--passwordtop-secret-1"],
        ["passwd", LOG_DIR, "alice", "-qtop-secret-1"],
        ["passwd", LOG_DIR, "alice", "--delete=top-secret-1"],
        ["format", "x", "SCRAM-SHA-256=[name=alice,password=top-secret-1]"],
        ["format", "x", "-aSCRAM-SHA-256=[name=alice,password=top-secret-1]"],
        ["format", "x", "--standalone=SCRAM-SHA-256=[name=alice,password=top-secret-1]"],
    ],
)
def test_no_error_repeats_a_password_among_the_words(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "top-secret" not in err


def test_a_fault_of_ours_is_no_answer_rather_than_no(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("x")

    monkeypatch.setattr("shell.verbs.look.users.run", fail)
    assert main(["users", LOG_DIR]) == 2
    assert "a bug in metalog, ZeroDivisionError" in capsys.readouterr().err


def test_an_interrupt_is_silent(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Python 3.11 turns an interrupt inside a class body, as in an import, into another error."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    def interrupt_a_class(*_: object) -> None:
        try:
            interrupt()
        except KeyboardInterrupt as error:
            raise RuntimeError("Error calling __set_name__") from error

    for each in interrupt, interrupt_a_class:
        monkeypatch.setattr("shell.verbs.look.users.run", each)
        assert main(["users", LOG_DIR]) == 128 + signal.SIGINT
    assert capsys.readouterr() == ("", "")


def test_a_closed_pipe_is_silent() -> None:
    """The pipe takes less than the dump, so the command cannot end before it is closed."""
    process = subprocess.Popen(
        [sys.executable, "-m", "shell.main", "dump", LOG_DIR, "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=REPOSITORY,
        pipesize=4096,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline().startswith(b'{"offset":0,')
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    assert (process.wait(60), said) == (2, b"")


def test_help_is_written_in_any_encoding() -> None:
    latin = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    assert "\\u2026" in run_metalog("mcp", "--help", environment=latin).stdout


@pytest.mark.parametrize(
    "words",
    [["can", LOG_DIR, "User:a", "read", "topic:a"], ["can", "--help"], ["acls", "--version"]],
)
def test_a_full_disk_is_no_answer(words: list[str]) -> None:
    full = Path("/dev/full")
    if not full.exists():
        return
    with full.open("w") as out:
        done = subprocess.run(
            [sys.executable, "-m", "shell.main", *words],
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            cwd=REPOSITORY,
            check=False,
        )
    assert done.returncode == 2
    assert "No space left on device" in done.stderr


@pytest.mark.once
def test_color_is_for_terminals_that_want_it() -> None:
    assert "\x1b[" not in run_metalog("acls", LOG_DIR, environment={"NO_COLOR": ""}).stdout
    colored, _ = on_a_terminal("acls", LOG_DIR, environment={"NO_COLOR": ""})
    assert "\x1b[32mALLOW\x1b[m" in colored
    plain, _ = on_a_terminal("acls", LOG_DIR, environment={"NO_COLOR": "1"})
    assert "\x1b[" not in plain
    never, _ = on_a_terminal("acls", LOG_DIR, "--color=never", environment={"NO_COLOR": ""})
    assert "\x1b[" not in never


@pytest.mark.once
def test_on_a_terminal_it_pages_as_git_does(run: Run) -> None:
    pager = {"PAGER": "sed s/^/paged:/", "NO_COLOR": "1"}
    paged, code = on_a_terminal("users", LOG_DIR, environment=pager)
    assert code == 0
    assert all(line.startswith("paged:") for line in paged.splitlines())
    plain, _ = on_a_terminal("users", LOG_DIR, "--no-pager", environment=pager)
    assert plain == run("users", LOG_DIR).stdout
    missing, _ = on_a_terminal("users", LOG_DIR, environment={**pager, "PAGER": "no-such-pager"})
    assert missing == plain
    as_json, _ = on_a_terminal("users", LOG_DIR, "--json", environment=pager)
    assert as_json.startswith("{")


def test_the_exit_code_survives_the_pager_and_its_early_end() -> None:
    printed, code = on_a_terminal("dump", LOG_DIR, environment={"PAGER": "head -1"})
    assert printed.count("\n") == 1
    assert code in (0, 2)


def test_json_is_utf_8_whatever_the_locale() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "utf8=0", "-m", "shell.main", "users", BASIC, "--json"],
        env={**os.environ, "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"},
        capture_output=True,
        cwd=REPOSITORY,
        check=True,
    )
    assert "jürgen" in done.stdout.decode("utf-8")


def test_what_is_imported_for_the_version_is_little() -> None:
    done = run_python(
        "-c",
        "import sys; before = set(sys.modules); from shell.main import main; "
        "main(['--version']); print(*sorted(set(sys.modules) - before))",
    )
    loaded = set(done.stdout.splitlines()[1].split())
    heavy = {"argparse", "json", "importlib.metadata", "difflib", "logging", "inspect"}
    assert not loaded & heavy
    assert len(loaded) < 45


DIGITS = "9" * 5_000


@pytest.mark.parametrize(
    "command",
    [
        ["format", "node", "--feature", f"metadata.version={DIGITS}"],
        ["can", "@demo", "User:a", DIGITS, "topic:t"],
        ["plan", "@demo", "a.json", "--max-removals", DIGITS],
        ["acls", "a.json"],
        ["acls", f"cluster://h:{DIGITS}"],
        ["acls", "@demo", "--at", f"@{DIGITS}"],
        ["pipeline", "demo", "--requests", DIGITS],
    ],
    ids=lambda command: " ".join(command).replace(DIGITS, "DIGITS"),
)
def test_a_number_of_thousands_of_digits_is_a_mistake_and_is_not_repeated(
    command: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.json").write_text(f'{{"user":"b","mechanism":"SCRAM_SHA_512","iterations":{DIGITS}}}')
    assert main(command) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "bug in metalog" not in said
    assert len(said) < 500
