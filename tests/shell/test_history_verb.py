"""``metalog history``: each change with the moment that shows it, and changes still to come."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from metalog.log.folder_writer.writer import WritableDirectoryLog
from metalog.replica.replica import Replica
from shell.arguments.acl_line import parse_acl_line
from shell.main import main
from tests.support.disk.written_log import copied
from tests.support.kafka.cases import DEMO, REPOSITORY, damaged_cases, kafka_case

LOG = str(DEMO / "log-dir")
Lines = list[dict[str, Any]]
QUESTION = ("User:billing", "read", "topic:payments", "--host", "10.0.4.12")


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> Lines:
    capsys.readouterr()
    assert main([*arguments, "--json", "-q"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def acls_at(capsys: pytest.CaptureFixture[str], at: int) -> set[str]:
    return {line["id"] for line in asked(capsys, "acls", LOG, "--at", str(at))}


def test_each_change_is_shown_by_its_moment_and_not_by_the_one_before(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = [line for line in asked(capsys, "history", LOG) if "id" in line]
    assert len(lines) == 33
    assert [line["at"] for line in lines] == sorted((line["at"] for line in lines), reverse=True)
    for line in lines[::4]:
        before, after = (acls_at(capsys, line["at"] + step) for step in (-1, 0))
        assert (line["id"] in after) is (line["change"] == "add")
        assert (line["id"] in before) is (line["change"] == "remove")


@pytest.mark.parametrize("start", ["0", "140"], ids=["from the start", "from a snapshot"])
def test_a_credential_that_replaces_another_is_shown_as_changed(
    start: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def users_at(at: int) -> dict[tuple[str, str], int]:
        users = asked(capsys, "users", LOG, "--at", str(at))
        return {(each["user"], each["mechanism"]): each["iterations"] for each in users}

    history = ("history", LOG, "--from", start)
    lines = [line for line in asked(capsys, *history) if "user" in line]
    assert {line["user"] for line in lines} >= {"billing", "contractor"}
    signs = []
    for line in lines:
        entity = (line["user"], line["mechanism"])
        before, after = (users_at(line["at"] + step).get(entity) for step in (-1, 0))
        assert (line["iterationsBefore"], line["iterations"]) == (before, after)
        signs.append("+" if before is None else "-" if after is None else "~")
    assert set(signs) >= {"-", "~"}
    assert main([*history, "-q"]) == 0
    printed = re.findall(r"(\S) +user ", capsys.readouterr().out)
    assert printed == signs


def test_an_answer_turns_where_can_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    lines = asked(capsys, "history", LOG, *QUESTION)
    assert [line["result"] for line in lines] == ["ALLOWED", "DENIED", "ALLOWED", "DENIED"]
    for line in lines[:-1]:
        for step in (-1, 0):
            at = str(line["at"] + step)
            code = main(["can", LOG, *QUESTION, "--at", at, "-q"])
            assert ("ALLOWED", "DENIED")[code] == line["result"] or step == -1
            assert ("ALLOWED", "DENIED")[code] != line["result"] or step == 0


@pytest.mark.parametrize(
    "options",
    [("--kafka", "4.3"), ("--config", "/nowhere"), ("--super-users", ""), ("--no-allow-everyone",)],
)
def test_a_configuration_is_refused_where_no_decision_depends_on_it(
    options: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    for words in ((), ("--principal", "User:billing"), ("--follow",)):
        assert main(["history", LOG, *words, *options]) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.startswith(f"metalog: {options[0]}: changes of ACLs do not depend on it")


def test_what_lies_between_two_moments_is_their_difference(
    capsys: pytest.CaptureFixture[str],
) -> None:
    between = asked(capsys, "history", LOG, "--from", "100", "--to", "150")
    assert {line["at"] for line in between} == {
        line["at"] for line in asked(capsys, "history", LOG) if 100 < line["at"] <= 150
    }


@pytest.mark.parametrize("more", [[], list(QUESTION)], ids=["all", "an answer"])
def test_a_range_that_ends_before_it_begins_is_refused(
    more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """A range that ends where it begins is empty, and no mistake."""
    for start, end, code in (("100", "99", 2), ("-5s", "-30s", 2), ("100", "100", 0)):
        assert main(["history", LOG, *more, "--from", start, "--to", end]) == code
        refused = f"metalog: --from {start} is after --to {end}; exchange them\n"
        assert capsys.readouterr().err.endswith(refused) == (code == 2)


@pytest.mark.parametrize("verb", ["history", "diff"])
def test_a_range_older_than_the_log_is_all_of_it(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The demo lasts less than a minute."""
    assert main([verb, LOG, "--from", "-7d"]) == 0
    found, said = capsys.readouterr()
    assert re.search(r"note: .*offset 0, the start of the log, because 2\S+Z is earlier", said)
    assert main([verb, LOG, "--from", "0"]) == 0
    assert capsys.readouterr().out == found


