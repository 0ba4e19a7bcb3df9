"""``explain`` in the metadata shell answers as the verb does, for the newest state of the log."""

from __future__ import annotations

import io
from argparse import Namespace
from typing import TYPE_CHECKING, NoReturn

import pytest

from metalog.acl import Acl, Operation, PatternType, PermissionType, ResourceType
from metalog.errors import InvalidSource
from metalog.ids import Uuid
from metalog.image.metadata import MetadataImage
from metalog.image.state.acls import AclsImage
from metalog.image.table import Table
from metalog_sources.live.followed_replay import LiveReplay
from metalog_sources.replay import replay_source
from metalog_sources.source import open_source
from shell.browser.builtins.explain import explain_command
from shell.browser.completion import complete
from shell.browser.session import ShellSession
from shell.browser.tree.root import root_directory
from shell.output.output import Output
from tests.support.command.runs import run_here
from tests.support.disk.written_log import formatted
from tests.support.node.running import running_in
from tests.support.worlds.small_acls import allow

if TYPE_CHECKING:
    from pathlib import Path

ASKED = ("explain", "User:billing", "READ", "topic:payments-eu", "--host", "10.0.4.12")
CHECKLIST = ("explain", "User:billing", "--consumer", "--topic", "payments-eu")
LINE = (
    "Principal = User:billing is Denied operation = READ from host = 10.0.4.12 on resource = "
    "Topic:LITERAL:payments-eu for request = Fetch with resourceRefCount = 1 based on rule "
    "DefaultDeny"
)


