"""Spark's decisions equal those by SQL joins and by the specification, in every edge case."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from authorizer.config import AuthorizerConfig
from authorizer.engine.decide import (
    ALLOWED_TO_SUPER_USER,
    DEFAULT_ALLOW,
    DEFAULT_DENY,
    MATCHING_ACL,
    SUPER_USER,
    Decision,
)
from authorizer.history.timeline import AclLifetime, TimelineChange, lifetimes
from authorizer.kafka_version import KafkaVersion
from metalog.acl import Acl, Operation, PatternType, PermissionType, ResourceType
from metalog.ids import Uuid
from metalog_spark.coverage.coverage import usage
from metalog_spark.decide.decide_job import decided
from metalog_spark.history.archive_history import ChangelogRow, HistoryRange
from metalog_spark.history.changelog import changelog_rows, history_rows
from metalog_spark.history.configuration import ConfigPeriod, Configuration
from metalog_spark.history.state import packed
from metalog_spark.store.arrow import frame_of
from metalog_spark.store.tables import DECISIONS, REQUESTS, USAGE
from tests.support.spark.sql_oracle import decided_by_joins
from tests.support.worlds import spec
from tests.support.worlds.small_acls import allow
from tests.support.worlds.small_histories import NAMES, OPERATIONS, PRINCIPALS, START, replayed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
START_MS = 100
GAP_MS = (130, 133)
HOSTS = ("10.0.0.1", "10.0.0.2", "2001:db8:0:0:0:0:0:1", "2001:db8:0:0:0:0:0:2")
BLOCKS = ("10.0.0.0/8", "10.0.0.3/31", "2001:DB8::/127", "2001:db8::7/32", "::/0")
CONFIGURATION = Configuration(
    [
        ConfigPeriod(None, AuthorizerConfig(), "first"),
        ConfigPeriod(
            120_500, AuthorizerConfig(frozenset(["User:b"]), allow_everyone=True), "second"
        ),
        ConfigPeriod(
            140_000,
            AuthorizerConfig(frozenset(["User:a"]), kafka_version=KafkaVersion.V4_4),
            "third",
        ),
    ]
)
ROWS = 2_000
RULES = (SUPER_USER, DEFAULT_ALLOW, DEFAULT_DENY, MATCHING_ACL)
READ_A = allow("a", principal="User:a")


def time(microseconds: int) -> datetime:
    return EPOCH + timedelta(microseconds=microseconds)


def changelog(session: SparkSession, found: Iterable[AclLifetime]) -> DataFrame:
    known = [
        ChangelogRow(life.id, life.acl, life.begin, True, life.end, True, "s") for life in found
    ]
    return changelog_rows(session, known)


def history(session: SparkSession) -> DataFrame:
    ranges = [("KNOWN", START_MS, GAP_MS[0]), ("GAP", *GAP_MS), ("KNOWN", GAP_MS[1], 160)]
    rows = [
        HistoryRange(kind, START + number, START + number + 1, begin, end)
        for number, (kind, begin, end) in enumerate(ranges)
    ]
    return history_rows(session, rows, "s")


def requests(session: SparkSession, asked: list[tuple[Any, ...]]) -> DataFrame:
    """Questions with their time in microseconds."""
    rows = [
        (time(us), "1", *question, "Fetch", 1, "ALLOWED", None, False, "f", line, date(1970, 1, 1))
        for line, (us, *question) in enumerate(asked)
    ]
    return frame_of(session, rows, REQUESTS.schema)


def some_changes(choose: Random) -> list[TimelineChange]:
    """ACLs that are added, removed and bound to other ids, some in one transaction."""
    changes: list[TimelineChange] = []
    for offset in range(START, START + 200):
        acl = Acl(
            choose.choice([ResourceType.TOPIC] * 5 + [ResourceType.GROUP]),
            choose.choice(NAMES),
            choose.choice([PatternType.LITERAL, PatternType.PREFIXED]),
            choose.choice(PRINCIPALS),
            choose.choice(["*", HOSTS[0], *BLOCKS]),
            choose.choice(OPERATIONS),
            choose.choice([PermissionType.ALLOW, PermissionType.ALLOW, PermissionType.DENY]),
        )
        uuid = Uuid(choose.randrange(6).to_bytes(16, "big"))
        end = offset - offset % 4 + 4 if offset % 16 < 4 else None
        after = acl if choose.random() < 0.6 else None
        changes.append(
            TimelineChange(offset, uuid, after, START_MS + ((end or offset) - START) // 4, end)
        )
    return changes


def some_questions(choose: Random) -> list[tuple[Any, ...]]:
    """At the exact milliseconds of changes, one microsecond before, and in between."""
    return [
        (
            choose.randrange(START_MS - 3, START_MS + 55) * 1000 + choose.choice([0, 0, 1, 999]),
            choose.choice(PRINCIPALS),
            choose.choice(HOSTS),
            choose.choice([*OPERATIONS, Operation.ALTER_CONFIGS]).name,
            choose.choice([ResourceType.TOPIC, ResourceType.GROUP]).name,
            choose.choice([*NAMES, "abbey", "*ab", "c"]),
            "LITERAL",
        )
        for _ in range(ROWS)
    ]


@pytest.mark.usefixtures("as_users_run_it")
def test_decisions_are_those_of_joins_and_of_the_specification(spark: SparkSession) -> None:
    choose = Random(1)
    base = {Uuid(bytes([9] * 16)): READ_A}
    changes = some_changes(choose)
    asked = some_questions(choose)
    log, seen = changelog(spark, lifetimes(base, changes)), history(spark)
    rows = requests(spark, asked)
    answered = decided(rows, packed(log, seen), CONFIGURATION)
    assert answered.columns == list(DECISIONS.columns)
    found = answered.orderBy("line").collect()
    joined = decided_by_joins(rows, log, seen, CONFIGURATION.rows(spark)).orderBy("line")
    same = [name for name in joined.columns if name != "log_offset"]
    assert [tuple(row[name] for name in same) for row in found] == [
        tuple(row[name] for name in same) for row in joined.collect()
    ]
    for row, (us, *question) in zip(found, asked, strict=True):
        expected = specified(base, changes, us, *question)
        if expected is not None:
            assert (row.decided, row.decided_rule) == (expected.result.name, expected.rule)
        assert (row.decided is None) == (expected is None) == (us < START_MS * 1000)
        in_gap = GAP_MS[0] * 1000 <= us < GAP_MS[1] * 1000
        assert row.known == (us >= START_MS * 1000 and not in_gap)
        assert row.disagrees == (row.decided != row.result if row.known else None)
    assert {row.decided_rule for row in found} == {None, *RULES}


def specified(
    base: dict[Uuid, Acl], changes: list[TimelineChange], us: int, *question: str
) -> Decision | None:
    if us < START_MS * 1000:
        return None
    principal, host, operation, resource_type, name, _ = question
    bound = replayed(base, [each for each in changes if each.time_ms * 1000 <= us])
    config = CONFIGURATION.at(us)
    if principal in config.super_users:
        return ALLOWED_TO_SUPER_USER
    who = {principal}, host
    asked = Operation[operation], ResourceType[resource_type], name
    return spec.decide(set(bound.values()), who, *asked, config.allow_everyone, config.kafka)


def test_what_no_authorizer_answers_has_no_answer(spark: SparkSession) -> None:
    """Kafka's StandardAuthorizer throws for a pattern that is not LITERAL."""
    log = changelog(spark, lifetimes({Uuid(bytes(16)): READ_A}, []))
    read = (500_000, "User:a", HOSTS[0], "READ", "TOPIC", "a", "LITERAL")
    odd = [(*read[:place], None, *read[place + 1 :]) for place in range(1, len(read))]
    odd += [
        (*read[:6], "PREFIXED"),
        (*read[:3], "Read", *read[4:]),
        (*read[:4], "QUEUE", *read[5:]),
    ]
    answered = decided(
        requests(spark, [read, *odd]), packed(log, history(spark)), Configuration()
    ).orderBy("line")
    found = [
        (row.log_offset, row.decided, row.decided_rule, row.acl_id, row.known, row.disagrees)
        for row in answered.collect()
    ]
    assert found[0] == (START, "ALLOWED", MATCHING_ACL, "A" * 22, True, False)
    assert set(found[1:]) == {(None, None, None, None, True, None)}