def test_a_moment_inside_a_batch_ends_it_there(capsys: pytest.CaptureFixture[str]) -> None:
    """Offsets 76 to 78 are one batch."""
    found = asked(capsys, "history", LOG, "--from", "75", "--to", "78")
    assert [line["at"] for line in found] == [78, 77]


def test_what_a_snapshot_hides_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", str(kafka_case("trimmed-4.3").log_dir)]) == 0
    assert "has no history before offset" in capsys.readouterr().err


@pytest.mark.once
@pytest.mark.parametrize("more", [[], list(QUESTION)], ids=["all", "an answer"])
def test_what_is_written_is_followed(tmp_path: Path, more: list[str]) -> None:
    folder = copied("basic-4.3", tmp_path / "log")
    [acl] = parse_acl_line("ALLOW User:billing Read topic:payments --host 10.0.4.12")
    command = [sys.executable, "-m", "shell.main", "history", str(folder), *more]
    with subprocess.Popen(
        [*command, "--follow", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
    ) as following:
        assert following.stderr is not None
        assert following.stdout is not None
        while not following.stderr.readline().startswith("note: following"):
            pass
        with Replica(WritableDirectoryLog(folder)) as replica:
            [created] = replica.create_acls(None, [acl])
            created.result(timeout=30)
            line = json.loads(following.stdout.readline())
        following.kill()
    assert (line["change"], line["principal"]) == ("add", "User:billing")
    assert line.get("result", "ALLOWED") == "ALLOWED"
    assert main(["can", str(folder), *QUESTION, "--at", str(line["at"])]) == 0
    assert main(["can", str(folder), *QUESTION, "--at", str(line["at"] - 1)]) == 1


def test_the_first_process_of_a_container_ends_with_sigterm() -> None:
    """Linux spares it each signal that it has no handler for; `make image-check` is with Linux."""
    first = (
        "import os; os.getpid = lambda: 1; from shell.main import main; raise SystemExit(main())"
    )
    command = [sys.executable, "-c", first, "history", "@demo", "--follow"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=REPOSITORY) as following:
        assert following.stderr is not None
        while not following.stderr.readline().startswith("note: following"):
            pass
        following.terminate()
        assert following.wait(60) == 130


def test_a_file_cannot_be_followed(capsys: pytest.CaptureFixture[str]) -> None:
    segment = next((DEMO / "log-dir" / "__cluster_metadata-0").glob("*.log"))
    assert main(["history", str(segment), "--follow"]) == 2
    assert "--follow needs the folder" in capsys.readouterr().err
    assert main(["history", LOG, "--follow", "--to", "5"]) == 2


def test_a_damaged_log_is_followed_back_from_what_is_salvaged(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As far as ``acls`` uses it."""
    case = next(each for each in damaged_cases() if each.name == "bit-middle-body-0")
    damaged = str(case.log_dir)
    assert main(["history", damaged]) == 2
    changes = asked(capsys, "history", damaged, "--salvage")
    assert [each["offset"] for each in changes[0]["missing"]] == [90]
    added = [line["id"] for line in changes if line["change"] == "add" and "id" in line]
    listed = {line["id"] for line in asked(capsys, "acls", damaged, "--salvage") if "id" in line}
    assert listed == {*added}
    assert all(line["at"] <= 90 for line in changes)
