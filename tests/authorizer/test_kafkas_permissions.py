"""What Kafka's AuthorizerIntegrationTest grants a client before a request of its succeeds: the ACLs
of each case, and the answer of the authorizer to the same request. docs/reference/kafka-tests.md
names the cases. The answers of a broker, which are about data and groups, are not here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pytest

from authorizer import (
    Acl,
    Action,
    Operation,
    PatternType,
    PermissionType,
    RequestContext,
    ResourceType,
    StandardAuthorizer,
    actions,
    are_allowed,
    cluster,
)
from authorizer.permissions.requests import RequiredActions, each_allowed
from authorizer.permissions.table import APIS, Permission
from metalog.errors import InvalidRequest

CLIENT = RequestContext("User:client", "10.0.0.1")
CLUSTER, GROUP = "CLUSTER:kafka-cluster", "GROUP:group"
TOPIC, ID = "TOPIC:topic", "TRANSACTIONAL_ID:id"
TOPICS: dict[str, list[str]] = {"topics": ["topic"]}
GROUPS: dict[str, list[str]] = {"groups": ["group"]}
IDS: dict[str, list[str]] = {"transactional_ids": ["id"]}


class Case(NamedTuple):
    """``granted`` is what the client needs, each with its operation. Of ``weaker``, none helps."""

    api: str
    names: dict[str, list[str]]
    granted: Sequence[str]
    weaker: Sequence[str] = ()


CASES = [
    Case("Metadata", TOPICS, [f"DESCRIBE {TOPIC}"], [f"CREATE {TOPIC}", f"DESCRIBE {CLUSTER}"]),
    Case("Produce", TOPICS, [f"WRITE {TOPIC}"], [f"DESCRIBE {TOPIC}", f"READ {TOPIC}"]),
    Case(
        "Produce",
        TOPICS | IDS,
        [f"WRITE {TOPIC}", f"WRITE {ID}"],
        [f"DESCRIBE {TOPIC}", f"DESCRIBE {ID}"],
    ),
    Case("Fetch", TOPICS, [f"READ {TOPIC}"], [f"DESCRIBE {TOPIC}", f"WRITE {TOPIC}"]),
    Case("ListOffsets", TOPICS, [f"DESCRIBE {TOPIC}"], [f"CREATE {TOPIC}"]),
    Case(
        "OffsetCommit",
        TOPICS | GROUPS,
        [f"READ {TOPIC}", f"READ {GROUP}"],
        [f"DESCRIBE {TOPIC}", f"WRITE {TOPIC}", f"DESCRIBE {GROUP}"],
    ),
    Case("OffsetFetch", TOPICS | GROUPS, [f"DESCRIBE {TOPIC}", f"DESCRIBE {GROUP}"]),
    Case("FindCoordinator", GROUPS, [f"DESCRIBE {GROUP}"], [f"DESCRIBE {TOPIC}"]),
    Case("FindCoordinator", IDS, [f"DESCRIBE {ID}"], [f"DESCRIBE {GROUP}"]),
    *(
        Case(api, GROUPS, [f"READ {GROUP}"], [f"DESCRIBE {GROUP}", f"READ {TOPIC}"])
        for api in ("JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup")
    ),
    Case("DescribeGroups", GROUPS, [f"DESCRIBE {GROUP}"], [f"DESCRIBE {TOPIC}"]),
    Case("DeleteGroups", GROUPS, [f"DELETE {GROUP}"], [f"READ {GROUP}", f"READ {TOPIC}"]),
    Case(
        "OffsetDelete",
        TOPICS | GROUPS,
        [f"DELETE {GROUP}", f"READ {TOPIC}"],
        [f"READ {GROUP}", f"DESCRIBE {TOPIC}"],
    ),
    Case("CreateTopics", TOPICS, [f"CREATE {TOPIC}"], [f"DESCRIBE {TOPIC}"]),
    Case("CreateTopics", TOPICS, [f"CREATE {CLUSTER}"], [f"ALTER {CLUSTER}"]),
    Case("DeleteTopics", TOPICS, [f"DELETE {TOPIC}"], [f"DESCRIBE {TOPIC}"]),
    Case(
        "DeleteTopics", TOPICS, [f"DELETE {CLUSTER}"], [f"ALTER {CLUSTER}", f"DESCRIBE {CLUSTER}"]
    ),
    Case("DeleteRecords", TOPICS, [f"DELETE {TOPIC}"], [f"DESCRIBE {TOPIC}"]),
    Case("CreatePartitions", TOPICS, [f"ALTER {TOPIC}"], [f"DESCRIBE {TOPIC}"]),
    Case("OffsetForLeaderEpoch", TOPICS, [f"DESCRIBE {TOPIC}"], [f"CREATE {TOPIC}"]),
    Case("OffsetForLeaderEpoch", TOPICS, [f"CLUSTER_ACTION {CLUSTER}"], [f"DESCRIBE {CLUSTER}"]),
    Case("DescribeConfigs", TOPICS, [f"DESCRIBE_CONFIGS {TOPIC}"], [f"DESCRIBE {TOPIC}"]),
    Case("DescribeConfigs", GROUPS, [f"DESCRIBE_CONFIGS {GROUP}"], [f"DESCRIBE {GROUP}"]),
    *(
        Case(api, names, [f"ALTER_CONFIGS {on}"], [f"ALTER {on}", f"DESCRIBE_CONFIGS {on}"])
        for api in ("AlterConfigs", "IncrementalAlterConfigs")
        for names, on in ((TOPICS, TOPIC), (GROUPS, GROUP))
    ),
    Case("InitProducerId", IDS, [f"WRITE {ID}"], [f"DESCRIBE {ID}"]),
    Case(
        "AddPartitionsToTxn",
        TOPICS | IDS,
        [f"WRITE {TOPIC}", f"WRITE {ID}"],
        [f"DESCRIBE {TOPIC}", f"DESCRIBE {ID}"],
    ),
    Case(
        "AddOffsetsToTxn",
        GROUPS | IDS,
        [f"READ {GROUP}", f"WRITE {ID}"],
        [f"DESCRIBE {GROUP}", f"DESCRIBE {ID}"],
    ),
    Case("EndTxn", IDS, [f"WRITE {ID}"], [f"WRITE {TOPIC}", f"DESCRIBE {ID}"]),
    Case(
        "TxnOffsetCommit",
        TOPICS | GROUPS | IDS,
        [f"READ {TOPIC}", f"READ {GROUP}", f"WRITE {ID}"],
        [f"DESCRIBE {TOPIC}", f"WRITE {GROUP}", f"DESCRIBE {ID}"],
    ),
    Case("WriteTxnMarkers", {}, [f"CLUSTER_ACTION {CLUSTER}"]),
    Case("WriteTxnMarkers", {}, [f"ALTER {CLUSTER}"], [f"DESCRIBE {CLUSTER}"]),
    Case("DescribeProducers", TOPICS, [f"READ {TOPIC}"], [f"DESCRIBE {TOPIC}"]),
    Case("DescribeTransactions", IDS, [f"DESCRIBE {ID}"], [f"WRITE {TOPIC}"]),
    Case("ListTransactions", IDS, [f"DESCRIBE {ID}"], [f"WRITE {TOPIC}"]),
    *(
        Case(api, {}, [f"ALTER {CLUSTER}"], [f"DESCRIBE {CLUSTER}", f"CLUSTER_ACTION {CLUSTER}"])
        for api in (
            "CreateAcls",
            "DeleteAcls",
            "AlterReplicaLogDirs",
            "ElectLeaders",
            "AlterPartitionReassignments",
        )
    ),
    *(
        Case(api, {}, [f"DESCRIBE {CLUSTER}"], [f"CREATE {CLUSTER}", f"CLUSTER_ACTION {CLUSTER}"])
        for api in ("DescribeAcls", "DescribeLogDirs", "ListPartitionReassignments")
    ),
    *(
        Case(
            f"{kind}GroupHeartbeat",
            TOPICS | GROUPS,
            [f"READ {GROUP}", f"DESCRIBE {TOPIC}"],
            [f"DESCRIBE {GROUP}"],
        )
        for kind in ("Consumer", "Share", "Streams")
    ),
    *(
        Case(f"{kind}GroupDescribe", TOPICS | GROUPS, [f"DESCRIBE {GROUP}", f"DESCRIBE {TOPIC}"])
        for kind in ("Consumer", "Share", "Streams")
    ),
    *(
        Case(
            api,
            TOPICS | GROUPS,
            [f"READ {GROUP}", f"READ {TOPIC}"],
            [f"DESCRIBE {GROUP}", f"DESCRIBE {TOPIC}"],
        )
        for api in ("ShareFetch", "ShareAcknowledge", "AlterShareGroupOffsets")
    ),
    Case("DescribeShareGroupOffsets", TOPICS | GROUPS, [f"DESCRIBE {GROUP}", f"DESCRIBE {TOPIC}"]),
    Case(
        "DeleteShareGroupOffsets",
        TOPICS | GROUPS,
        [f"DELETE {GROUP}", f"READ {TOPIC}"],
        [f"READ {GROUP}", f"DESCRIBE {TOPIC}"],
    ),
    *(
        Case(f"{what}ShareGroupState{more}", {}, [f"CLUSTER_ACTION {CLUSTER}"])
        for what, more in (
            ("Initialize", ""),
            ("Read", ""),
            ("Write", ""),
            ("Delete", ""),
            ("Read", "Summary"),
        )
    ),
]


def granted(*texts: str) -> StandardAuthorizer:
    """``READ TOPIC:topic`` is an ALLOW, ``-READ TOPIC:topic`` a DENY; ``t*`` is a prefix."""
    return StandardAuthorizer.from_acls(map(acl, texts))


def acl(text: str) -> Acl:
    operation, _, on = text.removeprefix("-").partition(" ")
    kind, _, name = on.partition(":")
    is_prefix = name.endswith("*") and name != "*"
    return Acl(
        ResourceType[kind],
        name.removesuffix("*") if is_prefix else name,
        PatternType.PREFIXED if is_prefix else PatternType.LITERAL,
        "User:client",
        "*",
        Operation[operation],
        PermissionType.DENY if text.startswith("-") else PermissionType.ALLOW,
    )


def may(case: Case, texts: Sequence[str]) -> bool:
    return are_allowed(granted(*texts), CLIENT, actions(case.api, **case.names))


def ids_of(case: Case) -> str:
    return f"{case.api}-{'-'.join([*case.names, case.granted[0].partition(' ')[0]])}"


@pytest.mark.parametrize("case", CASES, ids=ids_of)
def test_a_request_succeeds_with_what_kafkas_case_grants_and_with_nothing_less(case: Case) -> None:
    """Nor with each permission but one, and the weaker ones of Kafka's cases beside."""
    assert may(case, case.granted)
    assert not may(case, [])
    assert not may(case, case.weaker)
    for missing in case.granted:
        others = [each for each in case.granted if each != missing]
        assert not may(case, [*others, *case.weaker]), missing


