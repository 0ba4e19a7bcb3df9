"""Each finding on one day of a small shop (``small_shop``), computed by hand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from authorizer.analysis.remedies.commands import CONNECTION
from authorizer.config import AuthorizerConfig
from metalog.acl import Acl, Operation, ResourceType
from metalog.errors import InvalidMoment, InvalidRequest, InvalidSource
from metalog_spark.findings.denied import denied
from metalog_spark.findings.drift import drift
from metalog_spark.findings.exposure import access, exposure
from metalog_spark.findings.least_privilege import least_privilege, least_set
from metalog_spark.findings.unused import Totals, classified_acls, conditions, unused
from metalog_spark.findings.usage.acl_lifetimes import ACL_COLUMNS, acl_of
from metalog_spark.findings.usage.usage_classes import Reason
from metalog_spark.findings.what_if import what_if
from metalog_spark.findings.windows.window import (
    DAY_US,
    Window,
    WindowCoverage,
    coverage_in,
    tolerance,
    usage_in,
    window_of,
)
from metalog_spark.report.contents import Strip
from metalog_spark.report.traffic import Bars, strips
from metalog_spark.store.arrow import frame_of
from metalog_spark.store.tables import (
    ACL_CHANGELOG,
    CONFIGURATION,
    COVERAGE,
    HISTORY,
    USAGE,
    WAITING,
)
from shell.views.pipeline.findings import share_of
from tests.support.spark.small_pipeline import Ask, World, life, moment
from tests.support.spark.small_shop import (
    ADMIN,
    AGAINST_DAVE,
    BOB,
    CAROL,
    DAVE,
    DAVES,
    ERIN,
    ERINS,
    EVERY_TOPIC,
    FRANK,
    LIFETIMES,
    MALLORY,
    MALORYS,
    ORDERS,
    PAYMENTS,
    POWERS,
    READ,
    REQUESTS,
    SHOP,
    WRITE,
)
from tests.support.worlds.small_acls import allow, deny

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

    from metalog_spark.store.table_store import Tables


READ_BY_DAY = (HISTORY, ACL_CHANGELOG, CONFIGURATION, COVERAGE, USAGE)


def acl_in(row: Row) -> Acl:
    return acl_of(row[name] for name in ACL_COLUMNS)


def by_acl(found: DataFrame) -> dict[Acl, Row]:
    return {acl_in(row): row for row in found.collect()}


def test_the_window_is_what_the_audit_logs_span(day: Window) -> None:
    assert (day.start_us, day.hours) == (moment(0).timestamp() * 1_000_000, 24)


def test_unused(tables: Tables, day: Window) -> None:
    found = unused(tables, day)
    rows = by_acl(found)
    states = {acl: (row.observed, row.state, row.reason) for acl, row in rows.items()}
    assert states == {
        EVERY_TOPIC: ("USED", "USED", None),
        ORDERS: ("SHADOWED", "UNUSED", None),
        PAYMENTS: ("NEVER", "UNUSED", None),
        DAVES: ("ONLY_DENIED", "UNUSED", None),
        AGAINST_DAVE: ("USED", "USED", None),
        ERINS: ("NEVER", "UNKNOWN", "YOUNGER"),
        POWERS[0]: ("USED", "USED", None),
        POWERS[1]: ("NEVER", "UNUSED", None),
        MALORYS: ("NEVER", "UNUSED", None),
    }
    wide = rows[EVERY_TOPIC]
    assert (wide.requests, wide.matched) == (20, 20)
    ends = found.where("operation = 'READ' AND principal = 'User:bob' AND requests > 0")
    [edges] = ends.selectExpr("unix_micros(first_use)", "unix_micros(last_use)").collect()
    assert [*edges] == [moment(1).timestamp() * 1_000_000, moment(5.5).timestamp() * 1_000_000]
    assert acl_of(rows[ORDERS].shadow) == EVERY_TOPIC
    assert rows[ORDERS].matched == 12
    assert rows[ORDERS].remedy == (
        f"kafka-acls {CONNECTION} --remove --force --allow-principal User:bob"
        " --operation Read --topic shop.orders"
    )
    assert rows[POWERS[1]].severity == "WARNING"
    assert rows[EVERY_TOPIC].remedy is None


def test_the_last_use_of_a_grant_is_known_from_before_the_window(tables: Tables) -> None:
    later = unused(tables, window_of(tables, "-22h"))
    franks = later.where("operation = 'ALTER' AND can_go")
    [row] = franks.selectExpr(
        "observed", "requests", "first_use", "unix_micros(last_use)"
    ).collect()
    assert [*row] == ["NEVER", 0, None, moment(1.5).timestamp() * 1_000_000]


def test_the_totals_are_those_of_the_rows(tables: Tables, day: Window) -> None:
    rows = unused(tables, day).where("alive AND permission_type = 'ALLOW'")
    found = classified_acls(tables, day).totals
    assert found == Totals(8, 2, rows.where("can_go").count(), 1, REQUESTS)
    assert found.can_go == 5


def test_least_privilege(tables: Tables, day: Window) -> None:
    found = least_set(tables, day)
    assert set(found.acls) == {
        allow("shop.", READ, BOB, prefixed=True),
        AGAINST_DAVE,
        ERINS,
        POWERS[0],
    }
    proof = found.proof
    assert (proof.requests, proof.allowed, proof.by_super_users) == (REQUESTS, 23, 2)
    assert (proof.revoked, proof.inexpressible, proof.lost, proof.gained) == (0, 0, 0, 0)
    rows = {row.principal: row for row in least_privilege(tables, day).collect()}
    bob = rows[BOB]
    assert (bob.acls_today, bob.acls_least, bob.requests) == (2, 1, 20)
    # READ and DESCRIBE of shop.orders, shop.carts, shop.refunds, payments and logs; he read three
    assert (bob.granted, bob.used, bob.left, bob.excess) == (10, 3, 6, 4)
    assert bob.remedy.splitlines() == [
        f"kafka-acls {CONNECTION} --add --allow-principal User:bob"
        " --operation Read --topic shop. --resource-pattern-type prefixed",
        f"kafka-acls {CONNECTION} --remove --force --allow-principal User:bob"
        " --operation Read --topic '*'",
        f"kafka-acls {CONNECTION} --remove --force --allow-principal User:bob"
        " --operation Read --topic shop.orders",
    ]
    assert (rows[CAROL].acls_least, rows[CAROL].removes, rows[CAROL].requests) == (0, 1, 0)
    assert rows[ERIN].remedy is None


def test_what_if_nothing_changes_nobody_notices(tables: Tables, day: Window) -> None:
    today = [each.acl for each in LIFETIMES]
    assert what_if(tables, day, today).collect() == []


def test_what_if(tables: Tables, day: Window) -> None:
    proposed = [each.acl for each in LIFETIMES if each.acl not in (EVERY_TOPIC, AGAINST_DAVE)]
    rows = what_if(tables, day, proposed).collect()
    said = [
        (row.principal, row.resource_name, row.before, row.after, row.requests, row.severity)
        for row in rows
    ]
    assert said == [
        (BOB, "shop.carts", "ALLOWED", "DENIED", 5, "ERROR"),
        (BOB, "shop.refunds", "ALLOWED", "DENIED", 3, "ERROR"),
        (DAVE, "payments", "DENIED", "ALLOWED", 4, "WARNING"),
    ]
    assert acl_of(rows[0].acl) == EVERY_TOPIC
    assert "--add --allow-principal User:bob" in rows[0].remedy
    assert acl_of(rows[2].acl) == AGAINST_DAVE


def test_what_if_somebody_is_no_super_user_any_more(tables: Tables, day: Window) -> None:
    today = [each.acl for each in LIFETIMES]
    [row] = what_if(tables, day, today, AuthorizerConfig()).collect()
    assert (row.principal, row.after, row.after_rule, row.acl) == (
        ADMIN,
        "DENIED",
        "DefaultDeny",
        None,
    )
    assert row.remedy == "the principal would no longer be a super user: give it ACLs first"


def test_what_if_no_acl_is_said_to_hold_back_a_super_user(tables: Tables, day: Window) -> None:
    supers = AuthorizerConfig(frozenset({ADMIN, DAVE}))
    [row] = what_if(tables, day, [each.acl for each in LIFETIMES], supers).collect()
    assert (row.principal, row.before, row.after_rule, row.acl) == (
        DAVE,
        "DENIED",
        "SuperUser",
        None,
    )
    assert row.remedy == "the principal would be a super user, whom no ACL can limit"


@pytest.mark.parametrize(
    ("missing", "said"),
    [(0.29, "29%"), (1.0, "100%"), (1 / 3, "34%"), (0.00123, "0.13%"), (1e-9, "0.000001%")],
)
def test_the_share_that_is_advised_is_one_that_is_taken(missing: float, said: str) -> None:
    assert tolerance(missing) == said
    assert share_of("--tolerate")(said) >= missing


def test_what_is_tolerated_to_the_last_hour_is_tolerated() -> None:
    seen = WindowCoverage(100, 29, 29, clock_hours=100, without_controller=29)
    for tolerated, is_enough in (("29%", True), ("28.9%", False)):
        given = conditions(
            seen, Window(0, 1), AuthorizerConfig(), share_of("--tolerate")(tolerated), 0
        )
        assert given.is_allowed_seen is is_enough
        assert given.is_any_seen is is_enough
        assert given.is_controller_seen is is_enough


def test_exposure(tables: Tables, day: Window) -> None:
    rows = exposure(tables, day).collect()
    said = {(row.kind, row.principal, row.severity) for row in rows}
    assert said == {
        ("toxic-pair", FRANK, "ERROR"),
        ("super-user-like", FRANK, "WARNING"),
        ("super-user", ADMIN, "WARNING"),
        ("all-topics", BOB, "INFO"),
        ("denied-overlap", DAVE, "INFO"),
    }
    pair = next(row for row in rows if row.kind == "toxic-pair")
    assert {acl_of(pair.acl), acl_of(pair.other)} == set(POWERS)
    [admin] = [row for row in rows if row.principal == ADMIN]
    assert (admin.requests, admin.acl) == (2, None)


def test_what_everyone_has_and_is_denied_is_of_each_principal(
    spark: SparkSession, tmp_path: Path
) -> None:
    """frank alters configurations, and everyone the cluster; bob reads what nobody may; everyone
    writes to and deletes every topic, which makes no pair for bob or frank."""
    everyone = "User:*"
    alters, configures = (
        allow("kafka-cluster", power.operation, principal, kind=ResourceType.CLUSTER)
        for power, principal in zip(POWERS, (everyone, FRANK), strict=True)
    )
    writes = allow("*", WRITE, everyone)
    deletes = allow("", Operation.ALTER_CONFIGS, everyone, prefixed=True)
    secret = deny("shop.orders", READ, everyone)
    acls = (alters, configures, writes, deletes, EVERY_TOPIC, secret, PAYMENTS)
    world = World(tuple(life(number, acl) for number, acl in enumerate(acls, 1)))
    tables = world.folder(spark, tmp_path / "everyone", *READ_BY_DAY)
    found = exposure(tables, window_of(tables)).where("kind IN ('toxic-pair', 'denied-overlap')")
    assert {
        (row.kind, row.principal, acl_of(row.acl), acl_of(row.other)) for row in found.collect()
    } == {
        ("toxic-pair", FRANK, alters, configures),
        ("toxic-pair", everyone, writes, deletes),
        ("denied-overlap", BOB, EVERY_TOPIC, secret),
    }


def test_access(tables: Tables, day: Window) -> None:
    rows = {(row.principal, row.resource_name): row for row in access(tables, day).collect()}
    assert len(rows) == 7
    wide = rows[BOB, "*"]
    assert (wide.reads, wide.writes, wide.administers) == (True, False, False)
    assert (wide.operations, wide.requests) == (["DESCRIBE", "READ"], 20)
    assert rows[FRANK, "kafka-cluster"].administers
    assert rows[DAVE, "payments"].denied == ["READ"]


def test_denied(tables: Tables, day: Window) -> None:
    mallory, dave, erin = denied(tables, day).collect()
    assert (mallory.principal, mallory.requests, mallory.peak, mallory.storm) == (
        MALLORY,
        1500,
        1500,
        True,
    )
    assert (mallory.near_kind, acl_of(mallory.near)) == ("PRINCIPAL_TYPO", MALORYS)
    assert (mallory.severity, mallory.still) == ("WARNING", True)
    assert mallory.remedy.startswith(f"kafka-acls {CONNECTION} --add")
    assert (dave.near_kind, dave.requests) == ("DENY_OVERRIDES", 4)
    assert (erin.principal, erin.operation, erin.near_kind) == (ERIN, "WRITE", "OPERATION")


def test_denials_are_by_what_was_asked_and_grants_by_hosts(
    spark: SparkSession, tmp_path: Path
) -> None:
    """No command that makes a denied user as powerful as a super user is offered."""
    here, there = "10.0.0.1", "10.0.0.2"
    acls = [allow("t", READ, BOB, host=here), allow("t", WRITE, BOB, host=there)]
    acls += [allow("u", each, BOB, host=host) for each in (READ, WRITE) for host in (here, there)]
    asks = (
        Ask(ERIN, Operation.ALTER, "kafka-cluster", times=264, kind=ResourceType.CLUSTER),
        Ask(
            ERIN, Operation.DESCRIBE, "kafka-cluster", times=700, kind=ResourceType.CLUSTER, hour=2
        ),
        Ask(
            ERIN, Operation.DESCRIBE, "kafka-cluster", kind=ResourceType.CLUSTER, hour=3, host=there
        ),
        Ask(BOB, READ, "t"),
    )
    world = World(tuple(life(number, acl) for number, acl in enumerate(acls, 1)), asks)
    tables = world.folder(spark, tmp_path / "asked")
    looked, altered = denied(tables, window_of(tables)).collect()
    assert (looked.operation, looked.requests, looked.hosts, looked.host) == (
        "DESCRIBE", 701,
        2, there,
    )  # fmt: skip
    assert "--operation Describe" in looked.remedy
    assert (altered.operation, altered.requests, altered.hosts) == ("ALTER", 264, 1)
    assert altered.remedy == (
        "find out why the client sends such requests, and stop them: with ALTER on this resource it"
        " may change all ACLs and"
        " anybody's password, and so become anyone; leave such work to a super user"
    )
    held = access(tables, window_of(tables)).collect()
    assert sorted((row.resource_name, row.operations, row.hosts) for row in held) == [
        ("t", ["DESCRIBE", "READ"], [here]),
        ("t", ["DESCRIBE", "WRITE"], [there]),
        ("u", ["DESCRIBE", "READ", "WRITE"], [here, there]),
    ]


def test_drift_between_two_moments_of_one_log(tables: Tables) -> None:
    [row] = drift(tables, tables, desired_at=0).collect()
    assert (row.change, acl_in(row), row.severity) == ("ADDED", ERINS, "INFO")
    [row] = drift(tables, tables, actual_at=0).collect()
    assert row.change == "REMOVED"
    assert row.remedy.endswith("--add --allow-principal User:erin --operation Read --topic logs")


def test_moments_of_the_window(tables: Tables, day: Window) -> None:
    assert window_of(tables, "-6h").start_us == day.end_us - 6 * 3_600_000_000
    said: list[str] = []
    assert window_of(tables, "-90d", say=said.append) == window_of(tables, say=said.append) == day
    assert said == ["the audit logs begin at 2026-01-01T00:00:00.000Z: -90d is before that"]
    assert window_of(tables, "2025-12-31").hours == 48
    assert window_of(tables, "2026-01-01T02:00").hours == 22
    assert window_of(tables, "120").start_us == moment(2).timestamp() * 1_000_000
    for start, end, words in (
        ("2026-01-01T02:00", "2026-01-01T02:00", "is empty"),
        ("2026-06-01", None, "--from 2026-06-01T00:00:00.000Z: the audit logs end at 2026-01-"),
        ("2026-01-02", "2026-01-03", "the audit logs cover"),
        ("119", None, "no ACL had changed by offset 119"),
    ):
        with pytest.raises(InvalidMoment, match=words):
            window_of(tables, start, end)
    for_ever = usage_in(tables, window_of(tables, "-1000000d", "@999999999999999"))
    assert for_ever.selectExpr("sum(requests)").collect()[0][0] == REQUESTS


def test_a_window_that_cuts_a_day_counts_its_requests_one_by_one(tables: Tables) -> None:
    afternoon = window_of(tables, "2026-01-01T01:15", "2026-01-01T05:15")
    bobs = usage_in(tables, afternoon).where(f"principal = '{BOB}'").collect()
    # of those at one o'clock the half that came at half past, and one of the two at five
    assert {(row.resource_name, row.requests) for row in bobs} == {
        ("shop.orders", 5),
        ("shop.orders", 1),
        ("shop.carts", 2),
        ("shop.refunds", 1),
    }


def test_without_any_allowed_line_the_line_for_log4j_is_said(
    spark: SparkSession, tmp_path: Path
) -> None:
    dark = SHOP._replace(dark=frozenset(("1", hour) for hour in range(24)))
    tables = dark.folder(spark, tmp_path / "dark", COVERAGE)
    for refused in (unused, least_privilege):
        with pytest.raises(InvalidRequest, match=r"kafka\.authorizer\.logger=DEBUG") as caught:
            refused(tables, window_of(tables))
        assert "\n" not in str(caught.value)


def test_a_part_of_the_uses_that_is_gone_is_not_taken_for_no_use(
    spark: SparkSession, tmp_path: Path
) -> None:
    """For the uses of whole days, and for those of a day that the window cuts."""
    tables = SHOP.folder(spark, tmp_path / "gone", *READ_BY_DAY)
    with pytest.raises(InvalidSource, match=r"decisions has 0 requests of 2026-.* 1,528"):
        classified_acls(tables, window_of(tables, "2026-01-01T00:30"))
    of_others = tables.read(USAGE).where(f"principal <> '{BOB}'").collect()
    tables.replace(USAGE, frame_of(spark, of_others, USAGE.schema))
    with pytest.raises(InvalidSource, match=r"usage has 1,508 requests of 2026-.* 1,528"):
        classified_acls(tables, window_of(tables))


def test_what_was_allowed_and_cannot_be_asked_is_not_passed_over(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Older folders may have such rows; a denied request used no grant."""
    from pyspark.sql import functions as f

    tables = SHOP.folder(spark, tmp_path / "odd", *READ_BY_DAY)
    day, whole = window_of(tables), tables.read(USAGE).collect()

    def with_words(name: str, word: str | None, result: str) -> None:
        rows = frame_of(spark, whole, USAGE.schema)
        of_those = f.when(f.col("result") == result, f.lit(word)).otherwise(f.col(name))
        tables.replace(USAGE, rows.withColumn(name, of_those))

    for name, word in (("operation", "READING"), ("pattern_type", "PREFIXED"), ("host", None)):
        with_words(name, word, "ALLOWED")
        with pytest.raises(InvalidSource, match=r"23 allowed requests of 2026-01-01 that no ACL"):
            classified_acls(tables, day)
    with_words("operation", "READING", "DENIED")
    assert classified_acls(tables, day).totals.requests == REQUESTS