def test_usage_counts_what_was_the_same_on_a_day(spark: SparkSession) -> None:
    log = changelog(spark, lifetimes({Uuid(bytes(16)): READ_A}, []))
    read = ("User:a", HOSTS[0], "READ", "TOPIC", "a", "LITERAL")
    write = ("User:a", HOSTS[0], "WRITE", "TOPIC", "a", "LITERAL")
    asked = [(500_000, *read), (501_000, *write), (502_000, *read), (501_000, *read)]
    answered = decided(requests(spark, asked), packed(log, history(spark)), Configuration())
    counted = usage(answered)
    assert counted.columns == list(USAGE.columns)
    assert [
        (row.operation, row.decided, row.acl_id, row.requests, row.first_us, row.last_us)
        for row in counted.selectExpr(
            "*", "unix_micros(first_time) AS first_us", "unix_micros(last_time) AS last_us"
        )
        .orderBy("operation")
        .collect()
    ] == [
        ("READ", "ALLOWED", "A" * 22, 3, 500_000, 502_000),
        ("WRITE", "DENIED", None, 1, 501_000, 501_000),
    ]


def test_equal_tables_make_equal_bytes(spark: SparkSession) -> None:
    """A worker process caches its state under these bytes."""
    changes = some_changes(Random(3))
    found = list(lifetimes({}, changes))
    seen = history(spark)
    states = [packed(changelog(spark, each), seen) for each in (found, reversed(found))]
    assert states[0] == states[1]
