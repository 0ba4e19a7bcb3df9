"""Commands name the source that was read, in text and in JSON."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from metalog.acl import ACL_KEYS, words_of
from metalog_sources.source import Source, open_source
from shell.main import main
from shell.tasks.command_target import ANY_CLUSTER, CommandTarget, target_lines
from tests.support.disk.written_log import formatted
from tests.support.node.running import running_in
from tests.support.worlds.small_acls import allow

DENIED = ("User:contractor", "READ", "topic:orders")
ADDED = allow("t", principal="User:b")
_COMMAND = re.compile(r"^ +((?:metalog )?kafka-acls .*)$", re.MULTILINE)


def source(text: str, settings: str | None) -> Source:
    kind, _, address = text.partition("://")
    opened = open_source("@demo", environ={}).opened
    config = None if settings is None else Path(settings)
    return Source(text, kind, opened, f"{kind}://{address}", None, config)


@pytest.mark.parametrize(
    ("text", "settings", "place"),
    [
        ("cluster://b:1,c:2", None, ("--bootstrap-server b:1,c:2", "cluster://b:1,c:2")),
        (
            "quorum://c:1",
            "my admin.properties",
            (
                "--bootstrap-controller c:1 --command-config 'my admin.properties'",
                "cluster://c:1 --command-config 'my admin.properties'",
            ),
        ),
        (
            "cluster://b:1",
            "/dev/fd/63",
            (
                '--bootstrap-server b:1 --command-config "$CLIENT_CONFIG"',
                'cluster://b:1 --command-config "$CLIENT_CONFIG"',
            ),
        ),
        ("zookeeper://z:1", None, (ANY_CLUSTER.options, "zookeeper://z:1")),
        ("folder", None, ANY_CLUSTER[:2]),
    ],
    ids=["brokers", "controllers", "settings from a pipe", "ZooKeeper", "a folder"],
)
def test_commands_go_to_what_was_read(
    text: str, settings: str | None, place: tuple[str, str]
) -> None:
    """A pipe that a shell made for one command is gone when the next one runs."""
    assert CommandTarget.of(source(text, settings)) == CommandTarget(*place)


def test_what_a_pipe_held_is_asked_of_the_shell() -> None:
    [said] = target_lines(CommandTarget.of(source("cluster://b:1", "/dev/fd/63")))
    assert said.startswith("first: export CLIENT_CONFIG=FILE")
    assert list(target_lines(CommandTarget.of(source("cluster://b:1", "a.properties")))) == []


@pytest.mark.parametrize("question", [DENIED, ("User:billing", "--producer", "--topic", "orders")])
def test_json_has_the_commands_of_the_text(
    question: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", "@demo", *question, "--all"]) == 0
    printed = set(_COMMAND.findall(capsys.readouterr().out))
    assert main(["explain", "@demo", *question, "-o", "json"]) == 0
    record = json.loads(capsys.readouterr().out.splitlines()[0])
    remedies = record["remedies"] if "remedies" in record else [record["remedy"]]
    commands = {each for remedy in remedies for each in remedy["commands"]}
    assert commands
    assert commands == {each for each in printed if each.startswith("kafka-acls ")}
    own = {each for remedy in remedies for each in remedy["ownCommands"]}
    assert printed - commands <= own


@pytest.mark.parametrize("asked", [DENIED, ("User:x", "CREATE_TOKENS", "topic:orders")])
def test_shell_variables_are_explained_if_a_command_needs_them(
    asked: tuple[str, str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """kafka-acls cannot add an ACL for an operation that Kafka never checks."""
    main(["explain", "@demo", *asked])
    out = capsys.readouterr().out
    assert bool(_COMMAND.search(out)) is ("export BOOTSTRAP" in out)


def test_lint_plan_and_diff_name_the_cluster(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = tmp_path / "wanted.jsonl"
    wanted.write_text("")
    settings = tmp_path / "my client.properties"
    settings.write_text("")
    with running_in(formatted(tmp_path / "node")) as node:
        address = str(node.addresses["PLAINTEXT"])
        cluster = (f"cluster://{address}", "--command-config", str(settings))
        acl = ("--allow-principal", "User:*", "--operation", "All", "--topic", "t")
        assert main(["kafka-acls", *cluster, "--add", *acl]) == 0
        capsys.readouterr()
        texts = []
        main(["lint", *cluster, "--json", "-q"])
        texts += json.loads(capsys.readouterr().out.splitlines()[0])["commands"]
        main(["lint", *cluster, "-q"])
        texts += _COMMAND.findall(capsys.readouterr().out)
        commands = ("-o", "commands", "-q")
        main(["diff", cluster[0], str(wanted), *cluster[1:], *commands])
        wanted.write_text(json.dumps(dict(zip(ACL_KEYS, words_of(ADDED), strict=True))))
        main(["plan", cluster[0], str(wanted), *cluster[1:], *commands])
        texts += capsys.readouterr().out.splitlines()
    words = [shlex.split(text) for text in texts]
    assert {tuple(each[5:7]) for each in words} == {
        ("--remove", "--force"),
        ("--add", "--allow-principal"),
    }
    options = ["--bootstrap-server", address, "--command-config", str(settings)]
    assert {tuple(each[:5]) for each in words} == {("kafka-acls", *options)}