def test_a_dark_hour_leaves_what_was_not_used_unknown(spark: SparkSession, tmp_path: Path) -> None:
    """Also an hour of a controller for requests that only controllers log; a waiting request may
    use any ACL."""
    dark, led = frozenset({("2", 7)}), frozenset(range(23))
    dusk = SHOP._replace(brokers=("1", "2"), dark=dark, led=led)
    tables = dusk.folder(spark, tmp_path / "dusk", *READ_BY_DAY)
    waiting = [waits(CAROL, WRITE, "payments"), waits(BOB, READ, "new")]
    tables.replace(WAITING, frame_of(spark, waiting, WAITING.schema))
    day = window_of(tables)
    strict, lenient = (
        classified_acls(tables, day, tolerated=tolerated) for tolerated in (0.0, 0.03)
    )
    reasons = {each.acl: each.reason for each in strict.verdicts}
    assert (reasons[PAYMENTS], reasons[MALORYS]) == (Reason.WAITS, Reason.COVERAGE)
    assert reasons[EVERY_TOPIC] is None
    found = {each.acl: each for each in lenient.verdicts}
    assert found[MALORYS].can_go
    assert found[PAYMENTS].reason is Reason.WAITS
    assert [found[power].reason for power in POWERS] == [None, Reason.CONTROLLER]
    least = least_set(tables, day, tolerated=0.03).acls
    assert {*least} == {
        allow("shop.", READ, BOB, prefixed=True),
        allow("new", READ, BOB),
        AGAINST_DAVE, ERINS, PAYMENTS,
        *POWERS,
    }  # fmt: skip
    with pytest.raises(InvalidRequest, match=r"1 of 48 broker-hours.*--tolerate 2\.1%"):
        least_set(tables, day)


