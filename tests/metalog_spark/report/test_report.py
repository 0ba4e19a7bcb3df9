"""Two days of two teams, from the tables to their pages, computed by hand. bob of the shop reads
what he may; carol of the bank has an unused grant; a broker admitted mallory against the ACLs, and
eve tries more names than a page shows; an hour of the metadata log is lost."""

from __future__ import annotations

import csv
import io
import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from metalog.acl import Operation, ResourceType
from metalog_spark.report.gather import OF_A_PAGE
from metalog_spark.report.triage.changes import Findings, as_json, read_findings
from metalog_spark.store.arrow import frame_of
from metalog_spark.store.tables import CONFIGURATION, HISTORY, REJECTED
from shell.main import main
from tests.support.command.help_examples import as_printed
from tests.support.command.runs import run_here
from tests.support.spark.read_page import ReadPage
from tests.support.spark.report_contents import HOSTILE
from tests.support.spark.small_pipeline import Ask, World, life, moment
from tests.support.worlds.small_acls import allow, deny

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

READ, WRITE = Operation.READ, Operation.WRITE
BOB, CAROL, MALLORY, EVE = "User:bob", "User:carol", "User:mallory", "User:eve"
FORMULA = '=HYPERLINK("http://evil.example")'
TRIED = [FORMULA, *(f"guess-{number:03}" for number in range(OF_A_PAGE.denied))]
OWNERS = f"""\
shop:
  - principal: {BOB}
bank:
  - principal: {CAROL}
  - {{resourceType: TOPIC, resourceName: {TRIED[-1]}}}
  - {{resourceType: TOPIC, resourceName: payments, patternType: PREFIXED}}
guests:
  - principal: {EVE}
"""
WORLD = World(
    (
        life(1, allow("shop.", READ, BOB, prefixed=True)),
        life(2, allow(HOSTILE, READ, BOB, kind=ResourceType.GROUP)),
        life(3, allow("payments", WRITE, CAROL)),
        life(4, deny("payments", READ, BOB), begin=30),
        life(5, allow("payments-old", WRITE, BOB), end=31),
    ),
    (
        Ask(BOB, READ, "shop.orders", hour=1, times=20),
        Ask(BOB, READ, "shop.carts", hour=30, times=5),
        Ask(BOB, READ, HOSTILE, hour=2, times=3, kind=ResourceType.GROUP),
        Ask(MALLORY, READ, "payments", hour=3, times=7),
        Ask(MALLORY, READ, "payments", hour=40, times=2, result="ALLOWED"),
        *(Ask(EVE, READ, name, hour=4) for name in TRIED),
    ),
    days=2,
    brokers=("1", "2"),
)
LOST = [
    ("/archive/prod", "KNOWN", 0, 1500, moment(-10), moment(25), None),
    ("/archive/prod", "GAP", 1500, 1600, moment(25), moment(26), None),
    ("/archive/prod", "KNOWN", 1600, 9000, moment(26), moment(40), None),
]
GONE = {"broker": "1", "principal": "User:gone", "name": "payments"}
ACCEPTED = f"""\
- {{section: disagreements, principal: {MALLORY}, reason: its clock, until: 9999-12-31}}
- {{section: drift, name: nothing, reason: long ago, until: 9999-12-31}}
"""
CONFIGURED = [
    (None, moment(100), [], False, None, "before.properties"),
    (moment(100), None, ["User:root"], False, None, "after.properties"),
]
DENIED = 7 + len(TRIED)
REQUESTS = 20 + 5 + 3 + DENIED + 2
Pages = dict[str | None, ReadPage]


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("world")
    made = WORLD.folder(spark, path / "tables")
    made.replace(HISTORY, frame_of(spark, LOST, HISTORY.schema))
    made.replace(CONFIGURATION, frame_of(spark, CONFIGURED, CONFIGURATION.schema))
    rejected = [("audit.log", number, "?", "no audit line") for number in (4, 9)]
    rejected.append(("topic://b:9092/audit/0", 5, "", "deleted unread: offsets 5 to 1004"))
    made.replace(REJECTED, frame_of(spark, rejected, REJECTED.schema))
    (path / "owners.yaml").write_text(OWNERS)
    return path


