"""A printed ``metalog explain`` command answers from the same source with the same options."""

from __future__ import annotations

import re
import shlex
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from authorizer.trace import Question
from metalog.acl import Operation, ResourceType
from shell.arguments.question import read_principal_and_resources, read_question
from shell.main import VERBS, main
from shell.options import build_parser, parse
from shell.repeated_options import verb_options
from shell.views.explain_commands import checklist_command, command_as_typed, explain_command
from tests.support.kafka.cases import DEMO

LOG = str(DEMO / "log-dir")
CONFIG = str(DEMO / "server.properties")
PIPE = "/dev/fd/63"
PIPED = {"source": "$SOURCE", "config": "$SERVER_PROPERTIES", "command_config": "$CLIENT_CONFIG"}
PARSER = build_parser("explain", "", VERBS["explain"].load_verb())
COMMAND = re.compile(r"^ +metalog (explain .*)$", re.MULTILINE)

words = st.text("aZ0-=:'\"$ /*é", min_size=1, max_size=6).filter("--".__ne__)
optional_words = st.none() | words
files = optional_words | st.just(PIPE)
namespaces = st.builds(
    Namespace,
    source=words.filter(lambda text: text[0] != "-") | st.just(PIPE),
    at=optional_words,
    command_config=files,
    config=files,
    super_users=optional_words,
    allow_everyone=st.sampled_from([None, True, False]),
    kafka=st.sampled_from([None, "4.3", "4.4"]),
    committed=st.booleans(),
    salvage=st.booleans(),
)
kinds = st.sampled_from([each for each in ResourceType if each > ResourceType.ANY])
operations = st.sampled_from([each for each in Operation if each > Operation.ANY])
principals = words.map("User:{}".format)
hosts = st.sampled_from([None, "10.0.0.1", "0:0:0:0:0:0:0:1"])
questions = st.builds(Question, principals, operations, kinds, words, hosts, st.just(()))


def _parsed(command: str) -> Namespace:
    program, verb, *arguments = shlex.split(command)
    assert (program, verb) == ("metalog", "explain")
    return parse(PARSER, arguments)


def _assert_same_input(parsed: Namespace, arguments: Namespace) -> None:
    for name, value in vars(arguments).items():
        assert getattr(parsed, name) == (PIPED[name] if value == PIPE else value)


@given(questions, namespaces)
def test_a_command_asks_the_question_with_the_options(
    question: Question, arguments: Namespace
) -> None:
    """A variable stands for a file that a shell made for one command."""
    parsed = _parsed(explain_command(question, arguments))
    _assert_same_input(parsed, arguments)
    assert read_question(parsed).question == question


@given(questions, st.sampled_from(["consumer", "producer"]), namespaces)
def test_a_checklist_is_about_the_topic_with_the_options(
    question: Question, client: str, arguments: Namespace
) -> None:
    parsed = _parsed(checklist_command(question, f"--{client}", arguments))
    _assert_same_input(parsed, arguments)
    assert (parsed.consumer, parsed.producer) == (client == "consumer", client == "producer")
    assert parsed.host == question.host
    topic = (ResourceType.TOPIC, question.resource_name)
    assert read_principal_and_resources(parsed) == (question.principal, [topic])


@given(st.lists(words))
def test_words_are_typed_again(typed: list[str]) -> None:
    assert shlex.split(command_as_typed(typed)) == ["metalog", "explain", *typed]


def test_a_file_of_one_command_is_not_typed_again() -> None:
    typed = [PIPE, "--config", PIPE, f"--command-config={PIPE}", "--at", "1"]
    assert command_as_typed(typed) == (
        'metalog explain "$SOURCE" --config "$SERVER_PROPERTIES"'
        ' --command-config="$CLIENT_CONFIG" --at 1'
    )


@pytest.mark.parametrize(
    "verb",
    [
        ("explain", LOG, "--at=100", "User:zoe", "DESCRIBE", "topic:orders"),
        ("can", LOG, "--at=100", "User:zoe", "DESCRIBE", "topic:orders"),
        (
            "prove",
            LOG,
            "--at=100",
            "deny: {principal: User:zoe, operation: Read, resource: topic:a}",
        ),
        ("test", LOG, "--at=100", "EXPECTATIONS"),
        ("diff", LOG, LOG, "--meaning", "--from=50", "--to=100"),
        ("shell", LOG, "--at=100", "--", "explain", "User:zoe", "DESCRIBE", "topic:orders"),
    ],
    ids=lambda words: words[0],
)
def test_each_verb_repeats_the_options(
    verb: Sequence[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "expected.yaml"
    file.write_text("deny:\n  - {principal: User:zoe, operation: Read, resource: topic:a}\n")
    options = [
        f"--config={CONFIG}",
        "--super-users=User:root",
        "--kafka=4.4",
        "--allow-everyone",
        "--committed",
        "--salvage",
    ]
    name, *arguments = [str(file) if word == "EXPECTATIONS" else word for word in verb]
    main([name, *options, *arguments])
    commands = COMMAND.findall(capsys.readouterr().out)
    assert commands
    for command in commands:
        parsed = _parsed(f"metalog {command}")
        assert (parsed.source, parsed.at) == (LOG, "100")
        assert verb_options(parsed) == options


def test_what_an_audit_line_shows_of_the_configuration_is_repeated(
    capsys: pytest.CaptureFixture[str],
) -> None:
    line = (
        "Principal = User:zoe is Allowed operation = DESCRIBE from host = 10.0.0.1"
        " on resource = Topic:LITERAL:orders for request = Metadata"
        " with resourceRefCount = 1 based on rule DefaultAllow"
    )
    main(["explain", LOG, "--at=100", line])
    commands = COMMAND.findall(capsys.readouterr().out)
    assert commands
    assert all(_parsed(f"metalog {command}").allow_everyone for command in commands)
