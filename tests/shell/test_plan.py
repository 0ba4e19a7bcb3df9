"""``metalog plan``, and what ``apply`` refuses: on files, which need no cluster."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from xml.etree import ElementTree

import pytest

from metalog_sources.formats.commands.kafka_acls import read_kafka_acls
from shell.main import main
from shell.output.output import in_markdown
from tests.support.kafka.cases import DEMO

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
    assert main(["plan", *files, *SUPER]) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines() == [
        "+  DENY User:b ALL on topic pay-eu from any host",
        "+  ALLOW User:app WRITE on topic pay-eu from any host  new | shop; ticket PAY-7",
        "2 to add, for 2 principals.",
    ]
    assert printed.err == (
        "note: the files own, but do not list, 1 ACL of the target;"
        " --prune removes every such ACL\n"
        "note: 2 ACLs of the target stay: no file owns them\n"
    )


def test_pruning_takes_only_what_is_owned(
    files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", *files, *SUPER, "--prune", "-q"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2:] == [
        "-  ALLOW User:app READ on topic pay-eu from any host",
        "2 to add, 1 to remove, for 2 principals.",
    ]


def test_nothing_to_do(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", files[0], files[0], *SUPER, "--prune"]) == 0
    printed = capsys.readouterr()
    assert printed.out == "Nothing to do.\n"
    assert printed.err == "note: nothing is removed: no file has the key `owns`\n"


def test_as_json_and_markdown(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", *files, *SUPER, "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["change"], line["permissionType"], line.get("ticket")) for line in lines] == [
        ("add", "DENY", None),
        ("add", "ALLOW", "PAY-7"),
    ]
    assert main(["plan", *files, *SUPER, "-o", "markdown"]) == 0
    markdown = capsys.readouterr().out
    assert markdown.startswith("**metalog plan**: 2 to add, for 2 principals.\n\n| change |")
    assert "new \\| shop; PAY-7" in markdown


def test_as_commands(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", *files, *SUPER, "-o", "commands", "--prune"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [shlex.split(line)[5] for line in lines] == ["--add", "--add", "--remove"]
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
    assert main(plan) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-3:] == [
        "5 of 6 requests would get another answer.",
        "       3  DENIED   ->  ALLOWED  User:app  WRITE on TOPIC pay-eu  from 10.0.0.1",
        "       2  ALLOWED  ->  DENIED   User:app  READ on TOPIC pay-eu   from 10.0.0.1",
    ]
    assert main([*plan, "--json"]) == 0
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()][-2:]
    assert [(each["change"], each["after"], each["count"]) for each in answers] == [
        ("answer", "ALLOWED", 3),
        ("answer", "DENIED", 2),
    ]
    assert main([*plan, "-o", "markdown"]) == 0
    assert "5 of 6 requests would get another answer." in capsys.readouterr().out
    audit.write_text("nonsense\n")
    assert main(plan) == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--max-removals", "0"], "1 ACL would be removed, more than --max-removals 0"),
        (["--max-removals", "1"], None),
        (["--max-removals", "-1"], "--max-removals -1: give 0 or more"),
    ],
)
def test_a_limit_of_removals(
    files: list[str], arguments: list[str], said: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["plan", *files, *SUPER, "--prune", *arguments])
    assert code == (0 if said is None else 2)
    assert said is None or said in capsys.readouterr().err


class TestLockout:
    """A change may not take the right to alter ACLs from its author, or from the last principal."""

    @pytest.fixture
    def plan(self, files: list[str], tmp_path: Path) -> list[str]:
        (tmp_path / "wanted.yaml").write_text("owns: [{resourceType: Cluster}]\nacls: []\n")
        return ["plan", *files, "--no-allow-everyone", "--prune"]

    def test_everyone(self, plan: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        assert main([*plan, "--super-users", ""]) == 2
        assert "this takes from everyone the right to alter ACLs" in capsys.readouterr().err

    def test_a_super_user_is_left(self, plan: list[str]) -> None:
        assert main([*plan, *SUPER]) == 0

    def test_the_caller(self, plan: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        assert main([*plan, *SUPER, "--caller", "User:admin"]) == 2
        assert "this takes from User:admin (the caller) the right" in capsys.readouterr().err
        assert main([*plan, *SUPER, "--caller", "User:root"]) == 0
        assert main([*plan, *SUPER, "--caller", "admin"]) == 2
        assert "write it as User:admin" in capsys.readouterr().err

    def test_when_it_is_meant(self, plan: list[str]) -> None:
        assert main([*plan, "--super-users", "", "--allow-lockout"]) == 0

    def test_the_first_acl_where_all_was_open(self, files: list[str], tmp_path: Path) -> None:
        """It closes the cluster to others; its principal may still alter ACLs."""
        (tmp_path / "target.yaml").write_text("acls: []\n")
        for host in ("'*'", "10.0.0.1"):
            (tmp_path / "wanted.yaml").write_text(
                "- {principal: User:admin, operation: Alter, resourceType: Cluster, "
                f"host: {host}}}\n"
            )
            assert main(["plan", *files, "--super-users", "", "--allow-everyone"]) == 0
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
    assert main(plan) == 0
    first = (tmp_path / "plan.json").read_bytes()
    assert main(plan) == 0
    assert (tmp_path / "plan.json").read_bytes() == first


@pytest.mark.parametrize("extra", [[], ["--yes"]])
def test_a_file_is_not_applied_to(
    files: list[str], extra: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["apply", *files, *extra]) == 2
    assert (
        "cannot be the first argument (TARGET); give cluster://HOST:PORT" in capsys.readouterr().err
    )


def test_the_exit_code_tells_of_changes_only_where_it_is_asked_to(files: list[str]) -> None:
    assert main(["plan", *files, *SUPER, "--exit-code"]) == 1
    assert main(["plan", files[0], files[0], *SUPER, "--exit-code"]) == 0


class TestBroken:
    """``--fail-on-broken``: a request that is allowed now and would be denied."""

    @pytest.fixture
    def audit(self, tmp_path: Path) -> Path:
        file = tmp_path / "audit.log"
        file.write_text(LINE.format("User:app", "Allowed", "READ") * 2)
        return file

    def test_one_that_was_allowed_would_be_denied(self, files: list[str], audit: Path) -> None:
        plan = ["plan", *files, *SUPER, "--audit", str(audit)]
        assert main([*plan, "--prune"]) == 0
        assert main([*plan, "--fail-on-broken"]) == 0
        assert main([*plan, "--prune", "--fail-on-broken"]) == 1

    def test_one_that_would_be_allowed_is_not_broken(self, files: list[str], audit: Path) -> None:
        audit.write_text(LINE.format("User:app", "Denied", "WRITE"))
        plan = ["plan", *files, *SUPER, "--prune", "--audit", str(audit)]
        assert main([*plan, "--fail-on-broken"]) == 0

    def test_requests_as_json(
        self, files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        requests = tmp_path / "requests.json"
        asked = {"principal": "User:app", "operation": "READ", "host": "10.0.0.1"}
        asked |= {"resourceType": "TOPIC", "resourceName": "pay-eu"}
        requests.write_text(json.dumps(asked) + "\n")
        plan = ["plan", *files, *SUPER, "--prune", "--requests", str(requests)]
        assert main([*plan, "--fail-on-broken"]) == 1
        assert "1 of 1 request would get another answer." in capsys.readouterr().out
        line = (
            "Principal = User:app is %s operation = READ from host = 10.0.0.1 on resource = "
            "Topic:LITERAL:pay-eu for request = Fetch with resourceRefCount = 1"
        )
        audit = tmp_path / "audit.log"
        audit.write_text(f"{line % 'Allowed'}\n{line % 'Denied'}\n{line % 'Allowed'}\n")
        main(["plan", *files, *SUPER, "--prune", "--audit", str(audit)])
        said = capsys.readouterr().out
        assert "3 of 3 requests would get another answer." in said
        assert said.count("READ on TOPIC pay-eu") == 1

    def test_a_shell_gets_no_command_of_a_plan_that_fails(
        self, files: list[str], audit: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def shells_lines(*options: str) -> tuple[int, bool]:
            code = main([*plan, "-q", *options])
            lines = capsys.readouterr().out.splitlines()
            return code, any(not line.startswith("#") for line in lines)

        plan = ["plan", *files, *SUPER, "--prune", "-o", "commands", "--audit", str(audit)]
        assert shells_lines() == (0, True)
        assert shells_lines("--exit-code") == (1, True)
        assert shells_lines("--fail-on-broken") == (1, False)
        audit.write_text("not a request\n")
        assert shells_lines() == (2, False)

    def test_a_plan_that_fails_is_not_saved(
        self, files: list[str], audit: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        saved = tmp_path / "plan.json"
        plan = ["plan", *files, *SUPER, "--prune", "--audit", str(audit), "--save", str(saved)]
        assert main([*plan, "--fail-on-broken"]) == 1
        warning = f"warning: the plan is not saved in {saved}: 2 requests that the present ACLs"
        assert (warning in capsys.readouterr().err, saved.exists()) == (True, False)
        audit.write_text("not a request\n")
        assert main(plan) == 2
        warning = f"warning: the plan is not saved in {saved}: 1 line of the requests"
        assert (warning in capsys.readouterr().err, saved.exists()) == (True, False)
        audit.write_text(LINE.format("User:app", "Denied", "WRITE"))
        assert main([*plan, "--fail-on-broken", "--exit-code"]) == 1
        assert saved.exists()

    def test_it_needs_requests(self, files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["plan", *files, *SUPER, "--fail-on-broken"]) == 2
        assert "--fail-on-broken needs requests" in capsys.readouterr().err

    def test_for_build_servers(
        self, files: list[str], audit: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        plan = ["plan", *files, *SUPER, "--prune", "--audit", str(audit)]
        broken = "2 x User:app READ on TOPIC pay-eu from 10.0.0.1: ALLOWED -> DENIED"
        assert main([*plan, "-o", "github"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[0] == "::notice title=metalog plan::2 to add, 1 to remove, for 2 principals."
        assert lines[1] == f"::warning title=metalog plan%3A broken::{broken}"
        assert lines[2].startswith(f"::notice file={files[1]},line=10,col=5,title=metalog plan%3A")
        assert main([*plan, "-o", "junit"]) == 0
        suite = ElementTree.fromstring(capsys.readouterr().out)[0]
        assert (suite.get("tests"), suite.get("failures")) == ("5", "1")
        (failure,) = suite.iter("failure")
        assert failure.get("message") == broken


@pytest.mark.parametrize("format", ["text", "json", "markdown", "commands", "github", "junit"])
def test_no_name_in_a_plan_changes_a_terminal_or_becomes_markup(
    tmp_path: Path, format: str, capsys: pytest.CaptureFixture[str]
) -> None:
    target, wanted = tmp_path / "target.yaml", tmp_path / "wanted.jsonl"
    target.write_text("acls: []\n")
    acl = {"resourceType": "TOPIC", "resourceName": "x", "operation": "READ"}
    principal = "User:\x1b[2J\u202e<b>*x*</b>"
    wanted.write_text(json.dumps(acl | {"principal": principal}) + "\n")
    assert main(["plan", str(target), str(wanted), *SUPER, "-o", format]) == 0
    printed = capsys.readouterr()
    text = (printed.out + printed.err).replace("\n", "")
    assert all(letter.isprintable() for letter in text)
    assert format != "markdown" or not re.search(r"(?<!\\)[<*]x|(?<!\\)<b", text)


@pytest.mark.parametrize("format", ["text", "json", "markdown", "commands", "github", "junit"])
def test_a_refused_plan_is_shown_with_the_line_that_refused_it(
    files: list[str], tmp_path: Path, format: str, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = tmp_path / "plan.json"
    refused = ["--max-removals", "0", "--save", str(saved)]
    assert main(["plan", *files, *SUPER, "--prune", "-q", "-o", format, *refused]) == 2
    printed = capsys.readouterr()
    message = "1 ACL would be removed, more than --max-removals 0"
    assert printed.err == f"metalog: {message}\n"
    assert not saved.exists()
    if format == "text":
        (marked,) = [line for line in printed.out.splitlines() if line.endswith("<- refused")]
        assert marked.startswith("-  ALLOW User:app READ on topic pay-eu from any host")
    if format == "commands":  # a shell would run them before the refusal
        assert printed.out == f"# no commands, because the plan is refused: {message}\n"
    else:
        assert "READ" in printed.out.upper()
    if format not in ("text", "json"):
        assert message in printed.out


def test_the_step_that_locks_out_is_marked(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "wanted.yaml").write_text(
        "owns: [{resourceType: Cluster}]\n"
        "acls: [{principal: User:b, operation: Describe, resourceType: Cluster}]\n"
    )
    assert main(["plan", *files, "--no-allow-everyone", "--super-users", "", "--prune"]) == 2
    added, removed, counts = capsys.readouterr().out.splitlines()
    assert added == "+  ALLOW User:b DESCRIBE on cluster kafka-cluster from any host"
    assert removed.startswith("-  ALLOW User:admin ALTER on cluster kafka-cluster from any host")
    assert removed.endswith("<- refused")
    assert counts == "1 to add, 1 to remove, for 2 principals."


class TestOwnership:
    """Additions are checked as well."""

    @pytest.fixture
    def teams(self, tmp_path: Path) -> list[str]:
        folder = tmp_path / "teams"
        folder.mkdir()
        for team, name in (("pay", "shop-eu"), ("shop", "shop-us"), ("shoes", "shop-shoes-x")):
            own = {"pay": "pay-", "shop": "shop-", "shoes": "shop-shoes-"}[team]
            (folder / f"{team}.yaml").write_text(
                f"owns: [{{resourceType: Topic, resourceName: {own}, patternType: prefixed}}]\n"
                f"acls:\n  - {{principal: User:{team}, operation: Read, resourceType: Topic, "
                f"resourceName: {name}, owner: {team}}}\n"
            )
        return [str(folder / f"{team}.yaml") for team in ("pay", "shop", "shoes")]

    def test_plan_names_it_beside_its_line(
        self, files: list[str], teams: list[str], capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["plan", files[0], *teams, *SUPER, "-q"]) == 0
        assert capsys.readouterr().err.splitlines() == [
            f"warning: {teams[0]}, line 3, column 5: ALLOW User:pay READ on topic shop-eu from any "
            f"host: its file does not own this ACL, but {teams[1]}, line 1, column 8 does",
            f"warning: {teams[2]}, line 1, column 8: ACLs on a topic PREFIXED shop- are owned by "
            f"{teams[1]}, line 1, column 8 too: --prune with only one of the files removes "
            "the ACLs of the other",
        ]
        assert main(["plan", files[0], *teams, *SUPER, "-q", "-o", "github"]) == 0
        printed = capsys.readouterr()
        assert printed.err == ""
        assert f"::warning file={teams[0]},line=3,col=5,title=metalog plan::ALLOW" in printed.out
        assert f"::warning file={teams[2]},line=1,col=8,title=metalog plan::ACLs" in printed.out

    def test_what_is_there_already_is_not_added(
        self, tmp_path: Path, teams: list[str], capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["plan", teams[0], teams[0], *SUPER, "-q"]) == 0
        assert capsys.readouterr().err == ""

    def test_lint_finds_it(self, teams: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        folder = str(Path(teams[0]).parent)
        only = ["--only", "owned-twice", "--only", "outside-owned", "--json"]
        assert main(["lint", folder, *only]) == 1
        found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert [(each["check"], each["severity"]) for each in found] == [
            ("owned-twice", "ERROR"),
            ("outside-owned", "WARNING"),
        ]
        assert {found[0]["file"]} < set(teams[1:])
        assert found[1]["file"] == teams[0]
        assert main(["lint", folder, "--only", "owned-twice", "-o", "github"]) == 1
        annotated = capsys.readouterr().out
        assert annotated.startswith(f"::error file={found[0]['file']},line=1,col=8,title=metalog")
        assert main(["lint", teams[1], *only]) == 0

    def test_what_kafka_never_asks_for(
        self, files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "wanted.yaml").write_text(
            "- {principal: User:a, operation: Write, resourceType: Group, resourceName: g}\n"
        )
        assert main(["plan", *files, *SUPER, "-q"]) == 0
        assert capsys.readouterr().err == (
            "warning: ALLOW User:a WRITE on group g from any host: Kafka never checks WRITE on a "
            "group, and kafka-acls refuses such an ACL\n"
        )


class TestWithoutAnAcl:
    """allow.everyone.if.no.acl.found: the first ACL on a name ends it there, the last removal
    restores it."""

    WANTED = """\
