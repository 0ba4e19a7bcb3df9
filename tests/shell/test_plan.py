"""``metalog plan`` and what ``apply`` refuses: on files, which need no cluster to be read."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from cases import DEMO

from shell.main import main
from snapshot.exchange.formats.kafka_acls import read_kafka_acls

TARGET = """\
acls:
  - {principal: User:admin, operation: Alter, resourceType: Cluster}
  - {principal: User:app, operation: Read, resourceType: Topic, resourceName: pay-eu}
  - {principal: User:other, operation: Read, resourceType: Topic, resourceName: orders}
"""
WANTED = """\
owns:
  - {resourceType: Topic, resourceName: pay-, patternType: prefixed}
acls:
  - principal: User:app
    operation: Write
    resourceType: Topic
    resourceName: pay-eu
    comment: new | shop
    ticket: PAY-7
  - {principal: User:b, operation: All, resourceType: Topic, resourceName: pay-eu,
     permissionType: deny}
"""
SUPER = ("--super-users", "User:root", "--no-allow-everyone")
LINE = (
    "Principal = {} is {} operation = {} from host = 10.0.0.1 on resource = Topic:LITERAL:pay-eu "
    "for request = Fetch with resourceRefCount = 1 based on rule DefaultDeny\n"
)


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    (tmp_path / "target.yaml").write_text(TARGET)
    (tmp_path / "wanted.yaml").write_text(WANTED)
    return [str(tmp_path / "target.yaml"), str(tmp_path / "wanted.yaml")]


def test_as_text(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", *files, *SUPER]) == 1
    printed = capsys.readouterr()
    assert printed.out.splitlines() == [
        "+  DENY User:b ALL on topic pay-eu from any host",
        "+  ALLOW User:app WRITE on topic pay-eu from any host  new | shop; ticket PAY-7",
        "2 to add, for 2 principals.",
    ]
    assert printed.err == (
        "note: 1 ACL of the target that the files own and do not name; --prune removes them\n"
        "note: 2 ACLs of the target that no file owns stay\n"
    )


def test_pruning_takes_only_what_is_owned(
    files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", *files, *SUPER, "--prune", "-q"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[2:] == [
        "-  ALLOW User:app READ on topic pay-eu from any host",
        "2 to add, 1 to remove, for 2 principals.",
    ]


def test_nothing_to_do(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", files[0], files[0], *SUPER, "--prune"]) == 0
    printed = capsys.readouterr()
    assert printed.out == "Nothing to do.\n"
    assert printed.err == "note: nothing is removed: no file says what it owns\n"


def test_as_json_and_markdown(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", *files, *SUPER, "--json"]) == 1
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["change"], line["permissionType"], line.get("ticket")) for line in lines] == [
        ("add", "DENY", None),
        ("add", "ALLOW", "PAY-7"),
    ]
    assert main(["plan", *files, *SUPER, "-o", "markdown"]) == 1
    markdown = capsys.readouterr().out
    assert markdown.startswith("**metalog plan**: 2 to add, for 2 principals.\n\n| change |")
    assert "new \\| shop; PAY-7" in markdown


def test_as_commands(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", *files, *SUPER, "-o", "commands", "--prune"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [shlex.split(line)[3] for line in lines] == ["--add", "--add", "--remove"]
    assert len(read_kafka_acls("\n".join(lines[:2]), "x").acls) == 2


def test_which_real_requests_would_get_another_answer(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    audit = tmp_path / "audit.log"
    audit.write_text(
        LINE.format("User:app", "Denied", "WRITE") * 3
        + LINE.format("User:app", "Allowed", "READ") * 2
        + LINE.format("User:root", "Allowed", "READ")
    )
    plan = ["plan", *files, *SUPER, "--prune", "--audit", str(audit)]
    assert main(plan) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[-3:] == [
        "5 of 6 requests would get another answer.",
        "       3  DENIED   ->  ALLOWED  User:app  WRITE on TOPIC pay-eu  from 10.0.0.1",
        "       2  ALLOWED  ->  DENIED   User:app  READ on TOPIC pay-eu   from 10.0.0.1",
    ]
    assert main([*plan, "--json"]) == 1
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()][-2:]
    assert [(each["change"], each["after"], each["count"]) for each in answers] == [
        ("answer", "ALLOWED", 3),
        ("answer", "DENIED", 2),
    ]
    assert main([*plan, "-o", "markdown"]) == 1
    assert "5 of 6 requests would get another answer." in capsys.readouterr().out
    audit.write_text("nonsense\n")
    assert main(plan) == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--max-removals", "0"], "1 ACLs would be removed, more than --max-removals 0"),
        (["--max-removals", "1"], None),
        (["--max-removals", "-1"], "--max-removals -1: a number from 0 on"),
    ],
)
def test_a_limit_of_removals(
    files: list[str], arguments: list[str], said: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["plan", *files, *SUPER, "--prune", *arguments])
    assert code == (1 if said is None else 2)
    assert said is None or said in capsys.readouterr().err


class TestLockout:
    """A change may not take the right to alter ACLs from who makes it, or from the last."""

    @pytest.fixture
    def plan(self, files: list[str], tmp_path: Path) -> list[str]:
        (tmp_path / "wanted.yaml").write_text("owns: [{resourceType: Cluster}]\nacls: []\n")
        return ["plan", *files, "--no-allow-everyone", "--prune"]

    def test_everyone(self, plan: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        assert main([*plan, "--super-users", ""]) == 2
        assert "this takes from everyone the right to alter ACLs" in capsys.readouterr().err

    def test_a_super_user_is_left(self, plan: list[str]) -> None:
        assert main([*plan, *SUPER]) == 1

    def test_the_caller(self, plan: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        assert main([*plan, *SUPER, "--caller", "User:admin"]) == 2
        assert "this takes from User:admin (who asks for it) the right" in capsys.readouterr().err
        assert main([*plan, *SUPER, "--caller", "User:root"]) == 1
        assert main([*plan, *SUPER, "--caller", "admin"]) == 2
        assert "write it as User:admin" in capsys.readouterr().err

    def test_when_it_is_meant(self, plan: list[str]) -> None:
        assert main([*plan, "--super-users", "", "--allow-lockout"]) == 1

    def test_the_first_acl_where_all_was_open(self, files: list[str], tmp_path: Path) -> None:
        """It closes the cluster to others; whom it names may still alter ACLs."""
        (tmp_path / "target.yaml").write_text("acls: []\n")
        for host in ("'*'", "10.0.0.1"):
            (tmp_path / "wanted.yaml").write_text(
                "- {principal: User:admin, operation: Alter, resourceType: Cluster, "
                f"host: {host}}}\n"
            )
            assert main(["plan", *files, "--super-users", "", "--allow-everyone"]) == 1
        (tmp_path / "wanted.yaml").write_text(
            "- {principal: User:admin, operation: Describe, resourceType: Cluster}\n"
        )
        assert main(["plan", *files, "--super-users", "", "--allow-everyone"]) == 2

    def test_a_deny_locks_out_too(self, files: list[str], tmp_path: Path) -> None:
        (tmp_path / "wanted.yaml").write_text(
            "- {principal: 'User:*', operation: All, resourceType: Cluster, permissionType: deny}"
        )
        assert main(["plan", *files, "--super-users", "", "--no-allow-everyone"]) == 2


def test_a_log_is_a_target_to_plan_for_and_a_source_to_want(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = str(DEMO / "log-dir")
    assert main(["plan", log, log, *SUPER]) == 0
    assert main(["export", log, "--to", str(tmp_path / "a.yaml")]) == 0
    assert main(["plan", log, str(tmp_path / "a.yaml"), *SUPER]) == 0


def test_saving_is_byte_stable(files: list[str], tmp_path: Path) -> None:
    plan = ["plan", *files, *SUPER, "--save", str(tmp_path / "plan.json")]
    assert main(plan) == 1
    first = (tmp_path / "plan.json").read_bytes()
    assert main(plan) == 1
    assert (tmp_path / "plan.json").read_bytes() == first


@pytest.mark.parametrize("extra", [[], ["--yes"]])
def test_a_file_is_not_applied_to(
    files: list[str], extra: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["apply", *files, *extra]) == 2
    assert "cannot be written to; give cluster://HOST:PORT" in capsys.readouterr().err
