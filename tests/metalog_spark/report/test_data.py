"""A report's statements when little is known, without Spark."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, cast

import pytest

from authorizer.config import AuthorizerConfig
from authorizer.kafka_version import KafkaVersion
from metalog.acl import words_of
from metalog_sources.formats.document import Own
from metalog_spark.coverage.coverage import HOUR_US
from metalog_spark.decide.past_log_end import PastLogEnd
from metalog_spark.findings.usage.acl_lifetimes import ACL_COLUMNS
from metalog_spark.findings.windows.pending import Uncounted, WaitingRequests
from metalog_spark.findings.windows.window import DAY_US, Window, WindowCoverage
from metalog_spark.history.configuration import DEFAULT_PERIOD
from metalog_spark.report.contents import SECTIONS, Strip
from metalog_spark.report.data import contents
from metalog_spark.report.gather import Gathered, Parts, RowLimits
from metalog_spark.report.rows import Row, Rows
from metalog_spark.report.sections import drift, unused
from metalog_spark.report.text.words import roughly, share
from metalog_spark.report.traffic import EVERYBODY, Bars, Traffic
from metalog_spark.report.triage.identity import is_finding
from metalog_spark.report.triage.owners import Team
from tests.support.worlds.small_acls import allow

if TYPE_CHECKING:
    from metalog_spark.store.table_store import Tables

REFUSED = "no allowed request was logged: write kafka.authorizer.logger=DEBUG"
WINDOW = Window(20_000 * DAY_US, 20_002 * DAY_US)
KNOWN = {
    "history": [],
    "seen": WindowCoverage(hours=48, without_allowed=48, without_any=24),
    "unused": Rows(refused=REFUSED),
    "least": Rows(refused=REFUSED),
    "may": [],
    "exposure": [],
    "denied": Rows(),
    "drift": [],
    "configs": None,
    "disagreements": Rows(),
    "rejected": [],
    "ambiguous": [],
}


def parts(**found: object) -> Parts:
    """Parts as if already computed; there are no tables."""
    made = Parts(cast("Tables", None), WINDOW, tolerated=0, desired=None)
    vars(made).update(KNOWN | found)
    return made


DARK = Gathered(
    parts=parts(),
    name=None,
    path="/reports/tables",
    bars=Bars.of(WINDOW),
    lines=9,
    periods=[DEFAULT_PERIOD],
    strips=(Strip("broker 1", "dn", (0, 24, 24)), Strip("metadata log", "nn", (0, 0, 48))),
    traffic={EVERYBODY: Traffic((0, 0), (9, 0))},
    changes=[],
    acls=[allow("a"), allow("b")],
)


def test_a_comparison_names_each_setting_that_differs() -> None:
    here = AuthorizerConfig(frozenset({"User:a", "User:b"}), True, kafka_version=KafkaVersion.V4_4)
    there = AuthorizerConfig(frozenset({"User:b", "User:c"}))
    says = drift([], (there, here), "compared with w1.tables", "the end").says
    assert says == (
        "No ACL came or went compared with w1.tables, up to the end."
        " Super users in this table only: User:a. Super users in all tables but this: User:c."
        " allow.everyone.if.no.acl.found is true in this table only."
        " This table decides as Kafka 4.4, the others as 4.3."
    )
    assert drift([], (here, here), "compared with w1", "the end").says.endswith("up to the end.")


def test_where_nothing_allowed_was_logged_nothing_is_called_unused() -> None:
    told = contents(DARK, None)
    assert told.sentence == ("The use of 2 ACLs is unknown, because no allowed request is certain.")
    assert [number.value for number in told.numbers] == [9, None, 0, 0]
    says = {section.id: section.says for section in told.sections}
    assert tuple(says) == SECTIONS
    assert REFUSED in says["unused"]
    assert REFUSED in says["least"]
    assert REFUSED in told.excess_says
    assert {cell.share for cell in told.access.cells} == {None}
    assert told.window.says.startswith(
        "2 days of 1 broker: allowed and denied requests are known for 0% of all hours, only "
        "denials for 50%, nothing for 50%."
    )


def excess(principal: str, pairs: int) -> Row:
    numbers = {"granted": pairs, "used": 0, "excess": pairs, "acls_today": 1, "acls_least": 0}
    return {
        "principal": principal,
        **numbers,
        **dict.fromkeys(("left", "requests"), 0),
        "severity": "INFO",
        "remedy": None,
    }


def test_the_matrix_begins_with_the_principals_of_the_first_screen() -> None:
    """Also those whose ACLs came after the window, which no finding names."""
    names = [f"User:{n:02}" for n in range(12)]
    least = Rows([excess(name, 1 + n * 5 % 12) for n, name in enumerate(names)])
    acls = [allow("t", principal=name) for name in (*names, "User:a")]
    found = DARK._replace(parts=parts(least=least), acls=acls)
    whole = contents(found, None)
    first = [each.principal for each in whole.excess]
    assert [each.granted for each in whole.excess] == [*range(12, 2, -1)]
    assert list(whole.access.principals[:10]) == first
    assert whole.access.says == (
        "13 principals by 1 resource pattern, for the ACLs in force at the log's end. The "
        "principals with the most excess come first."
    )
    everyones = [*least.rows, excess("User:*", 99)]
    first, *others = contents(found._replace(parts=parts(least=Rows(everyones))), None).excess
    assert (first.principal, first.used) == ("User:*", 0)
    assert "uses are counted for the principals" in (first.remark or "")
    assert {each.remark for each in others} == {None}
    own = Team("team", (Own(principal="User:03"), Own(name="t")))
    of_team = contents(found._replace(traffic={"team": Traffic((0, 0), (0, 0))}), own).access
    assert of_team.principals == (
        "User:03",
        *(n for n in whole.access.principals if n != "User:03"),
    )
    assert "The team's own principals come first" in of_team.says
    none = contents(found._replace(parts=parts(least=Rows())), None).access
    assert "first" not in none.says


def test_a_shadowed_grant_counts_the_requests_that_it_matches() -> None:
    found = dict(zip(ACL_COLUMNS, words_of(allow("t")), strict=True))
    found |= {"observed": "SHADOWED", "state": "UNUSED", "can_go": True, "severity": "INFO"}
    found |= {"requests": 0, "matched": 42, "last_use": None, "remedy": None, "shadow": {**found}}
    section = unused(Rows(), [found], 0, "the end")
    use = section.rows[0][[column.title for column in section.columns].index("Use")]
    assert use == "shadowed (42 requests, mostly by ALLOW READ on TOPIC t), can go"
    assert is_finding(section, section.rows[0])


def test_a_line_that_could_not_be_read_can_be_a_use() -> None:
    for broken, said in (
        (1, "1 audit line could not be read, and it can be a use"),
        (1_200, "1,200 audit lines could not be read, and each can be a use"),
    ):
        found = DARK._replace(parts=parts(seen=DARK.parts.seen._replace(broken=broken)))
        assert contents(found, None).caveats == (said,)
    assert contents(DARK, None).caveats == ()


def test_without_a_controllers_log_it_is_said_what_is_not_known() -> None:
    for without, advice in (
        (48, "build with the controllers' kafka-authorizer.log, too; only one controller is"),
        (2, "build with the controllers' logs of that time, too, or pass --tolerate 4.2%"),
    ):
        unled = DARK.parts.seen._replace(clock_hours=48, without_controller=without)
        [said] = contents(DARK._replace(parts=parts(seen=unled)), None).caveats
        assert said.startswith(
            f"in {without} of 48 hours no line of a controller certainly shows an allowed request,"
            " and only controllers log most requests for CREATE, DELETE, ALTER, ALTER_CONFIGS and"
            " the like, so no ALLOW for these operations is called unused, and least-privilege"
            " keeps these ALLOWs;"
            f" {advice}"
        )
    accepted = parts(seen=unled, tolerated=0.05)
    assert contents(DARK._replace(parts=accepted), None).caveats == ()


def test_a_request_that_waits_can_be_a_use() -> None:
    waiting = WaitingRequests(2, WINDOW.end_us, WINDOW.start_us // 1000)
    found = DARK._replace(parts=parts(seen=DARK.parts.seen._replace(waiting=waiting)))
    assert contents(found, None).caveats == (
        "2 requests wait: the log is known up to 2024-10-04T00:00:00.000Z, and later ACLs are "
        "unknown; each request can be a use",
    )


def test_what_is_not_counted_yet_can_be_a_use() -> None:
    uncounted = Uncounted(WINDOW.end_us)
    found = DARK._replace(parts=parts(seen=DARK.parts.seen._replace(uncounted=uncounted)))
    assert contents(found, None).caveats[0].endswith("orderly end; each request can be a use")


def test_a_window_of_one_day_names_it_once() -> None:
    one_day = parts()
    one_day.window = Window(WINDOW.start_us, WINDOW.start_us + DAY_US)
    for found, said in ((parts(), "4 October 2024 to 5 October 2024"), (one_day, "4 October 2024")):
        assert dict(contents(DARK._replace(parts=found), None).facts)["Window"] == said


def test_what_was_asked_after_the_log_had_ended_is_counted() -> None:
    later = PastLogEnd(1, WINDOW.start_us // 1000)
    found = DARK._replace(parts=parts(seen=DARK.parts.seen._replace(later=later)))
    assert contents(found, None).caveats == (
        "1 request is newer than the log's last record (2024-10-04T00:00:00.000Z) and decided by "
        "the log's last ACLs; if ACLs can have changed after that time, build with a newer copy "
        "of the log",
    )


@pytest.mark.parametrize("section", SECTIONS)
def test_to_print_one_table_whole_no_other_is_brought_whole(section: str) -> None:
    """The driver has no memory for other tables."""
    assert sum(map(int.__gt__, RowLimits.all_of(section), RowLimits())) <= 1


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("/archive/prod*", "prod"),
        ("/var/prod-eu/metadata/__cluster_metadata-0", "prod-eu"),
        ("topic://kafka:9092/__audit", "__audit"),
        ("log", "log"),
    ],
)
def test_a_cluster_is_called_by_where_its_log_lies(place: str, said: str) -> None:
    gap = {
        "source": place,
        "kind": "KNOWN",
        **dict.fromkeys(("from_offset", "to_offset", "from_time", "to_time")),
    }
    found = DARK._replace(parts=parts(history=[gap]))
    assert contents(found, None).cluster == said
    named = found._replace(name="Prod <EU>")
    assert contents(named, None).cluster == "Prod <EU>"


@pytest.mark.parametrize(
    ("days", "step", "bars"), [(1, 1, 1), (400, 1, 400), (401, 7, 58), (2_800, 7, 400)]
)
def test_a_long_window_has_longer_bars(days: int, step: int, bars: int) -> None:
    found = Bars.of(Window(20_000 * DAY_US, (20_000 + days) * DAY_US))
    assert (found.start, found.step, found.number) == (date(2024, 10, 4), step, bars)
    hours = [hour for bar in range(found.number) for hour in found.hours(bar)]
    assert hours == [*range(20_000 * 24, (20_000 + days) * 24)]


def test_a_window_that_cuts_days_has_its_own_hours_only() -> None:
    start = 20_000 * DAY_US + 5 * HOUR_US
    found = Bars.of(Window(start, start + 20 * HOUR_US))
    assert [len(found.hours(bar)) for bar in range(found.number)] == [19, 1]


@pytest.mark.parametrize(
    ("count", "said"),
    [(0, "0"), (999_999, "999,999"), (5_200_000, "5.2 million"), (4_912_113_204, "4.9 bn")],
)
def test_a_large_number_is_said_roughly(count: int, said: str) -> None:
    assert roughly(count) == said


@pytest.mark.parametrize(
    ("part", "whole", "said"),
    [
        (0, 9, "0%"),
        (9, 9, "100%"),
        (1, 10**6, "0.1%"),
        (10**6 - 1, 10**6, "99.9%"),
        (1, 8, "12.5%"),
    ],
)
def test_nearly_all_is_not_all_and_nearly_nothing_not_nothing(
    part: int, whole: int, said: str
) -> None:
    assert share(part, whole) == said