@pytest.mark.parametrize("words", [ASKED, CHECKLIST, ("explain", LINE)])
def test_it_says_what_the_verb_says(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    verb, *asked = words
    told = run_here(capsys, verb, "@demo", *asked)
    said = run_here(capsys, "shell", "@demo", "--", *words)
    assert (said.returncode, said.stdout) == (0, told.stdout)
    assert said.stderr == told.stderr


def test_a_block_is_matched_by_the_kafka_that_decides(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log = formatted(tmp_path / "node")
    block = "ALLOW User:a READ topic:t --host 10.0.0.0/8"
    assert run_here(capsys, "kafka-acls", log, *_added(block)).returncode == 0
    inside = ("explain", "User:a", "Read", "topic:t", "--host", "10.2.0.1")
    for options, answer, is_noted in (
        ((), "DENIED", True),
        (("--kafka", "4.3"), "DENIED", False),
        (("--kafka", "4.4"), "ALLOWED", False),
    ):
        done = run_here(capsys, "shell", log, *options, "--", *inside)
        assert done.stdout.startswith(f"{answer}  User:a")
        noted = "Kafka 4.4 would answer ALLOWED, by ALLOW User:a READ on topic t from 10.0.0.0/8"
        assert (noted in done.stderr) is is_noted
    outside = ("explain", "User:a", "Read", "topic:t", "--host", "11.0.0.1")
    done = run_here(capsys, "shell", log, "--kafka", "4.4", "--", *outside)
    assert "11.0.0.1 is just outside the ACL's block 10.0.0.0/8" in done.stdout


def _added(acl: str) -> list[str]:
    permission, principal, operation, resource, _, host = acl.split()
    assert permission == "ALLOW"
    name = resource.removeprefix("topic:")
    options = ("--operation", operation, "--topic", name, "--allow-host", host)
    return ["--add", "--allow-principal", principal, *options]


def test_what_cannot_be_asked_is_one_line_and_the_next_command_goes_on(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    missing = tmp_path / "missing"
    lines = ("explain", "explain -", f"explain --audit {missing}", "explain --hots x", "pwd")
    done = run_here(capsys, "shell", "@demo", stdin="\n".join(lines))
    assert (done.returncode, done.stdout) == (2, "/\n")
    assert done.stderr.splitlines() == [
        "usage: explain QUESTION",
        "explain: '-' cannot be used in this shell, which itself reads stdin",
        f"explain: {missing}: No such file or directory",
        "explain: unknown option --hots; did you mean --host?",
    ]


def test_a_log_from_which_no_answer_may_be_taken_gives_none(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log = formatted(tmp_path / "node")
    done = run_here(capsys, "shell", log, "--", *ASKED)
    assert (done.returncode, done.stdout) == (2, "")
    assert "explain: no committed metadata record was read" in done.stderr


def test_a_running_log_is_asked_as_it_is_now(tmp_path: Path) -> None:
    acl = allow("t", principal="User:a", host="10.0.0.0/8")
    with running_in(formatted(tmp_path / "node", level=33)) as node:
        source = open_source(f"quorum://{node.addresses['CONTROLLER']}", environ={})
        replayed = replay_source(source, tolerant=True)
        assert replayed.loader is not None
        newest = LiveReplay(replayed, replayed.loader)
        arguments = Namespace(
            **dict.fromkeys(("at", "config", "command_config", "allow_everyone", "kafka")),
            committed=False,
            salvage=False,
            super_users="",
            source=source.text,
        )
        explain = explain_command(arguments, source, newest)
        root = root_directory(replayed.image, show_secrets=False)
        session = ShellSession(
            root, {"explain": explain}, Output(out := io.StringIO(), io.StringIO())
        )
        for change in (None, node.replica.submit_creations):
            if change is not None:
                change([acl]).result(20)
            session.run_line("explain User:a Read topic:t --host 10.2.0.1")
        assert [line[:7] for line in out.getvalue().splitlines() if "from 10.2.0.1" in line] == [
            "DENIED ",
            "ALLOWED",
        ]
        assert f"--at {replayed.offset + 1}" in out.getvalue()
        source.log.close()


def _session(*acls: Acl, newest: object = None) -> ShellSession:
    by_id = Table((Uuid(number.to_bytes(16, "big")), acl) for number, acl in enumerate(acls))
    root = root_directory(MetadataImage(acls=AclsImage(by_id)), show_secrets=False)
    command = explain_command(Namespace(), None, newest)  # type: ignore[arg-type]
    return ShellSession(root, {command.name: command}, Output(io.StringIO(), io.StringIO()))


def test_a_log_that_cannot_be_read_again_gives_no_answer() -> None:
    """Browsing continues in the old tree, which must not answer."""

    def newest() -> NoReturn:
        raise InvalidSource("quorum://a:1: nobody leads")

    session = _session(newest=newest)
    session.run_line("explain User:a Read topic:t")
    out, err = session.output.out, session.output.err
    assert isinstance(out, io.StringIO)
    assert isinstance(err, io.StringIO)
    assert (out.getvalue(), err.getvalue()) == ("", "explain: quorum://a:1: nobody leads\n")


@pytest.mark.parametrize(
    ("line", "becomes"),
    [
        ("explain ", ["User:\\* ", "User:a\\ b ", "User:app "]),
        ("explain User:app Desc", ["Describe ", "DescribeConfigs ", "DescribeTokens "]),
        ("explain User:app Read ", ["group:", "group:g ", "topic:", "topic:t/x ", "topic:pay "]),
        ("explain User:app Read topic:t --ho", ["--host "]),
        ("explain User:\\* --prod", ["--producer "]),
        ("explain User:app --prod", ["--producer "]),
    ],
)
def test_completion_knows_the_words_of_a_question(line: str, becomes: list[str]) -> None:
    session = _session(
        *(
            Acl(kind, name, pattern, principal, "*", Operation.READ, PermissionType.ALLOW)
            for kind, name, pattern, principal in (
                (ResourceType.TOPIC, "pay", PatternType.PREFIXED, "User:app"),
                (ResourceType.TOPIC, "t/x", PatternType.LITERAL, "User:*"),
                (ResourceType.TOPIC, "\x1b[2J", PatternType.LITERAL, "User:\x1b[2J"),
                (ResourceType.GROUP, "g", PatternType.LITERAL, "User:a b"),
            )
        )
    )
    assert [each.text for each in complete(session, line)] == becomes
