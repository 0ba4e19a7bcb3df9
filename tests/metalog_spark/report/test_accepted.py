"""Accepted findings are listed last with their reason, until their day; and what is new since a
report."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from metalog.errors import InvalidRequest
from metalog_spark.report.contents import Column, ColumnKind, Number, Section
from metalog_spark.report.page import page
from metalog_spark.report.rows import Rows
from metalog_spark.report.sections import denied, disagreements, exposure
from metalog_spark.report.triage.accepted import idle_text, marked, read_accepted, with_accepted
from metalog_spark.report.triage.changes import as_json, changes, findings_of, read_findings
from tests.support.spark.read_page import ReadPage
from tests.support.spark.report_contents import HOSTILE, small_contents

TODAY = date(2026, 6, 30)
ACCEPTED = """\
- section: exposure
  principal: User:ops
  kind: all-topics
  reason: on call
  until: 2026-06-30
- {section: exposure, principal: 'User:*', reason: until the proxy is there, until: 2026-06-29}
- section: exposure
  principal: User:gone
  reason: left the company
  until: 2026-12-31
- {section: denied, principal: User:probe, operation: READ, reason: a probe, until: 2027-01-01}
"""


def exposed(principal: str, kind: str, severity: str = "ERROR", message: str = "may do it") -> dict:
    row = {"severity": severity, "principal": principal, "kind": kind, "message": message}
    return {**row, "acl": None, "other": None, "requests": 0, "last_use": None, "remedy": None}


def refused(principal: str, host: str, name: str = "t") -> dict:
    row = {"severity": "WARNING", "principal": principal, "operation": "READ", "hosts": 1}
    row |= {"host": host, "still": True, "resource_type": "TOPIC", "resource_name": name}
    row |= {"requests": 5, "peak": 5, "first_time": 0, "last_time": 0, "near": None}
    return {**row, "remedy": None, "storm": False}


EXPOSURE = exposure(
    [
        exposed("User:ops", "all-topics", message="may do it on 41 topics"),
        exposed("User:ops", "super-user-like"),
        exposed("User:*", "everyone", "WARNING"),
    ],
    "the end",
)


def test_what_is_accepted_stands_last_until_its_day_and_then_comes_back() -> None:
    found = marked(EXPOSURE, read_accepted(ACCEPTED, "a.yaml"), TODAY)
    rows = [(row[1], row[-1]) for row in found.section.rows]
    assert rows == [
        ("User:ops", None),
        ("User:*", "ended on 2026-06-29: until the proxy is there"),
        ("User:ops", "until 2026-06-30: on call"),
    ]
    assert found.accepted == 1
    assert found.section.says.endswith(
        " 1 row is accepted and comes last. The acceptance of 1 row has ended."
        " Accepted findings that match no row: a.yaml, line 7, column 3."
    )
    [idle] = found.idle
    assert idle_text(idle) == (
        "a.yaml, line 7, column 3: no finding of exposure matches; remove or correct the entry"
    )
    later = marked(EXPOSURE, read_accepted(ACCEPTED, "a.yaml"), date(2026, 7, 1))
    assert [row[1] for row in later.section.rows] == ["User:ops", "User:ops", "User:*"]


def test_the_page_of_a_team_lists_no_entry_that_matches_a_row_of_another_page() -> None:
    entries = read_accepted(ACCEPTED, "a.yaml")
    whole = marked(EXPOSURE, entries, TODAY)
    elsewhere = [entry for entry in entries if entry not in whole.idle]
    of_team = EXPOSURE._replace(rows=[])
    assert len(marked(of_team, entries, TODAY).idle) == 3
    assert marked(of_team, entries, TODAY, elsewhere).idle == whole.idle


@pytest.mark.parametrize(("requests", "verb"), [(1, "contradicts"), (2, "contradict")])
def test_the_verb_agrees_with_the_number_of_answers(requests: int, verb: str) -> None:
    says = disagreements(Rows([], 1, requests=requests)).says
    assert f" of brokers {verb} the ACLs" in says


def test_an_acceptance_ends_only_for_findings() -> None:
    note = exposure([exposed("User:*", "everyone", "INFO")], "the end")
    found = marked(note, read_accepted(ACCEPTED, "a.yaml"), TODAY)
    assert [row[-1] for row in found.section.rows] == [None]
    assert "has ended" not in found.section.says


def test_the_first_numbers_of_a_page_leave_out_what_is_accepted() -> None:
    dangers = Number(3, "dangers, 2 errors among them", "exposure")
    one = small_contents()
    contents = one._replace(
        numbers=(*one.numbers[:2], dangers, one.numbers[3]), sections=(EXPOSURE,)
    )
    contents = contents._replace(
        numbers=tuple(
            each if each is dangers else each._replace(link="window") for each in contents.numbers
        )
    )
    shown, idle = with_accepted(contents, read_accepted(ACCEPTED, "a.yaml"), TODAY)
    assert shown.numbers[2] == Number(
        2, "dangers, 2 errors among them; 1 more accepted", "exposure"
    )
    assert [str(each.position) for each in idle] == ["a.yaml, line 7, column 3"]
    assert with_accepted(contents, (), TODAY) == (contents, [])


def test_all_texts_of_a_page_count_the_same_grants_that_can_go() -> None:
    """With accepted ones apart: the first sentence, the tile and the section."""
    columns = (
        Column("Principal"),
        Column("ACL"),
        Column("Resource"),
        Column("Name"),
        Column("Use"),
    )
    use = "shadowed, can go"
    uses = ["shadowed (2 requests, mostly by ALLOW ALL on TOPIC t), can go", *[use] * 10]
    rows = [(f"User:{number}", "ALLOW READ", "TOPIC", "t", use) for number, use in enumerate(uses)]
    unused = Section("unused", "Unused", "11 can go: all of them.", columns, rows, 11)
    one = small_contents()
    contents = one._replace(
        sentence="5 of 20 grants were used; 11 can go without changing any of 9 answers.",
        numbers=(one.numbers[0], Number(11, "grants that can go", "unused"), *one.numbers[2:]),
        sections=(unused, *one.sections[1:]),
    )
    accepted = """\