@pytest.mark.parametrize("case", CASES, ids=ids_of)
def test_all_operations_on_what_it_names_are_enough(case: Case) -> None:
    assert may(case, [f"ALL {each.partition(' ')[2]}" for each in case.granted])


@pytest.mark.parametrize(
    ("api", "operation"), [("DeleteTopics", "DELETE"), ("DeleteRecords", "DELETE"),
                           ("CreatePartitions", "ALTER")],
)  # fmt: skip
def test_the_wildcard_stands_for_each_topic(api: str, operation: str) -> None:
    assert may(Case(api, TOPICS, []), [f"{operation} TOPIC:*"])


def test_prefixes_of_others_do_not_count() -> None:
    ours, theirs = acl("CREATE TOPIC:f*"), acl("-CREATE TOPIC:fooa*")
    acls = [
        ours,
        theirs._replace(principal="User:other"),
        acl("CREATE TOPIC:foob*")._replace(principal="User:other"),
    ]
    asked = actions("CreateTopics", topics=["foobar"])
    assert are_allowed(StandardAuthorizer.from_acls(acls), CLIENT, asked)
    assert not are_allowed(StandardAuthorizer.from_acls(acls[1:]), CLIENT, asked)


def test_on_the_cluster_are_the_configurations_of_brokers_and_their_loggers() -> None:
    for api, operation in (
        ("IncrementalAlterConfigs", "ALTER_CONFIGS"),
        ("AlterConfigs", "ALTER_CONFIGS"),
        ("DescribeConfigs", "DESCRIBE_CONFIGS"),
    ):
        asked = actions(api, on_cluster=True)
        assert are_allowed(granted(f"{operation} {CLUSTER}"), CLIENT, asked)
        assert not are_allowed(granted(f"{operation} {TOPIC}", f"ALTER {CLUSTER}"), CLIENT, asked)