@pytest.fixture(scope="module")
def pages(folder: Path) -> Pages:
    out, owners, accepted = (folder / name for name in ("day.html", "owners.yaml", "known.yaml"))
    accepted.write_text(ACCEPTED)
    (folder / "day.json").write_text(as_json(Findings("the day before", {"disagreements": [GONE]})))
    places = {"DIR": folder / "tables", "owners.yaml": owners}
    example = as_printed("metalog pipeline report DIR --owners owners.yaml", places)
    assert main([*example, "--out", str(out), "--accepted", str(accepted)]) == 0
    files = {None: out, "shop": folder / "day-shop.html", "bank": folder / "day-bank.html"}
    files["guests"] = folder / "day-guests.html"
    assert {*folder.glob("*.html")} == {*files.values()}
    return {team: ReadPage(path.read_text("utf-8")) for team, path in files.items()}


@pytest.fixture(scope="module")
def whole(pages: Pages) -> ReadPage:
    return pages[None]


def sentence(page: ReadPage) -> str:
    return next(text for text in page.all("p") if "grant" in text)


def test_the_first_screen(whole: ReadPage) -> None:
    assert "prod" in whole.all("bdi")
    assert (
        sentence(whole) == "2 of 3 grants were used; 1 can go without changing any of 138 answers."
    )
    assert "1,002 audit lines could not be read, and each can be a use." in whole.all("p")
    assert (
        "1 request is newer than the log's last record (2026-01-02T16:00:00.000Z) and decided by "
        "the log's last ACLs; if ACLs can have changed after that time, build with a newer copy "
        "of the log." in whole.all("p")
    )
    severe = [row for row in whole.table("exposure") if row["Severity"] != "Info"]
    assert whole.all("b") == [str(REQUESTS), "1", str(len(severe)), "2"]
    assert dict(zip(whole.all("dt"), whole.all("dd"), strict=True)) == {
        "Window": "1 January 2026 to 2 January 2026",
        "Metadata log": "/archive/prod (start offset 0, end offset 9,000)",
        "Audit logs": "138 lines of 2 brokers",
        "Configuration": (
            "0 super users, closed by default; from 5 January 2026 04:00 on, after this window: "
            "1 super user, closed by default"
        ),
    }


def test_every_answer_is_counted_on_its_day(whole: ReadPage) -> None:
    window = whole.data["window"]
    assert (window["start"], window["step"]) == ("2026-01-01", 1)
    assert window["allowed"] == [23, 5 + 2]
    assert window["denied"] == [DENIED, 0]
    assert window["changes"] == [0, 2]
    assert [[*row.values()] for row in whole.table("answers")] == [
        ["2026-01-01", "23", str(DENIED), "0"],
        ["2026-01-02", "7", "0", "2"],
    ]


def test_the_strips_say_what_was_seen(whole: ReadPage) -> None:
    assert [[*row.values()] for row in whole.table("coverage")] == [
        ["broker 1", "48", "0", "0"],
        ["broker 2", "48", "0", "0"],
        ["metadata log", "47", "0", "1"],
    ]
    assert [strip["states"] for strip in whole.data["window"]["strips"]] == ["bb"] * 3


def test_what_can_go_comes_first_with_its_command(whole: ReadPage) -> None:
    first, *others = whole.table("unused")
    assert (first["Principal"], first["Name"], first["Use"]) == (
        CAROL,
        "payments",
        "not matched in the window, can go",
    )
    wanted = "--remove --force --allow-principal User:carol --operation Write --topic payments"
    assert first["Remedy"].endswith(wanted)
    assert {row["Name"]: row["Requests"] for row in others} == {
        "shop.": "25",
        HOSTILE: "3",
        "payments": "0",
    }


def test_what_is_of_the_logs_end_says_so(whole: ReadPage) -> None:
    """The log ends on the second day, within the window."""
    said = whole.all("p")
    end = "the log's end (2 January 2026)"
    for words in (
        f"Of 4 ACLs (3 grants, 1 DENY) in force in this window and still at {end}, 1 can go",
        f"grants instead of the 3 in force at {end} would allow",
        f"by the ACLs in force at {end}; if a DENY takes something away, it is in the column",
        f"2 ACLs came or went since the window began, up to {end}; each remedy",
        f"2 principals by 3 resource patterns, for the ACLs in force at {end}. The principals",
    ):
        assert any(words in text for text in said), words


def test_excess_is_granted_beside_used(whole: ReadPage) -> None:
    [row] = whole.table("excess")
    assert (row["Principal"], row["Used"], row["ACLs"]) == (CAROL, "0", "1 → 0")
    [least] = [row for row in whole.table("least") if row["Principal"] == CAROL]
    assert row["Granted"] == least["Granted"]