def test_what_a_snapshot_within_the_window_has_is_not_called_unused(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Its ACLs may be a minute old; for a window that begins with it they are as old as the
    window."""
    late = SHOP._replace(known_from=24, days=2)
    tables = late.folder(spark, tmp_path / "late", *READ_BY_DAY)
    both = classified_acls(tables, window_of(tables))
    found = {each.acl: each for each in both.verdicts}
    assert found[PAYMENTS].reason is found[MALORYS].reason is Reason.YOUNGER
    assert both.totals.can_go == 0
    assert {PAYMENTS, MALORYS, ORDERS} <= {*least_set(tables, window_of(tables)).acls}
    second = classified_acls(tables, window_of(tables, "2026-01-02"))
    assert {each.acl for each in second.verdicts if each.can_go} >= {PAYMENTS, MALORYS, ORDERS}


def waits(principal: str, operation: Operation, name: str) -> tuple[Any, ...]:
    """A row of WAITING: a broker allowed it on a topic, six hours after all others."""
    asked = (principal, "10.0.0.1", operation.name, "TOPIC", name, "LITERAL")
    answer = ("Produce", 1, "ALLOWED", None, False)
    return (moment(30), "1", *asked, *answer, "audit.log", 1, moment(30).date())


def test_a_broker_of_which_the_window_has_no_line_counts_and_is_shown(
    tables: Tables, day: Window
) -> None:
    next_day = Window(day.end_us, day.end_us + DAY_US)
    seen = coverage_in(tables, next_day)
    assert (seen.hours, seen.without_allowed, seen.without_any) == (24, 24, 24)
    assert (seen.clock_hours, seen.without_controller) == (24, 24)
    broker, _ = strips(tables, Bars.of(next_day))
    assert broker == Strip("broker 1", "n", (0, 0, 24))


def test_what_the_default_allowed_gets_acls_and_the_default_goes(
    spark: SparkSession, tmp_path: Path
) -> None:
    lifetimes = (life(1, ORDERS), life(2, allow("shop.orders", WRITE, "User:*")))
    asks = (
        Ask(BOB, READ, "shop.orders"),
        Ask(CAROL, WRITE, "shop.orders"),
        Ask(CAROL, WRITE, "open", times=3),
        Ask(CAROL, READ, "", kind=ResourceType.GROUP, times=2),
        Ask(CAROL, READ, "*", kind=ResourceType.GROUP, times=4),
        Ask(DAVE, READ, "was-open", result="ALLOWED", known=False),
    )
    world = World(lifetimes, asks, allow_everyone=True)
    tables = world.folder(spark, tmp_path / "open", *READ_BY_DAY)
    day = window_of(tables)
    found = least_set(tables, day)
    assert found.ends_allow_everyone
    assert found.proof.inexpressible == 2 + 4
    wanted = {
        ORDERS,
        allow("shop.orders", WRITE, CAROL),
        allow("open", WRITE, CAROL),
        allow("was-open", READ, DAVE),
    }
    assert set(found.acls) == wanted
    assert {row.reason for row in unused(tables, day).collect()} <= {None, "OPENS"}
