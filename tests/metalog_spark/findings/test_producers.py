"""Principals that may have started an idempotent producer keep that right: Kafka's audit log does
not show all starts. KIP-679: InitProducerId needs IDEMPOTENT_WRITE on the cluster or WRITE on any
topic. Kafka logs only a start that the cluster's grant or a grant on the topic ``hardcode`` allows.
Compared with the spec's linear scan."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from random import Random
from types import CodeType, FrameType
from typing import TYPE_CHECKING

import pytest

from authorizer.engine.index import IndexWriter
from metalog.acl import Acl, Operation, PatternType, PermissionType, ResourceType
from metalog_sources.formats.document import AclEntry, Document
from metalog_sources.formats.yaml import write_yaml
from metalog_spark.findings.least_privilege import least_set
from metalog_spark.findings.producers import RequestOrigin, kept_for_producers, narrowest, unseen_in
from metalog_spark.findings.unused import classified_acls
from metalog_spark.findings.usage.usage_classes import Reason
from metalog_spark.findings.windows.window import window_of
from tests.support.command.runs import run_here
from tests.support.spark.small_pipeline import Ask, World, life
from tests.support.spark.small_shop import (
    ADMIN,
    BOB,
    CAROL,
    CLUSTER,
    DAVE,
    ERIN,
    FRANK,
    MALLORY,
    READ,
    WRITE,
)
from tests.support.worlds import spec
from tests.support.worlds.small_acls import allow, deny

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from metalog_spark.store.table_store import Tables

ALL, DESCRIBE = Operation.ALL, Operation.DESCRIBE
IDEMPOTENT_WRITE = Operation.IDEMPOTENT_WRITE
GRACE, HEIDI, IVAN, EVE = "User:grace", "User:heidi", "User:ivan", "User:eve"

STANDS_BY = allow("orders", WRITE, BOB)
NEVER_DONE = [allow(name, WRITE, CAROL) for name in ("a", "b")]
READS = allow("logs", READ, CAROL)
GONE = allow("payments", WRITE, DAVE)
WIDE = allow("*", ALL, ERIN)
ON_CLUSTER = allow("kafka-cluster", IDEMPOTENT_WRITE, FRANK, kind=CLUSTER)
BESIDE = allow("orders", WRITE, FRANK)
PRODUCES = [allow(name, WRITE, GRACE) for name in ("orders", "logs")]
TEAMS = allow("team-", ALL, HEIDI, prefixed=True)
DENIED = allow("orders", WRITE, IVAN)
YOUNG = allow("kafka-cluster", IDEMPOTENT_WRITE, MALLORY, kind=CLUSTER)
OLD = allow("orders", WRITE, MALLORY)
TODAY = (
    STANDS_BY, *NEVER_DONE, READS, GONE, WIDE, ON_CLUSTER, BESIDE, *PRODUCES,
    TEAMS, DENIED, OLD, allow("logs", READ, ADMIN), allow("old", WRITE, ADMIN),
)  # fmt: skip
ASKS = (
    Ask(BOB, DESCRIBE, "orders"),
    Ask(CAROL, READ, "logs"),
    Ask(ERIN, READ, "logs"),
    Ask(FRANK, READ, "logs"),
    Ask(GRACE, WRITE, "orders"),
    Ask(HEIDI, READ, "team-x"),
    Ask(IVAN, READ, "secret"),
    Ask(MALLORY, READ, "secret"),
    Ask(ADMIN, READ, "logs"),
)
WORLD = World(
    (*(life(number, acl) for number, acl in enumerate(TODAY, 1)), life(99, YOUNG, begin=3)),
    ASKS,
    super_users=(ADMIN,),
)


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    return WORLD.folder(spark, tmp_path_factory.mktemp("producers") / "tables")


def test_what_may_have_let_a_producer_start_stays_as_far_as_it_must(tables: Tables) -> None:
    """bob keeps his right; carol and ivan never wrote; dave left no line. Starts of erin and frank
    would have lines; grace may start by the topic that she wrote to; mallory's newer grant shows
    nothing about earlier."""
    day = window_of(tables)
    found = classified_acls(tables, day)
    assert {who.principal for who in unseen_in(tables, day)} == {
        BOB, CAROL, GRACE, HEIDI, IVAN, MALLORY
    }  # fmt: skip
    going = {each.acl for each in found.verdicts if each.can_go and each.acl.principal != ADMIN}
    assert going == {NEVER_DONE[1], GONE, ON_CLUSTER, BESIDE, PRODUCES[1], OLD}
    unlogged = {each.acl for each in found.verdicts if each.reason is Reason.UNLOGGED}
    assert unlogged == {NEVER_DONE[0], DENIED}
    least = least_set(tables, day)
    assert {*least.acls} == {
        STANDS_BY, NEVER_DONE[0], READS, PRODUCES[0], DENIED, YOUNG,
        allow("logs", READ, ERIN),
        allow("team-x", READ, HEIDI),
        allow("team-x", WRITE, HEIDI),
    }  # fmt: skip


def test_what_if_names_who_could_start_none_any_more(
    tables: Tables, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every request of the window keeps its answer."""
    proposed = {*TODAY, YOUNG, STANDS_BY._replace(operation=DESCRIBE)} - {STANDS_BY, GONE, BESIDE}
    file = tmp_path / "acls.yaml"
    file.write_text(write_yaml(Document(tuple(map(AclEntry, sorted(proposed))))))
    done = run_here(capsys, "pipeline", "what-if", tables.path, file)
    assert done.stdout.startswith("0 of 9 requests would get another answer.")
    assert "User:bob could no longer start an idempotent producer" in done.stderr
    assert done.returncode == 1
    supers = run_here(
        capsys, "pipeline", "what-if", tables.path, file, "--super-users", f"{ADMIN};{BOB}"
    )
    assert (supers.returncode, "producer" in supers.stderr) == (0, False)


