"""Each row of a batch is decided as the specification does, by the ACLs of its time."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from random import Random
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from authorizer.config import AuthorizerConfig
from authorizer.engine.decide import ALLOWED_TO_SUPER_USER, MATCHING_ACL
from authorizer.history.timeline import Edge, Timeline, TimelineChange, lifetimes
from authorizer.kafka_version import KafkaVersion
from metalog.acl import IMPLIED_BY, Acl, Operation, PatternType, PermissionType, ResourceType
from metalog.errors import InvalidRequest
from metalog.ids import Uuid, parse_uuid
from metalog_spark.decide.decide_worker import (
    ANSWERS,
    BETWEEN_PARTS,
    BETWEEN_WORDS,
    DecideWorker,
    QuestionColumns,
)
from metalog_spark.history.configuration import ConfigPeriod, Configuration
from metalog_spark.history.state import FolderState
from tests.support.worlds import spec
from tests.support.worlds.small_acls import allow
from tests.support.worlds.small_histories import (
    NAMES,
    OPERATIONS,
    PRINCIPALS,
    START,
    at_offset,
    bases,
    histories,
    replayed,
)

START_MS = 100
HOST = "10.0.0.1"


class Row(NamedTuple):
    principal: str
    host: str
    operation: str
    resource_type: str
    resource_name: str
    time: int


def question(row: Row) -> bytes:
    words = BETWEEN_WORDS.join((row.operation.encode(), row.resource_type.encode()))
    texts = (row.principal, row.host, row.resource_name)
    return BETWEEN_PARTS.join((*(text.encode() for text in texts), words))


def asked(rows: Sequence[Row | None]) -> QuestionColumns:
    """None for a question that no authorizer answers."""
    questions = [row and question(row) for row in rows]
    times = [row and row.time for row in rows]
    return QuestionColumns(pa.array(questions, pa.binary()), pa.array(times, pa.int64()))


def answers(deciding: DecideWorker, rows: Sequence[Row | None]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = deciding.decide(asked(rows)).to_pylist()
    for each in found:
        place, each["known"] = divmod(each.pop("answer"), 2)
        each["decided"], each["rule"] = (*ANSWERS, (None, None))[place]
    return found


configs = st.builds(
    AuthorizerConfig,
    st.sampled_from([frozenset[str](), frozenset(["User:b"])]),
    st.booleans(),
    kafka_version=st.sampled_from([None, *KafkaVersion]),
)
periods = st.lists(
    st.tuples(st.integers(95_000, 115_000), configs), max_size=2, unique_by=lambda e: e[0]
)


@st.composite
def configurations(draw: st.DrawFn) -> Configuration:
    later = [ConfigPeriod(time, config, "later") for time, config in sorted(draw(periods))]
    return Configuration([ConfigPeriod(None, draw(configs), "first"), *later])


def some_rows(choose: Random, changes: list[TimelineChange]) -> list[Row]:
    edges = [START_MS * 1000, *(change.time_ms * 1000 for change in changes)]
    return [
        Row(
            choose.choice(PRINCIPALS),
            choose.choice([HOST, "10.0.0.2", "10.0.0.3", "10.9.9.9", "11.0.0.0", "10.0.0.0/8"]),
            choose.choice([*OPERATIONS, Operation.ALTER_CONFIGS]).name,
            choose.choice([ResourceType.TOPIC, ResourceType.GROUP]).name,
            choose.choice([*NAMES, "abbey", "*ab", "c"]),
            choose.choice(edges) + choose.choice([-1000, -1, 0, 1, 999, 1000]),
        )
        for _ in range(80)
    ]


@settings(max_examples=100)
@given(bases, histories(), configurations(), st.randoms())
def test_each_row_is_decided_as_of_its_microsecond(
    base: dict[Uuid, Acl],
    changes: list[TimelineChange],
    configuration: Configuration,
    choose: Random,
) -> None:
    timeline = Timeline(Edge(START, START_MS), lifetimes(base, changes))
    deciding = DecideWorker(FolderState(timeline, ()), configuration.periods)
    for _ in ("anew", "remembered"):
        rows = some_rows(choose, changes)
        for row, found in zip(rows, answers(deciding, rows), strict=True):
            if row.time < START_MS * 1000:
                assert found == dict.fromkeys(found) | {"known": False}
                continue
            bound = replayed(base, [each for each in changes if each.time_ms * 1000 <= row.time])
            config = configuration.at(row.time)
            expected = spec.decide(
                set(bound.values()),
                ({row.principal}, row.host),
                Operation[row.operation],
                ResourceType[row.resource_type],
                row.resource_name,
                config.allow_everyone,
                config.kafka,
            )
            if row.principal in config.super_users:
                expected = ALLOWED_TO_SUPER_USER
            answer = found["decided"], found["rule"], found["known"]
            assert answer == (expected.result.name, expected.rule, True)
            if expected.rule == MATCHING_ACL:
                assert bound[parse_uuid(found["acl_id"])] == expected.acl
            else:
                assert found["acl_id"] is None
            check_offset(base, changes, row, found["log_offset"], config.kafka)


def check_offset(
    base: dict[Uuid, Acl], changes: list[TimelineChange], row: Row, offset: int, kafka: KafkaVersion
) -> None:
    """At ``offset`` and at the row's time the same ACLs match, in each version of Kafka; and an ACL
    for the name changed at ``offset``: one that matches the row, or any if none matches."""
    past = [each for each in changes if each.time_ms * 1000 <= row.time]
    assert START <= offset <= max([START, *(each.at for each in past)])
    now, then = replayed(base, past), at_offset(base, past, offset)
    for version in KafkaVersion:
        assert matching(now, row, version) == matching(then, row, version)
    for acls in now, then:
        reaching = [each for each in acls.values() if reaches(each, row)]
        assert matching(acls, row, kafka) or bool(reaching) == any(
            reaches(each, row) for each in now.values()
        )
    edges = [(edge, life.acl) for life in lifetimes(base, past) for edge in life[2:]]
    changed = [acl for edge, acl in edges if edge is not None and edge.at == offset]
    is_unmatched = not matching(then, row, kafka)
    reached = (acl for acl in changed if reaches(acl, row))
    assert offset == START or any(is_unmatched or matches(acl, row) for acl in reached)


def matching(acls: dict[Uuid, Acl], row: Row, kafka: KafkaVersion) -> set[Acl]:
    return {acl for acl in acls.values() if reaches(acl, row) and matches(acl, row, kafka)}


def reaches(acl: Acl, row: Row) -> bool:
    return spec.reaches(acl, ResourceType[row.resource_type], row.resource_name)


def matches(acl: Acl, row: Row, kafka: KafkaVersion = KafkaVersion.V4_4) -> bool:
    operation = Operation[row.operation]
    is_denial = acl.permission_type is not PermissionType.ALLOW
    implied = () if is_denial else IMPLIED_BY.get(operation, ())
    return spec.matches(acl, ({row.principal}, row.host), operation, kafka, implied)


ALLOW = allow("t", principal="User:a")
ONE = tuple(lifetimes({Uuid(bytes(16)): ALLOW}, []))
READ = Row("User:a", HOST, "READ", "TOPIC", "t", 7_000)
NO_ANSWER = {"log_offset": None, "decided": None, "rule": None, "acl_id": None}


def test_in_a_gap_the_last_acls_decide_and_are_not_known() -> None:
    state = FolderState(Timeline(Edge(0, 1), ONE), ((None, 2), (5, 6), (8, None)))
    deciding = DecideWorker(state, Configuration().periods)
    times = [1_000, 1_999, 2_000, 4_999, 5_000, 5_999, 6_000, 7_999, 8_000, 1 << 50]
    found = answers(deciding, [READ._replace(time=time) for time in times])
    assert [each["known"] for each in found] == [0, 0, 1, 1, 0, 0, 1, 1, 0, 0]
    assert {(each["decided"], each["acl_id"]) for each in found} == {("ALLOWED", "A" * 22)}


def test_what_no_authorizer_answers_has_no_answer() -> None:
    deciding = DecideWorker(FolderState(Timeline(Edge(3, 0), ONE), ()), Configuration().periods)
    odd = [READ._replace(operation="Read"), READ._replace(resource_type="QUEUE"), None]
    found = answers(deciding, [READ, *odd])
    assert found[0] == {
        "log_offset": 3,
        "decided": "ALLOWED",
        "rule": MATCHING_ACL,
        "acl_id": "A" * 22,
        "known": True,
    }
    assert found[1:] == [NO_ANSWER | {"known": known} for known in (True, True, False)]


def test_parts_of_a_question_hold_any_text_but_what_is_none() -> None:
    """The separator byte is never in UTF-8; in a text that is not UTF-8 it must not separate."""
    acl = ALLOW._replace(principal="User:\0,\u00ff\ufffd \n", resource_name="")
    life = lifetimes({Uuid(bytes(16)): acl}, [])
    deciding = DecideWorker(
        FolderState(Timeline(Edge(0, 0), tuple(life)), ()), Configuration().periods
    )
    row = READ._replace(principal=acl.principal, resource_name="")
    assert [each["decided"] for each in answers(deciding, [row, READ])] == ["ALLOWED", "DENIED"]
    for odd, why in ((BETWEEN_PARTS, "not UTF-8: byte ff"), (b"\x80", r"not UTF-8: b'\\x80'")):
        text = question(READ._replace(resource_name="?")).replace(b"?", odd)
        with pytest.raises(InvalidRequest, match=why):
            deciding.decide(QuestionColumns(pa.array([text]), pa.array([0])))


def test_where_nothing_of_the_log_was_seen_nothing_is_decided() -> None:
    deciding = DecideWorker(FolderState(None, ()), Configuration().periods)
    assert answers(deciding, [READ]) == [NO_ANSWER | {"known": False}]


def test_of_no_rows_none_come_back() -> None:
    everybody = ConfigPeriod(None, AuthorizerConfig(frozenset({"User:root"})), "config")
    for periods in (Configuration().periods, [everybody]):
        deciding = DecideWorker(FolderState(Timeline(Edge(0, 0), ONE), ()), periods)
        assert answers(deciding, []) == []


def test_more_names_and_questions_than_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metalog_spark.decide.decide_worker.MOST_ENTRIES", 2)
    monkeypatch.setattr("metalog_spark.decide.timeline_columns.SLOT_BITS", 1)
    deciding = DecideWorker(FolderState(Timeline(Edge(0, 0), ONE), ()), Configuration().periods)
    operations = ("READ", "WRITE", "ALTER", "DESCRIBE", "DELETE", "READ")
    for _ in range(3):
        by_names = [READ._replace(resource_name=name) for name in ("t", "u", "v", "w", "t")]
        found = answers(deciding, by_names)
        assert [each["decided"] == "ALLOWED" for each in found] == [True, *[False] * 3, True]
        found = answers(deciding, [READ._replace(operation=each) for each in operations])
        allowed = [each["decided"] == "ALLOWED" for each in found]
        assert allowed == [each in ("READ", "DESCRIBE") for each in operations]


def test_more_questions_than_there_are_numbers_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A million principals, hosts and names each; here two or three of each are too many."""
    monkeypatch.setattr("metalog_spark.decide.decide_worker.MOST_QUESTIONS", 50)
    deciding = DecideWorker(FolderState(Timeline(Edge(0, 0), ONE), ()), Configuration().periods)
    with pytest.raises(InvalidRequest, match="too many combinations for 64-bit numbers; build"):
        answers(deciding, [READ, READ._replace(resource_name="u")])


def test_what_decides_is_given_back_without_a_search_for_cycles() -> None:
    """A worker's collector skips it, so a reference cycle in it would stay forever."""
    acls = [ALLOW._replace(resource_name=name) for name in NAMES]
    acls += [acl._replace(pattern_type=PatternType.PREFIXED) for acl in acls]
    base = {Uuid(number.to_bytes(16, "big")): acl for number, acl in enumerate(acls)}
    timeline = Timeline(Edge(0, 0), lifetimes(base, [TimelineChange(1, Uuid(bytes(16)), None, 1)]))
    deciding = DecideWorker(FolderState(timeline, ()), Configuration().periods)
    answers(deciding, [READ._replace(resource_name=name) for name in (*NAMES, "c")])
    gc.collect()
    gc.disable()
    try:
        del timeline, deciding
        assert gc.collect() == 0
    finally:
        gc.enable()
