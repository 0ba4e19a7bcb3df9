"""The tools for assistants, called by the SDK's own client over stdio."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.server.mcpserver.exceptions import ToolError

from shell.main import VERBS
from shell.options import build_parser, parse
from shell.output.output import Output
from shell.run_verb import VerbAnswer, verb_answer
from shell.verbs import mcp as verb
from tests.support.command.runs import Run
from tests.support.kafka.cases import REPOSITORY, kafka_case

FILES = REPOSITORY / "docs" / "guide" / "acls"
QUESTION = ("User:billing", "READ", "topic:payments-eu")
SERVER = StdioServerParameters(
    command=sys.executable,
    args=["-m", "shell.main", "mcp", "@demo", "--wanted", str(FILES)],
    cwd=REPOSITORY,
)


def printed(run: Run, *words: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run(*words, "-o", "json").stdout.splitlines()]


def test_a_client_asks_why_this_was_denied_and_gets_the_remedy(run: Run) -> None:
    answers: dict[str, Any] = {}

    async def ask() -> None:
        async with Client(stdio_client(SERVER)) as client:
            listed = await client.list_tools()
            answers["tools"] = {tool.name: tool for tool in listed.tools}
            named = dict(zip(("principal", "operation", "resource"), QUESTION, strict=True))
            for name, arguments in {
                "explain": named,
                "plan": {"prune": True},
                "can": named | {"resource": "--config=secrets"},
            }.items():
                answers[name] = await client.call_tool(name, arguments)

    anyio.run(ask)
    assert set(answers["tools"]) == {
        *("can", "explain", "who-can", "access", "history", "lint", "diff", "plan")
    }
    assert all(tool.annotations.read_only_hint for tool in answers["tools"].values())
    explained = answers["explain"].structured_content
    assert explained["answers"] == printed(run, "explain", "@demo", *QUESTION)
    [remedy, *_] = explained["answers"][0]["remedies"]
    assert "--add --allow-principal User:billing --operation Read" in remedy["commands"][0]
    planned = answers["plan"].structured_content
    assert planned["answers"] == printed(run, "plan", "@demo", str(FILES), "--prune")
    assert answers["can"].is_error
    assert "does not begin with a hyphen" in answers["can"].content[0].text


def test_a_signal_ends_it_though_its_client_still_listens() -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([SERVER.command, *SERVER.args], cwd=REPOSITORY, **pipes) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
        server.stdin.flush()
        assert b'"id":1' in server.stdout.readline()
        server.terminate()
        assert server.wait(60) == 128 + signal.SIGTERM


def tools(*words: str) -> verb.Tools:
    return verb.Tools(parse(build_parser("mcp", "", verb), words))


ASKED: dict[str, Callable[[verb.Tools], verb.ToolAnswer]] = {
    "can @demo User:billing READ topic:payments-eu --at 120": lambda it: it.can(
        *QUESTION, at="120"
    ),
    "who-can @demo Read topic:orders": lambda it: it.who_can("Read", "topic:orders"),
    "access @demo User:billing": lambda it: it.access("User:billing"),
    "history @demo": lambda it: it.history(),
    "history @demo User:billing READ topic:payments-eu --from=100": lambda it: it.history(
        *QUESTION, since="100"
    ),
    "history @demo --principal User:billing": lambda it: it.history("User:billing"),
    "lint @demo --only everyone": lambda it: it.lint(["everyone"]),
    "diff @demo --from=-6h --meaning": lambda it: it.diff("-6h", meaning=True),
}


@pytest.mark.parametrize("words", ASKED)
def test_a_tool_gives_the_json_of_its_verb(words: str, run: Run) -> None:
    answer = ASKED[words](tools("@demo"))
    assert answer["answers"] == printed(run, *words.split())
    assert answer["isWhole"]


def test_a_change_of_a_user_shows_no_secret() -> None:
    whole = json.dumps(tools(str(kafka_case("basic-4.3").log_dir)).history())
    assert "SCRAM" in whole
    assert not re.search("salt|stored|serverKey", whole)


def test_no_tool_plans_where_no_files_are_given_and_none_changes_anything() -> None:
    names = {name for name, _ in tools("@demo").all()}
    assert "plan" not in names
    assert {VERBS[name].group for name in names} == {"Ask", "Look", "Check"}


def test_an_answer_is_bounded(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    whole = printed(run, "history", "@demo")
    monkeypatch.setattr(verb, "MOST_CHARACTERS", 1000)
    answer = tools("@demo").history()
    assert answer["answers"] == whole[: len(answer["answers"])]
    assert 0 < len(answer["answers"]) < len(whole)
    assert (answer["exitCode"], answer["isWhole"]) == (None, False)
    assert "ask for less" in answer["notes"][-1]


def test_an_answer_without_all_notes_is_not_whole() -> None:
    """Any note can be one without which the answer misleads."""

    def run(arguments: Namespace, output: Output) -> int:
        output.warn("one")
        output.warn("two")
        return 0

    verb_of_two_notes: Any = SimpleNamespace(
        USAGE="",
        FORMATS=("text", "json"),
        EPILOG="",
        PAGED=False,
        configure=lambda parser: None,
        run=run,
    )
    whole = ["warning: one", "warning: two"]
    length = len("".join(f"{note}\n" for note in whole))

    def ask(most: int) -> VerbAnswer:
        return verb_answer("status", VERBS["status"], verb_of_two_notes, [], most)

    assert ask(length) == (0, [], whole, True)
    assert ask(length - 1) == (0, [], [*whole[:1], "more than 25 characters: ask for less"], False)


def test_where_a_verb_gives_no_answer_a_tool_gives_none(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="there is no such file or folder"):
        tools(str(tmp_path / "missing")).access("User:a")
    with pytest.raises(ToolError, match="did you mean READ"):
        tools("@demo").who_can("Reed", "topic:t")


def test_an_option_of_the_command_reaches_each_tool() -> None:
    given = tools("@demo", "--super-users", "User:billing", "--kafka", "4.4")
    [answer] = given.can(*QUESTION)["answers"]
    assert (answer["rule"], answer["kafkaVersion"]) == ("SuperUser", "4.4")
    plain = tools("@demo")
    assert given.diff("0", "5") == plain.diff("0", "5")
    assert given.diff("0", meaning=True)["answers"] != plain.diff("0", meaning=True)["answers"]