def test_the_matrix_has_each_grant(whole: ReadPage) -> None:
    access = whole.data["access"]
    told = {
        (access["principals"][row], access["patterns"][column][2]): tuple(cell)
        for row, column, *cell in access["cells"]
    }
    assert told == {
        (BOB, "shop."): ("READ", "READ", 1.0, False),
        (BOB, HOSTILE): ("READ", "READ", 1.0, False),
        (BOB, "payments"): ("READ", "", None, True),
        (CAROL, "payments"): ("WRITE", "", 0.0, False),
    }
    allowed = {(row["Principal"], row["Name"]) for row in whole.table("may")}
    assert allowed == {key for key, cell in told.items() if not cell[3]}


def test_what_the_broker_answered_otherwise(whole: ReadPage) -> None:
    [row] = whole.table("disagreements")
    assert (row["Principal"], row["Broker's answer"], row["ACLs' answer"], row["Requests"]) == (
        MALLORY,
        "ALLOWED",
        "DENIED",
        "2",
    )


@pytest.mark.parametrize(("section", "requests"), [("denied", 7), ("disagreements", 2)])
def test_a_row_leads_to_its_requests(
    whole: ReadPage, capsys: pytest.CaptureFixture[str], section: str, requests: int
) -> None:
    """The page has the first of them, and a command for all of them that a shell accepts."""
    cell = whole.table(section)[0]["Its requests"]
    command, *first = cell[cell.index("metalog pipeline") :].splitlines()
    assert len(first) == requests
    assert all(line.startswith("# 2026-01-0") and "broker 1: " in line for line in first)
    done = run_here(capsys, *shlex.split(command)[1:], "--json")
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["principal"], row["resourceName"]) for row in rows] == [
        (MALLORY, "payments")
    ] * requests
    assert [row["time"] for row in rows] == sorted(row["time"] for row in rows)


def test_an_acl_leads_to_the_requests_that_it_decided(whole: ReadPage) -> None:
    """A command shows all of them, the page the first ten; an ACL without requests has no link."""
    led = {row["Name"]: row["Its requests"] for row in whole.table("unused")}
    command, *first, more = led["shop."][led["shop."].index("metalog pipeline") :].splitlines()
    assert "--acl " in command
    assert len(first) == 10
    assert more == "# and 15 more"
    assert led["payments"] == ""
    assert (
        "--principal "
        in {row["Principal"]: row["Its requests"] for row in whole.table("least")}[BOB]
    )


@pytest.mark.parametrize(
    ("section", "column"),
    [
        ("unused", "Requests"),
        ("least", "Requests"),
        ("exposure", "Requests"),
        ("denied", "Denied"),
        ("disagreements", "Requests"),
    ],
)
def test_a_rows_command_prints_as_many_requests_as_the_row_counts(
    whole: ReadPage, capsys: pytest.CaptureFixture[str], section: str, column: str
) -> None:
    rows = [row for row in whole.table(section) if row.get("Its requests")][:4]
    assert rows or section == "exposure"
    for row in rows:
        [command] = (line for line in row["Its requests"].splitlines() if line[:1] == "m")
        done = run_here(capsys, *shlex.split(command)[1:], "--json")
        assert done.returncode == 0, done.stderr
        assert f"{done.stdout.count(chr(10)):,}" == row[column]


def test_an_acceptance_that_the_whole_page_uses_is_not_unmatched_on_a_teams(pages: Pages) -> None:
    """One that no page uses is unmatched on each."""
    for page in pages.values():
        unmatched = [text for text in page.all("p") if "match no row" in text]
        assert len(unmatched) == 1
        assert "known.yaml, line 2" in unmatched[0]
        assert "known.yaml, line 1" not in unmatched[0]


def test_what_is_accepted_and_what_is_new_since_the_last_report(
    whole: ReadPage, folder: Path
) -> None:
    """The findings lie beside the page, for the next report."""
    [row] = whole.table("disagreements")
    assert row["Accepted"] == "until 9999-12-31: its clock"
    assert any(f"match no row: {folder}/known.yaml, line 2" in text for text in whole.all("p"))
    changed = [(row["Change"], row["Principal"]) for row in whole.table("changes")]
    assert changed == [("new", MALLORY), ("gone", "User:gone")]
    found = read_findings((folder / "day.json").read_text(), "day.json").sections
    assert [row["principal"] for row in found["disagreements"]] == [MALLORY]
    assert {row["name"] for row in found["drift"]} == {"payments", "payments-old"}


