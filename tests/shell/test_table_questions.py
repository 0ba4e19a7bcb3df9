"""A session on a pipeline's tables: the meaning of a line, and its completion by Tab."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from types import SimpleNamespace

import pytest
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output.vt100 import Vt100_Output

from metalog.errors import InvalidRequest
from shell.arguments.line_source import run_lines
from shell.arguments.pipeline import add_folder
from shell.browser.prompt import converse
from shell.browser.table_session import QueryRows, TableSession
from shell.output.output import Output
from shell.verbs.pipeline import VERBS

CTRL_C, TAB = "\x03", "\t"


class BrokenInSpark(Exception):
    pass


class NoSpark:
    """Answers each query by one row with the query."""

    def __init__(self) -> None:
        self.interrupts = False

    def sql(self, query: str, most: int) -> QueryRows:
        if self.interrupts:
            self.interrupts = False
            raise KeyboardInterrupt
        if "nope" in query:
            raise BrokenInSpark
        return QueryRows(("query", "none"), [(query, None)] * (most + 1 if "all" in query else 1))

    def names(self) -> Sequence[str]:
        return "usage", "requests"

    def renew(self) -> None:
        pass

    def error_text(self, error: Exception) -> str | None:
        return "Spark: no column nope" if isinstance(error, BrokenInSpark) else None


Visit = tuple[TableSession, Callable[[], tuple[str, str]]]


def visit(format: str = "text", *, has_numbers: bool = False) -> Visit:
    output = Output(io.StringIO(), io.StringIO(), format=format)
    questions = TableSession("prod", VERBS, NoSpark(), output, None, has_numbers=has_numbers)
    return questions, lambda: (output.out.getvalue(), output.err.getvalue())


def test_sql_is_shown_as_a_table_and_as_json() -> None:
    questions, printed = visit()
    questions.run_line("select 1;")
    assert printed() == ("query     none\nselect 1\n", "")
    questions, printed = visit("json")
    questions.run_line("SELECT 'all'")
    out, err = printed()
    assert {json.dumps(json.loads(line)) for line in out.splitlines()} == {
        '{"query": "SELECT \'all\'", "none": null}'
    }
    assert err == "note: only the first 1,000 rows are shown; LIMIT and ORDER BY choose others\n"
    assert len(out.splitlines()) == 1000


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("unusd", "unusd: neither a verb nor a query; did you mean unused?"),
        ("DROP VIEW usage", "DROP: neither a verb nor a query; help lists the commands"),
        ("select nope", "Spark: no column nope"),
        ("unused --frm -3d", "unknown option --frm; did you mean --from?"),
        ("unused 'x", "No closing quotation: close the quotes, or put a \\ before a single quote"),
    ],
)
def test_what_cannot_be_carried_out_is_one_line_and_the_next_goes_on(
    line: str, complaint: str
) -> None:
    questions, printed = visit()
    questions.run_line(line)
    questions.run_line("select 1")
    out, err = printed()
    assert err == f"metalog: {complaint}\n"
    assert out.endswith("select 1\n")
    assert questions.failed


def test_an_error_of_a_pipe_names_its_line_as_an_editor_counts_it() -> None:
    questions, printed = visit(has_numbers=True)
    run_lines(questions, io.StringIO("select 1\n\nselect nope\nunusd\nselect 2\nunused --frm x\n"))
    numbers = [line.split(": ")[1] for line in printed()[1].splitlines()]
    assert numbers == ["line 3", "line 4", "line 6"]


def test_a_warning_is_printed_once_a_session_and_a_note_each_time(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def run(arguments: object, output: Output) -> int:
        output.warn("a line is broken")
        output.note("of today")
        return 0

    module = SimpleNamespace(
        run=run, configure=add_folder, FORMATS=("text",), PAGED=False, EPILOG="", USAGE=""
    )
    verb = SimpleNamespace(line="warns", load_verb=lambda: module)
    output = Output(io.StringIO(), io.StringIO())
    for _ in range(2):
        session = TableSession("prod", {"warns": verb}, NoSpark(), output, None)
        for _ in range(3):
            session.run_line("warns")
        lines = capsys.readouterr().err.splitlines()
        assert (lines.count("warning: a line is broken"), lines.count("note: of today")) == (1, 3)


def test_a_verb_gets_the_tables_and_the_format(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = []
    monkeypatch.setattr("shell.browser.table_session.run_verb", lambda *given: ran.append(given[3]))
    questions, _ = visit("json")
    questions.run_line("unused --from -30d")
    questions.run_line("build --log 'a b' --audit x")
    assert ran == [
        ["prod", "--from", "-30d", "--no-pager", "-o", "json"],
        ["--out", "prod", "--log", "a b", "--audit", "x", "--no-pager", "-o", "json"],
    ]


def test_a_fault_of_ours_is_not_taken_for_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    questions, _ = visit()
    monkeypatch.setattr(questions, "_show", broken)
    with pytest.raises(ZeroDivisionError):
        questions.run_line("select 1")


def test_tab_completes_verbs_options_and_names_of_tables() -> None:
    questions, _ = visit()

    def found(line: str) -> list[str]:
        return [line[: each.start] + each.text for each in questions.complete(line)]

    assert found("unu") == ["unused "]
    assert found("sel") == ["SELECT "]
    assert found("unused --tol") == ["unused --tolerate "]
    assert found("SELECT count(*) FROM us") == ["SELECT count(*) FROM usage "]
    assert found("SELECT count(re") == ["SELECT count(requests "]


def test_at_a_prompt_lines_are_remembered_and_ctrl_c_stops_one_answer() -> None:
    questions, printed = visit()
    questions._spark.interrupts = True
    screen = io.StringIO()
    terminal = Vt100_Output(screen, lambda: Size(rows=24, columns=80), term="xterm")
    with create_pipe_input() as pipe:
        pipe.send_text(f"select 1\rselect{CTRL_C}hist{TAB}\rexit\rselect 2\r")
        converse(questions, questions.complete, "", input=pipe, output=terminal)
    out, err = printed()
    assert out == "   1  select 1\n   2  history\n"
    assert err == "\n"
    assert "prod>" in screen.getvalue()


def test_what_is_not_ours_to_say_stays_an_error() -> None:
    questions, printed = visit()
    questions._spark = SimpleNamespace(renew=lambda: _raise(InvalidRequest("prod: is gone")))
    questions.run_line("select 1")
    assert printed()[1] == "metalog: prod: is gone\n"


def _raise(error: Exception) -> None:
    raise error