NAMES = ["a", "a.b", "b", "hardcode", "h"]
PRINCIPALS, HOSTS = ["User:a", "User:b"], ["10.0.0.1", "10.0.0.2"]


def some_acls(random: Random) -> set[Acl]:
    patterns = [*product(NAMES, PatternType.__members__), ("*", "LITERAL"), ("", "PREFIXED")]
    patterns = [each for each in patterns if each[1] in ("LITERAL", "PREFIXED")]
    found = set()
    for _ in range(random.randrange(1, 12)):
        name, pattern = random.choice(patterns)
        rule = random.choice([PermissionType.ALLOW] * 3 + [PermissionType.DENY])
        acl = Acl(
            ResourceType.TOPIC,
            name,
            PatternType[pattern],
            random.choice([*PRINCIPALS, "User:*"]),
            random.choice(["*", *HOSTS]),
            random.choice([WRITE, ALL, READ, DESCRIBE]),
            rule,
        )
        if random.random() < 0.1:
            acl = acl._replace(
                resource_type=CLUSTER,
                resource_name="kafka-cluster",
                pattern_type=PatternType.LITERAL,
                operation=random.choice([IDEMPOTENT_WRITE, ALL]),
            )
        found.add(acl)
    return found


def may_start(acls: set[Acl], asker: RequestOrigin) -> bool:
    who = (frozenset({asker.principal}), asker.host)
    on_cluster = spec.decide(acls, who, IDEMPOTENT_WRITE, CLUSTER, "kafka-cluster", False)
    of_any = spec.is_allowed_by_resource_type(acls, who, WRITE, ResourceType.TOPIC, False)
    return on_cluster.result.value == "ALLOWED" or of_any