- {section: unused, principal: User:0, reason: kept, until: 2026-12-31}
- {section: unused, principal: User:2, reason: kept, until: 2026-12-31}
- {section: unused, principal: User:3, reason: no longer kept, until: 2026-01-31}
"""
    shown, _ = with_accepted(contents, read_accepted(accepted, "a.yaml"), TODAY)
    [section] = (each for each in shown.sections if each.id == "unused")
    assert shown.numbers[1].value == 9
    assert "; 9 (2 more are accepted) can go without" in shown.sentence
    assert section.says.startswith("9 (2 more are accepted) can go: ")


def test_a_denial_is_the_same_from_another_host_and_another_operation_is_another() -> None:
    rows = [refused("User:probe", "10.0.0.9"), refused("User:probe", "10.0.0.9", "u")]
    rows[1]["operation"] = "WRITE"
    found = marked(denied(Rows(rows, 2)), read_accepted(ACCEPTED, "a.yaml"), TODAY)
    assert [row[-1] for row in found.section.rows] == [None, "until 2027-01-01: a probe"]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{section: exposure, principal: p, until: 2026-01-01}", "has no reason"),
        ("{section: exposure, principal: p, reason: r}", "has no until"),
        ("{section: exposur, principal: p, reason: r, until: 2026-01-01}", "mean exposure"),
        ("{section: may, principal: p, reason: r, until: 2026-01-01}", "use one of unused"),
        ("{section: exposure, reason: r, until: 2026-01-01}", "accepts all of exposure"),
        ("{section: exposure, principle: p, reason: r, until: 2026-01-01}", "mean principal"),
        ("{section: exposure, principal: p, reason: r, until: tomorrow}", "is not a day"),
        ("{section: exposure, principal: p, reason: r, until: 2026-02-30}", "is not a day"),
        ("{section: exposure, principal: p, reason: ' ', until: 2026-01-01}", "reason is empty"),
    ],
)
def test_a_mistake_in_the_file_is_named_with_its_place(entry: str, message: str) -> None:
    with pytest.raises(InvalidRequest, match=rf"^a\.yaml, line 1, column \d+: .*{message}"):
        read_accepted(f"- {entry}\n", "a.yaml")


def test_what_is_new_and_what_is_gone_since_the_last_report() -> None:
    before = findings_of("January", [EXPOSURE, denied(Rows([refused("User:a", "10.0.0.1")], 1))])
    known = read_findings(as_json(before), "report.json")
    again = exposure(
        [
            exposed("User:ops", "all-topics", message="may do it on 42 topics"),
            exposed("User:*", "everyone", "WARNING"),
            exposed(HOSTILE, "everyone"),
            exposed("User:told", "everyone", "INFO"),
        ],
        "later",
    )
    now = findings_of("February", [again, denied(Rows([refused("User:a", "10.9.9.9")], 1))])
    made = changes(known, now)
    assert made.rows == [
        ("new", "Exposure", HOSTILE, "everyone"),
        ("gone", "Exposure", "User:ops", "super-user-like"),
    ]
    assert made.says == "Since the report of January: 1 new finding, 1 gone."
    assert "No finding is new or gone" in changes(now, now).says
    unknown = findings_of("March", [Section("exposure", "Exposure", "not known", ())])
    assert changes(unknown, now).rows == [], "nothing is gone that was not known"


def test_a_page_has_both_and_holds_them_as_text(tmp_path: Path) -> None:
    accepted = read_accepted(
        f"- {{section: exposure, principal: User:ops, reason: '{HOSTILE}', until: 2026-12-31}}",
        "a.yaml",
    )
    made = marked(EXPOSURE, accepted, TODAY).section
    before = findings_of("January", [EXPOSURE._replace(rows=[])])
    since = changes(before, findings_of("now", [EXPOSURE]))
    shown = page(small_contents()._replace(sections=(since, made)), str).decode()
    assert "<script>alert(1)" not in shown
    read = ReadPage(shown)
    assert "Since the last report" in read.all("h2")
    assert any(HOSTILE in text for text in read.all("td"))


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"kind": "kraft-metalog report"}', "null"])
def test_what_is_no_report_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest, match=r"^report\.json: not the findings of a report"):
        read_findings(text, "report.json")


def test_a_table_without_findings_has_no_new_column() -> None:
    plain = Section(
        "may", "Who may do what", "…", (Column("Principal", ColumnKind.NAME),), [("User:a",)], 1
    )
    assert marked(plain, read_accepted(ACCEPTED, "a.yaml"), TODAY).section is plain
