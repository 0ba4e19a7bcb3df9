"""Decisions on columns: each row equals the specification's and Kafka's answer."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from authorizer import Acl, AuthorizerConfig, Operation, PatternType, PermissionType, ResourceType
from authorizer.engine import bulk as bulk_module
from authorizer.engine.bulk import ROWS, BulkDecider, RequestColumns
from authorizer.engine.cache import remembered
from authorizer.engine.decide import ALLOWED, ALLOWED_TO_SUPER_USER
from authorizer.engine.index import AclIndex
from authorizer.kafka_version import KafkaVersion
from metalog.errors import InvalidRequest
from tests.support.kafka.vectors import ASKED, Acls, scenarios
from tests.support.worlds import spec

ADMIN = "User:admin"
NAMES = ["".join(letters) for size in range(5) for letters in product("ab*", repeat=size)]
PRINCIPALS = ("User:a", "User:b", "User:*", "a", ADMIN)
CLIENTS = ("1.1.1.1", "2.2.2.2", "1:0:0:0:0:0:0:1")
HOSTS = (*CLIENTS, "*", "*", "1.1.1.1/8", "1.0.0.0/8", "0.0.0.0/0", "1::/16")
TYPES = (ResourceType.TOPIC, ResourceType.TOPIC, ResourceType.GROUP)
PATTERN_TYPES = (PatternType.LITERAL, PatternType.PREFIXED)
OPERATIONS = (Operation.ALL, Operation.READ, Operation.WRITE, Operation.DESCRIBE, Operation.ALTER)
PERMISSIONS = (PermissionType.ALLOW, PermissionType.ALLOW, PermissionType.DENY)


def _acls(choose: random.Random) -> list[Acl]:
    fields = (TYPES, NAMES, PATTERN_TYPES, PRINCIPALS, HOSTS, OPERATIONS, PERMISSIONS)
    return list({Acl(*map(choose.choice, fields)) for _ in range(choose.randrange(15))})


def _requests(choose: random.Random) -> list[Any]:
    fields = (PRINCIPALS, CLIENTS, OPERATIONS, TYPES, NAMES)
    return [tuple(map(choose.choice, fields)) for _ in range(choose.randrange(40))]


def _columns(asked: list[Any]) -> RequestColumns:
    rows = [(who, host, op.name, kind.name, name) for who, host, op, kind, name in asked]
    return (
        RequestColumns(*map(list, zip(*rows, strict=True)))
        if rows
        else RequestColumns([], [], [], [], [])
    )


@settings(max_examples=300, deadline=None, database=None)
@given(
    st.integers(0, 1 << 64),
    st.booleans(),
    st.sampled_from(KafkaVersion),
    st.sampled_from((1, 7, ROWS)),
)
def test_each_row_is_answered_as_the_spec_says(
    seed: int, default: bool, kafka: KafkaVersion, rows_in_a_part: int
) -> None:
    choose = random.Random(seed)
    granted, asked = _acls(choose), _requests(choose)
    config = AuthorizerConfig(frozenset([ADMIN]), default, kafka_version=kafka)
    expected = [
        ALLOWED_TO_SUPER_USER
        if who == ADMIN
        else spec.decide(granted, ({who}, host), operation, kind, name, default, kafka)
        for who, host, operation, kind, name in asked
    ]
    bulk = BulkDecider(AclIndex.of(granted), config)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(bulk_module, "ROWS", rows_in_a_part)
        for _ in ("first", "cached"):
            assert bulk.allowed(_columns(asked)) == [each.result is ALLOWED for each in expected]
            assert bulk.decisions(_columns(asked)) == expected


@pytest.mark.parametrize(
    ("kafka", "family"), [each for each in ASKED if not each[1].endswith("listing")]
)
def test_each_row_is_answered_as_kafka_did(kafka: KafkaVersion, family: str) -> None:
    for header, lines in scenarios(family, kafka):
        held = Acls(header)
        asked: list[dict[str, Any]] = []
        for line in [*lines, {"step": "end", "acls": []}]:
            if "step" not in line:
                asked.append(line)
                continue
            _hold_against_kafka(header, held, asked, kafka)
            asked.clear()
            if line["step"] != "end":
                held.change(line)


def _hold_against_kafka(
    header: dict[str, Any], held: Acls, lines: list[dict[str, Any]], kafka: KafkaVersion
) -> None:
    asked = [line for line in lines if "rule" in line and line["rule"] is not None]
    super_users = frozenset(header["superUsers"])
    config = AuthorizerConfig(super_users, header["allowEveryone"], kafka_version=kafka)
    bulk = BulkDecider(AclIndex.of(held.by_id.values()), config)
    columns = RequestColumns(
        *(
            [line[field] for line in asked]
            for field in ("principal", "host", "operation", "resourceType", "resourceName")
        )
    )
    expected = [(line["result"], line["rule"], held.named(line["aclId"])) for line in asked]
    decisions = bulk.decisions(columns)
    assert [(each.result.name, each.rule, each.acl) for each in decisions] == expected
    assert bulk.allowed(columns) == [result == "ALLOWED" for result, _, _ in expected]


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ((["User:a", None], ["h"] * 2, ["READ"] * 2, ["TOPIC"] * 2, ["t"] * 2), "principals[1]: N"),
        ((["User:a"], ["h"], ["READ"], ["TOPIC"], [None]), "resource_names[0]: None is no"),
        ((["User:a"], ["h"], ["Read"], ["TOPIC"], ["t"]), "operations[0]: 'Read' is unk"),
        ((["User:a"], ["h"], ["READ"], ["QUEUE"], ["t"]), "resource_types[0]: 'QUEUE' is"),
        ((["User:a"], [None], ["READ"], ["TOPIC"], ["t"]), "hosts[0]: None is not text"),
    ],
)
def test_what_is_no_request_is_named(columns: tuple[list[Any], ...], problem: str) -> None:
    for super_users in (frozenset(), frozenset(["User:a"])):
        bulk = BulkDecider(AclIndex.of([]), AuthorizerConfig(super_users, True))
        with pytest.raises(InvalidRequest) as refused:
            bulk.allowed(RequestColumns(*columns))
        assert str(refused.value).startswith(problem)
        with pytest.raises(InvalidRequest) as refused:
            bulk.decisions(RequestColumns(*columns))
        assert str(refused.value).startswith(problem)


@pytest.mark.parametrize("field", RequestColumns._fields)
@pytest.mark.parametrize("rows", [0, 1, 3])
def test_a_column_of_another_length_is_refused_with_the_length_of_each(
    field: str, rows: int
) -> None:
    two = RequestColumns(["User:a"] * 2, ["h"] * 2, ["READ"] * 2, ["TOPIC"] * 2, ["t"] * 2)
    columns = two._replace(**{field: [*getattr(two, field), "READ"][:rows]})
    lengths = ", ".join(f"{each} has {rows if each == field else 2}" for each in two._fields)
    bulk = BulkDecider(AclIndex.of([]), AuthorizerConfig())
    for asked in (bulk.allowed, bulk.decisions):
        with pytest.raises(InvalidRequest) as refused:
            asked(columns)
        assert str(refused.value) == f"the columns differ in length: {lengths}"


@pytest.mark.parametrize("rows_in_a_part", [1, 2, ROWS])
def test_the_first_row_that_is_not_a_request_is_named(
    rows_in_a_part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_module, "ROWS", rows_in_a_part)
    rows = [*[("User:a", "h", "READ", "TOPIC", "t")] * 3, ("User:a", "h", "READ", "TOPICS", 7)]
    bulk = BulkDecider(AclIndex.of([]), AuthorizerConfig())
    for asked in (bulk.allowed, bulk.decisions):
        with pytest.raises(InvalidRequest) as refused:
            asked(RequestColumns(*zip(*rows, ("User:a", "h", "x", "TOPIC", "t"), strict=True)))
        assert str(refused.value) == "resource_types[3]: 'TOPICS' is unknown"


def _read(user: str, names: Sequence[str]) -> RequestColumns:
    count = len(names)
    return RequestColumns(*([each] * count for each in (user, "h", "READ", "TOPIC")), names)


def test_sessions_and_names_are_remembered_until_they_are_more_than_the_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(remembered, "MOST_ENTRIES", 10)
    bulk = BulkDecider(AclIndex.of([]), AuthorizerConfig())

    def after(user: str, *names: str) -> int:
        bulk.allowed(_read(user, names))
        return sum(1 + len(of_session) for of_session in bulk._sessions.values())

    assert after("User:a", *"bcde") == 5
    assert after("User:a", *"bcde") == 5
    assert after("User:b", *"bcde") == 10
    assert after("User:b", "f") == 11
    assert after("User:b", "f") == 2
    monkeypatch.setattr(remembered, "MOST_BYTES", bulk._sessions.cached.size)
    assert after("User:b", "g") == 3
    assert after("User:b", "g") == 2


def test_what_is_counted_of_sessions_and_names_are_the_bytes_that_they_take() -> None:
    for names in (["t"], list(map(str, range(50))), ["x" * 9_000]):
        bulk = BulkDecider(AclIndex.of([]), AuthorizerConfig())
        tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            for user in range(50):
                bulk.allowed(_read(f"User:{user}", [name + str(user) for name in names]))
            taken = tracemalloc.get_traced_memory()[0] - before
        finally:
            tracemalloc.stop()
        assert taken / 2 < bulk._sessions.cached.size < taken * 2


def test_what_is_remembered_from_call_to_call_is_bounded_in_bytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A client that chooses long names leaves no more in the cache than the bound and the last
    call."""
    monkeypatch.setattr("authorizer.engine.cache.remembered.MOST_BYTES", 200_000)
    decider = BulkDecider(AclIndex.of([]), AuthorizerConfig())
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for call in range(50):
            who = f"User:{call}".ljust(16_384, "x")
            decider.allowed(RequestColumns([who], [HOSTS[0]], ["READ"], ["TOPIC"], ["t"]))
        assert tracemalloc.get_traced_memory()[0] - before < 400_000
    finally:
        tracemalloc.stop()