@pytest.mark.parametrize(
    ("api", "names", "texts", "expected"),
    [
        ("ListGroups", {"groups": ["group", "other"]}, [f"DESCRIBE {CLUSTER}"], [True, True]),
        ("ListGroups", {"groups": ["group", "other"]}, [f"READ {GROUP}"], [True, False]),
        ("ListGroups", {"groups": ["group", "other"]}, [], [False, False]),
        ("ListTransactions", {"transactional_ids": ["id", "x"]}, [f"WRITE {ID}"], [True, False]),
        ("ListTransactions", {"transactional_ids": ["id", "x"]}, [f"DESCRIBE {ID}"], [True, False]),
        ("ListTransactions", {"transactional_ids": ["id", "x"]}, [], [False, False]),
        (
            "OffsetFetch",
            {"groups": ["group"], "topics": ["topic", "topic2", "topic3"]},
            [f"READ {GROUP}", f"DESCRIBE {TOPIC}"],
            [True, True, False, False],
        ),
        (
            "OffsetFetch",
            {"groups": ["other"], "topics": ["topic"]},
            [f"READ {GROUP}", f"DESCRIBE {TOPIC}"],
            [False, True],
        ),
        ("Metadata", {"topics": ["topic", "topic2"]}, [f"READ {TOPIC}"], [True, False]),
        (
            "ConsumerGroupHeartbeat",
            {"groups": ["group"], "topics": ["topic", "topic2"]},
            [f"ALL {GROUP}", f"DESCRIBE {TOPIC}"],
            [True, True, False],
        ),
        (
            "Produce",
            {"topics": ["topic", "otherTopic"], "transactional_ids": ["id"]},
            [f"WRITE {ID}", f"WRITE {TOPIC}"],
            [True, True, False],
        ),
    ],
)
def test_each_thing_of_a_request_has_its_own_answer(
    api: str, names: dict[str, list[str]], texts: list[str], expected: list[bool]
) -> None:
    """What may not be seen is left out of a listing, or has an error of its own."""
    asked: RequiredActions = actions(api, **names)
    assert each_allowed(granted(*texts), CLIENT, asked) == expected