owns: [{principal: User:other}]
acls:
  - {principal: User:new, operation: Read, resourceType: Topic, resourceName: pay-eu}
  - {principal: User:new, operation: Read, resourceType: Topic, resourceName: new}
  - {principal: User:new, operation: Write, resourceType: Topic, resourceName: new}
  - {principal: User:new, operation: Read, resourceType: Topic, resourceName: pay-,
     patternType: prefixed}
"""

    def warnings(self, files: list[str], default: str, capsys: pytest.CaptureFixture[str]) -> str:
        Path(files[1]).write_text(self.WANTED)
        asked = ["--super-users", "User:root", default, "--prune", "--allow-lockout", "-q"]
        assert main(["plan", *files, *asked]) == 0
        return "".join(
            f"{line}\n"
            for line in capsys.readouterr().err.splitlines()
            if "no entry of owns in its file" not in line
        )

    def test_first_and_last_acls(
        self, files: list[str], capsys: pytest.CaptureFixture[str]
    ) -> None:
        first = "the first ACL on the name shuts out all others whom allow.everyone.if.no.acl.found"
        assert self.warnings(files, "--allow-everyone", capsys) == (
            f"warning: ALLOW User:new READ on topic new from any host: {first} allows\n"
            "warning: ALLOW User:new READ on topic names that begin with pay- from any host: "
            f"{first} allows\n"
            "warning: ALLOW User:other READ on topic orders from any host: without the last ACL "
            "on the name, allow.everyone.if.no.acl.found lets everyone in\n"
        )

    def test_nothing_where_the_default_denies(
        self, files: list[str], capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert self.warnings(files, "--no-allow-everyone", capsys) == ""


def test_a_name_in_markdown_makes_no_markup() -> None:
    """Every character that CommonMark or GitHub's tables read as inline markup is escaped."""
    text = in_markdown("![a](b) ~~c~~ &amp; *d* _e_ `f` <g> |h| \\i")
    assert not re.search(r"(?<!\\)(?:\\\\)*[\[\]~&*_`<|]", text)