@pytest.mark.parametrize("seed", range(60))
def test_whoever_may_start_one_still_may_and_nobody_may_more(seed: int) -> None:
    random = Random(seed)
    today = some_acls(random)
    everybody = {RequestOrigin(*who) for who in product(PRINCIPALS, HOSTS)}
    unseen = {who for who in everybody if may_start(today, who)}
    allows = {acl for acl in today if acl.permission_type is PermissionType.ALLOW}
    going = {acl: 0 for acl in allows if random.random() < 0.8}
    kept = kept_for_producers(unseen, today, going)
    assert kept <= going.keys()
    left = today - (going.keys() - kept)
    assert all(may_start(left, who) for who in unseen)
    rest = today - going.keys()
    assert len(kept) <= sum(not may_start(rest, who) for who in unseen)
    least = rest | narrowest(unseen, today, rest)
    assert {who for who in everybody if may_start(least, who)} == unseen
    operations = (WRITE, READ, DESCRIBE, Operation.DELETE)
    for who, name, operation in product(everybody, [*NAMES, "z"], operations):
        asked = (frozenset({who.principal}), who.host), operation, ResourceType.TOPIC, name, False
        before, after = (spec.decide(acls, *asked).result.value for acls in (today, least))
        assert (before, after) != ("DENIED", "ALLOWED")


def test_an_acl_on_every_topic_does_not_make_every_topic_the_narrowest() -> None:
    bob = [RequestOrigin(BOB, "*")]
    every_topic, one = allow("*", WRITE, BOB), allow("hardcode", WRITE, BOB)
    assert narrowest(bob, [every_topic], [allow("*", READ, BOB)]) == {one}
    assert narrowest(bob, [every_topic], [deny("a", READ, BOB)]) == {one}
    assert narrowest(bob, [every_topic], [allow("a", READ, BOB)]) == {allow("a", WRITE, BOB)}


def test_who_cannot_start_one_today_is_refused() -> None:
    reads, writes, denied = allow("a", READ, BOB), allow("a", WRITE, BOB), deny("a", WRITE, BOB)
    bob = [RequestOrigin(BOB, "*")]
    with pytest.raises(ValueError, match=f"lets {BOB} at .* start a producer"):
        narrowest(bob, [reads], [])
    with pytest.raises(ValueError, match="start a producer"):
        narrowest(bob, [writes], [denied])
    with pytest.raises(ValueError, match="start a producer"):
        kept_for_producers(bob, [writes, denied], {writes: 1})


def calls_of(code: CodeType, run: Callable[[], object]) -> int:
    """How often ``run`` calls the function that has ``code``."""
    calls = 0

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal calls
        calls += event == "call" and frame.f_code is code

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(before)
    return calls


def test_an_index_is_made_once_whatever_number_of_principals_asks() -> None:
    """``narrowest`` makes one of today's ACLs and one of the least set; ``kept_for_producers``
    likewise."""
    unseen = [RequestOrigin(f"User:{number}", "*") for number in range(40)]
    today = [allow("logs", WRITE, who.principal) for who in unseen]
    for find in (
        partial(narrowest, unseen, today, []),
        partial(kept_for_producers, unseen, today, dict.fromkeys(today, 1)),
    ):
        assert find() == frozenset(today)
        loads = calls_of(IndexWriter.load.__code__, find)
        empty_at_first = 2
        assert loads == 2 * empty_at_first
        assert calls_of(IndexWriter.apply.__code__, find) == len(unseen)


def test_of_what_would_do_the_least_is_given() -> None:
    """The right on the cluster is none on any topic; a topic's name is less than a prefix, and a
    name that the principal already has is not a new one."""
    bob, on_cluster = [RequestOrigin(BOB, "*")], allow("kafka-cluster", ALL, BOB, kind=CLUSTER)
    cases: list[tuple[set[Acl], set[Acl], set[Acl]]] = [
        ({allow("a", ALL), on_cluster}, set(), {on_cluster._replace(operation=IDEMPOTENT_WRITE)}),
        ({allow("a", ALL), allow("b", WRITE)}, {allow("b")}, {allow("b", WRITE)}),
        ({allow("t.", ALL, prefixed=True)}, {allow("t.x")}, {allow("t.x", WRITE)}),
        ({allow("t.", ALL, prefixed=True)}, set(), {allow("t.", WRITE, prefixed=True)}),
        ({allow("*", ALL)}, set(), {allow("hardcode", WRITE)}),
        ({allow("a", WRITE), deny("b", WRITE)}, {allow("c", WRITE)}, set()),
    ]
    for today, least, wanted in cases:
        assert narrowest(bob, today, least) == wanted