@pytest.mark.parametrize("api", ["Fetch", "AddPartitionsToTxn"])
def test_kafka_checks_only_cluster_action_for_a_broker(api: str) -> None:
    """KafkaApis.handleFetchRequest and handleAddPartitionsToTxnRequest of Kafka 4.4.0."""
    [[action]] = actions(api, on_cluster=True)
    required = action.operation.name, action.resource.resource_type.name
    assert required == ("CLUSTER_ACTION", "CLUSTER")


def test_a_case_of_a_request_needs_all_its_names() -> None:
    """Without its topics, the check of a transaction's partitions would be too weak."""
    with pytest.raises(InvalidRequest, match="AddPartitionsToTxn: pass topics"):
        actions("AddPartitionsToTxn", transactional_ids=["id"])


OPTIONAL = {
    ("Metadata", "CREATE CLUSTER", "CREATE TOPIC"),
    ("DescribeTransactions", "DESCRIBE TOPIC"),
    ("StreamsGroupHeartbeat", "CREATE CLUSTER", "CREATE TOPIC"),
}


@pytest.mark.parametrize(("api", "one_of"), [(each[0], each[1:]) for each in sorted(OPTIONAL)])
def test_an_automatic_topic_and_what_an_answer_shows_need_more(
    api: str, one_of: tuple[str, ...]
) -> None:
    """They are in the table as optional: without them the request succeeds, and does less."""
    [found] = [each for each in APIS if each.name == api]
    assert one_of in [
        tuple(f"{each.operation.name} {each.resource_type.name}" for each in need.one_of)
        for need in found.needs
        if need.optional
    ]


@pytest.mark.parametrize(
    ("texts", "may_start", "may_send"),
    [
        (["READ TOPIC:topic"], False, False),
        (["DESCRIBE TOPIC:topic"], False, False),
        (["DESCRIBE TOPIC:topic", "WRITE TOPIC:topic"], True, True),
        (["IDEMPOTENT_WRITE CLUSTER:kafka-cluster"], True, False),
        (["IDEMPOTENT_WRITE CLUSTER:kafka-cluster", "WRITE TOPIC:topic"], True, True),
        (["WRITE TOPIC:t*", "WRITE TOPIC:topic"], True, True),
        (["WRITE TOPIC:t*", "WRITE TOPIC:topic", "-WRITE TOPIC:*"], False, False),
        (["WRITE TOPIC:topic", "-WRITE TOPIC:topic"], False, False),
        (["WRITE TOPIC:topic", "-WRITE TOPIC:t*"], False, False),
        (["WRITE TOPIC:topic", "-READ TOPIC:topic", "-WRITE TOPIC:topic-2"], True, True),
        (["WRITE TOPIC:topic", "-READ TOPIC:topic", "-WRITE GROUP:to*"], True, True),
    ],
)
def test_an_idempotent_producer_needs_any_topic_or_the_cluster_to_start(
    texts: list[str], *, may_start: bool, may_send: bool
) -> None:
    """InitProducerId without a transactional id: IDEMPOTENT_WRITE on the cluster, or WRITE on any
    topic; then Produce."""
    [needed] = [
        need.one_of
        for api in APIS
        for need in api.needs
        if any(each.any_name for each in need.one_of)
    ]
    assert needed == (
        Permission(Operation.IDEMPOTENT_WRITE, ResourceType.CLUSTER),
        Permission(Operation.WRITE, ResourceType.TOPIC, any_name=True),
    )
    authorizer = granted(*texts)
    on_cluster = Action(Operation.IDEMPOTENT_WRITE, cluster())
    any_topic = authorizer.authorize_by_resource_type(CLIENT, Operation.WRITE, ResourceType.TOPIC)
    assert (authorizer.is_allowed(CLIENT, on_cluster) or bool(any_topic)) is may_start
    assert are_allowed(authorizer, CLIENT, actions("Produce", topics=["topic"])) is may_send