def test_what_was_denied_and_what_came_and_went(whole: ReadPage) -> None:
    first, *others = whole.table("denied")
    assert (first["Principal"], first["Name"], first["Denied"]) == (MALLORY, "payments", "7")
    assert {(row["Principal"], row["Denied"]) for row in others} == {(EVE, "1")}
    assert {(row["Change"], row["Name"]) for row in whole.table("drift")} == {
        ("added", "payments"),
        ("removed", "payments-old"),
    }


def test_what_could_not_be_read(whole: ReadPage) -> None:
    gap, rejected, _ = whole.table("unseen")
    assert (gap["What"], gap["From"]) == ("gap in the metadata log", "offsets 1,500 to 1,599")
    assert (rejected["From"], rejected["Lines"], rejected["Why"]) == (
        "line 4",
        "2",
        "no audit line",
    )


def test_a_team_sees_what_is_its_own(pages: Pages) -> None:
    shop, bank = pages["shop"], pages["bank"]
    assert shop.all("b")[0] == "28"
    assert {row["Principal"] for row in shop.table("unused")} == {BOB}
    assert shop.table("disagreements") == []
    assert bank.all("b")[0] == "10"
    assert sentence(bank).startswith("0 of 1 grant was used; 1 can go")
    assert {row["Principal"] for row in bank.table("unused")} == {CAROL, BOB}
    assert len(bank.table("disagreements")) == 1
    assert CAROL not in " ".join(shop.all("bdi"))
    assert {"day-shop.html", "day-bank.html"} <= {a["href"] for a in pages[None].attributes("a")}
    assert "teams" not in {attributes.get("id") for _, attributes in shop.elements}


def test_a_team_sees_its_denials_be_they_few_among_those_of_all(pages: Pages) -> None:
    """The whole report leaves out the last name that eve tried."""
    assert TRIED[-1] not in {row["Name"] for row in pages[None].table("denied")}
    assert [(row["Name"], row["Denied"]) for row in pages["bank"].table("denied")] == [
        ("payments", "7"),
        (TRIED[-1], "1"),
    ]
    assert "Denied most, 20 of 101" in " ".join(pages["guests"].all("p"))
    assert len(pages["guests"].table("denied")) == OF_A_PAGE.denied_of_team
    assert "Nothing was denied." in pages["shop"].all("p")


def test_a_table_is_printed_whole(
    folder: Path, whole: ReadPage, capsys: pytest.CaptureFixture[str]
) -> None:
    """A page shows only part of it."""
    shown = [row["Name"] for row in whole.table("denied")]
    assert len(shown) == OF_A_PAGE.denied
    section = ("--section", "denied", "--json")
    done = run_here(capsys, "pipeline", "report", folder / "tables", *section)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["name"] for row in rows] == ["payments", *TRIED]
    assert [row["name"] for row in rows[: len(shown)]] == shown
    assert (rows[0]["denied"], rows[0]["last"]) == (7, "2026-01-01T03:30:00Z")


def test_what_anybody_may_have_asked_for_is_no_formula_of_a_spreadsheet(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A client may choose any text as a topic's name; JSON keeps it unchanged."""
    section = ("--section", "denied", "-o", "csv")
    done = run_here(capsys, "pipeline", "report", folder / "tables", *section)
    assert done.returncode == 0, done.stderr
    rows = list(csv.reader(io.StringIO(done.stdout)))
    assert not [cell for row in rows for cell in row if cell[:1] in tuple("=+-@\t\r")]
    names = [row[rows[0].index("name")] for row in rows[1:]]
    assert names == ["payments", f"'{FORMULA}", *TRIED[1:]]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--section", "may", "--out", "r.html"), "writes no page: leave out --out"),
        (("--out", "report.txt"), "--out report.txt: not HTML; name it report.html"),
        (("--out", "nowhere/r.html"), "--out nowhere/r.html: there is no folder nowhere"),
        (("--accepted", "README.md"), "README.md, line "),
        (("--since", "README.md"), "README.md: not the findings of a report"),
        (("--section", "may", "--accepted", "x"), "may has no findings to accept"),
        (("--owners", "no.yaml"), "no.yaml: No such file or directory"),
        (("--owners", "README.md"), "README.md, line "),
    ],
)
@pytest.mark.usefixtures("no_spark")
def test_what_cannot_be_written_is_said_before_spark_starts(
    capsys: pytest.CaptureFixture[str], options: tuple[str, ...], said: str
) -> None:
    done = run_here(capsys, "pipeline", "report", "no-folder", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
