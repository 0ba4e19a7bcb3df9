"""``metalog serve`` beside a real Kafka: the same commands of the same clients get the same
answers. The clients are Kafka's tools, librdkafka's and kafka-python's admin clients, and raw
requests; answers are compared byte for byte except for addresses and ids."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import admin as librdkafka

from metalog.hosts.host_port import Address
from metalog.wire.schema import Body, request_parts, request_type
from tests.support.kafka.tools import RealKafka
from tests.support.node.two_clusters import (
    ACL_COMMAND,
    CONFIG_COMMAND,
    Cluster,
    TwoClusters,
    beside,
)
from tests.support.wire import admin_requests as wire
from tests.support.wire.lockstep import Step, asking, lockstep

pytestmark = pytest.mark.xdist_group("real-kafka")


@pytest.fixture(scope="module")
def clusters(
    real_kafka: RealKafka, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TwoClusters]:
    with beside(real_kafka, tmp_path_factory.mktemp("beside")) as two:
        yield two


ADD_MANY = (
    "--add", "--allow-principal", "User:tool", "--deny-principal", "User:tool2",
    "--deny-host", "10.0.0.9", "--operation", "Read", "--operation", "DescribeConfigs",
    "--topic", "tool-", "--group", "tool-", "--resource-pattern-type", "prefixed",
)  # fmt: skip
ADD_ROLE = (
    "--add", "--allow-principal", "User:tool", "--producer", "--idempotent",
    "--topic", "tool-x",
)  # fmt: skip
MATCHING = ("--topic", "tool-x", "--group", "tool-", "--resource-pattern-type", "match")


def test_kafka_acls(clusters: TwoClusters) -> None:
    for by_controller, arguments in (
        (False, ADD_MANY),
        (True, ADD_ROLE),
        (True, ("--list", *MATCHING)),
        (False, ("--remove", "--force", *MATCHING)),
        (False, ("--list", "--principal", "User:tool", "--principal", "User:tool2")),
        (True, ("--add", "--topic", "tool-x", "--allow-principal", "nobody", "--producer")),
    ):
        theirs, ours = clusters.printed(ACL_COMMAND, *arguments, by_controller=by_controller)
        assert ours == theirs, arguments


def test_kafka_configs(clusters: TwoClusters) -> None:
    user = ("--entity-type", "users", "--entity-name", "tool")
    for by_controller, arguments in (
        (False, ("--alter", "--add-config", "SCRAM-SHA-256=[iterations=8192,password=s]", *user)),
        (False, ("--describe", *user)),
        (True, ("--alter", "--delete-config", "SCRAM-SHA-256", *user)),
        (False, ("--alter", "--delete-config", "SCRAM-SHA-256", *user)),
    ):
        theirs, ours = clusters.printed(CONFIG_COMMAND, *arguments, by_controller=by_controller)
        assert ours == theirs != [], arguments


def test_kafka_metadata_quorum(clusters: TwoClusters) -> None:
    """Without numbers, and without the names of folders, clusters and addresses."""
    command = ("org.apache.kafka.tools.MetadataQuorumCommand", "describe", "--status")
    theirs, ours = clusters.printed(*command, by_controller=True)
    assert [*map(unnumbered, ours)] == [*map(unnumbered, theirs)] != []


def unnumbered(line: str) -> str:
    named = re.sub(r'"directoryId": "[^"]*", |(?<=ClusterId:).*', "", line)
    return re.sub(r"127\.0\.0\.1:\d+|HOST:PORT|\d+", "N", named)


def test_librdkafka(clusters: TwoClusters) -> None:
    lockstep(by_librdkafka(clusters.theirs), by_librdkafka(clusters.ours))


def by_librdkafka(cluster: Cluster) -> Iterator[Step]:
    client = librdkafka.AdminClient({"bootstrap.servers": str(cluster.broker)})
    of = librdkafka.ResourcePatternType

    def asked(name: str | None, pattern: librdkafka.ResourcePatternType) -> Any:
        return librdkafka.AclBindingFilter(
            librdkafka.ResourceType.TOPIC if name else librdkafka.ResourceType.ANY,
            name,
            pattern,
            "User:rd",
            None,
            librdkafka.AclOperation.ANY,
            librdkafka.AclPermissionType.ANY,
        )

    bindings = [
        librdkafka.AclBinding(
            librdkafka.ResourceType.TOPIC,
            name,
            pattern,
            principal,
            "*",
            librdkafka.AclOperation.READ,
            librdkafka.AclPermissionType.ALLOW,
        )
        for name, pattern, principal in (
            ("rd", of.LITERAL, "User:rd"),
            ("rd", of.PREFIXED, "User:rd"),
            ("rd2", of.LITERAL, "rd"),
        )
    ]
    for created in client.create_acls(bindings).values():
        yield Step(created.result)
    for pattern in (of.LITERAL, of.PREFIXED, of.ANY, of.MATCH):
        yield Step(described(client, asked("rd", pattern)), is_description=True)
    [deleted] = client.delete_acls([asked(None, of.ANY)]).values()
    yield Step(lambda: sorted(map(repr, deleted.result(60))))
    yield Step(described(client, asked(None, of.ANY)), is_description=True)
    credential = librdkafka.ScramCredentialInfo(librdkafka.ScramMechanism.SCRAM_SHA_256, 4096)
    for alteration in (
        librdkafka.UserScramCredentialUpsertion("rd", credential, b"secret"),
        librdkafka.UserScramCredentialDeletion("nobody", credential.mechanism),
        librdkafka.UserScramCredentialDeletion("rd", credential.mechanism),
    ):
        [altered] = client.alter_user_scram_credentials([alteration]).values()
        yield Step(altered.result)
        yield Step(iterations(client, "rd"), is_description=True)


def described(client: librdkafka.AdminClient, asked: Any) -> Callable[[], list[str]]:
    return lambda: sorted(map(repr, client.describe_acls(asked).result(60)))


def iterations(client: librdkafka.AdminClient, user: str) -> Callable[[], list[int]]:
    def ask() -> list[int]:
        found = client.describe_user_scram_credentials([user])[user].result(60)
        return [each.iterations for each in found.scram_credential_infos]

    return ask


@pytest.mark.filterwarnings("ignore:.*is deprecated. Use files:DeprecationWarning")
def test_kafka_python(clusters: TwoClusters) -> None:
    lockstep(by_kafka_python(clusters.theirs), by_kafka_python(clusters.ours))


def by_kafka_python(cluster: Cluster) -> Iterator[Step]:
    from kafka import admin as kafka_python

    client = kafka_python.KafkaAdminClient(bootstrap_servers=str(cluster.broker))
    acl = kafka_python.ACL(
        principal="User:py",
        host="*",
        operation=kafka_python.ACLOperation.WRITE,
        permission_type=kafka_python.ACLPermissionType.DENY,
        resource_pattern=kafka_python.ResourcePattern(
            kafka_python.ResourceType.TOPIC, "py", kafka_python.ACLResourcePatternType.PREFIXED
        ),
    )
    wanted = kafka_python.ACLFilter(
        principal="User:py",
        host=None,
        operation=kafka_python.ACLOperation.ANY,
        permission_type=kafka_python.ACLPermissionType.ANY,
        resource_pattern=kafka_python.ResourcePatternFilter(
            kafka_python.ResourceType.ANY, None, kafka_python.ACLResourcePatternType.ANY
        ),
    )
    yield Step(lambda: client.create_acls([acl]))
    yield Step(lambda: client.describe_acls(wanted), is_description=True)
    yield Step(lambda: client.delete_acls([wanted]))
    yield Step(lambda: client.describe_acls(wanted), is_description=True)
    yield Step(lambda: client.describe_user_scram_credentials(["py"]))
    client.close()


BEYOND_KAFKA = {
    "broker": {29: (0, 3), 30: (0, 3), 31: (0, 3), 20_000: (0, 0)},
    "controller": {
        1: (13, 18),
        29: (0, 3),
        30: (0, 3),
        31: (0, 3),
        48: (0, 1),
        58: (0, 1),
        20_000: (0, 0),
    },
}
"""ACL requests of version 0, quotas at a controller, Envelope 1, ScramPassword; Fetch only as a
follower of the metadata log sends it."""
CREATED: list[dict[str, Any]] = [
    {field: code}
    for field in ("resource_type", "resource_pattern_type", "operation", "permission_type")
    for code in (0, 1, 2, 7, 99)
]
CREATED += [
    {"resource_name": ""},
    {"resource_name": "*"},
    {"resource_name": "n" * 300},
    {"resource_name": "\0"},
    {"resource_name": "*", "resource_pattern_type": 4},
    {"resource_type": 4},
    {"resource_type": 4, "resource_name": "kafka-cluster", "operation": 12},
    {"resource_type": 4, "resource_name": "kafka-cluster", "resource_pattern_type": 4},
    *({"principal": each} for each in ("", ":", "User:", "nobody")),
    *({"host": each} for each in ("", "no host")),
]
FILTERED: list[dict[str, Any]] = [
    *(
        {field: code, "resource_name_filter": "beside-x"}
        for field in ("resource_type_filter", "pattern_type_filter", "operation", "permission_type")
        for code in (0, 1, 2, 3, 4, 99)
    ),
    *({"resource_name_filter": each} for each in ("", "beside", "*")),
    *({"principal_filter": each} for each in ("", "nobody")),
    {"host_filter": ""},
]


def acl_requests() -> Iterator[Body]:
    for changed in CREATED:
        yield wire.create(wire.creation(), wire.creation(**changed))
    yield wire.create()
    for changed in FILTERED:
        yield wire.describe(**changed)
        nothing = wire.acl_filter(resource_name_filter="nothing")
        yield wire.delete(nothing, wire.acl_filter(**{"principal_filter": "User:x", **changed}))
    yield wire.delete()
    yield wire.delete(wire.acl_filter(), wire.acl_filter())
    for version in (1, 2, 3):
        yield wire.create(wire.creation(version), version=version)
        yield wire.describe(version)
        yield wire.delete(wire.acl_filter(version), version=version)


def user_changes() -> Iterator[Body]:
    yield wire.alter_users()
    yield wire.alter_users(
        wire.upsertion("u1"),
        wire.upsertion("u1", 2),
        wire.upsertion(""),
        wire.upsertion("unknown mechanism", 9),
        wire.upsertion("too few", 1, 4095),
        wire.upsertion("too many", 1, 16385),
        wire.upsertion("no mechanism", 0),
        wire.upsertion("no salt", salt=b""),
        wire.upsertion("no key", salted_password=b""),
        wire.upsertion("no key and too few", 1, 4095, salted_password=b""),
        wire.upsertion("no key, twice", salted_password=b""),
        wire.upsertion("no key, twice"),
    )
    yield wire.alter_users(
        wire.upsertion("u1"),
        wire.upsertion("twice"),
        wire.upsertion("twice"),
        deletions=(wire.deletion("u1"), wire.deletion("nobody"), wire.deletion("", 7)),
    )


def user_removals() -> Iterator[Body]:
    named = (("u1", 1), ("u1", 2), ("no salt", 1))
    yield wire.alter_users(deletions=tuple(wire.deletion(*each) for each in named))


def descriptions() -> Iterator[Body]:
    yield wire.describe_users("u1", "twice", "nobody", "no salt", "twice", "")
    parts = request_parts(wire.QUOTAS, 1)
    for components in (
        (),
        (("user", 0, "u1"),),
        (("user", 0, None),),
        (("user", 2, "u1"),),
        (("nonsense", 0, "u1"),),
        (("", 0, "u1"),),
        (("user", 2, None), ("", 9, None)),
        (("user", 9, None),),
        (("user", 2, None), ("user", 2, None)),
        (("user", 2, None), ("ip", 2, None)),
    ):
        yield parts.DescribeClientQuotasRequest(
            components=tuple(
                parts.ComponentData(entity_type=entity, match_type=match_type, match=match)
                for entity, match_type, match in components
            ),
            strict=False,
        )


def cluster_requests() -> Iterator[Body]:
    for operations in (False, True):
        yield request_type(wire.DESCRIBE_CLUSTER, 0)(
            include_cluster_authorized_operations=operations
        )
        for endpoint_type in (1, 2, 3):
            yield request_type(wire.DESCRIBE_CLUSTER, 1)(
                include_cluster_authorized_operations=operations, endpoint_type=endpoint_type
            )
            yield request_type(wire.DESCRIBE_CLUSTER, 2)(
                include_cluster_authorized_operations=operations,
                endpoint_type=endpoint_type,
                include_fenced_brokers=False,
            )


def metadata_requests() -> Iterator[Body]:
    """For topics that neither cluster has, without automatic creation."""
    for version in range(4, 14):
        parts = request_parts(wire.METADATA, version)
        since: dict[str, Any] = {"allow_auto_topic_creation": False}
        if version >= 8:
            since["include_topic_authorized_operations"] = False
        if 8 <= version <= 10:
            since["include_cluster_authorized_operations"] = True
        unnamed = {"topic_id": None} if version >= 10 else {}
        topics = [{"name": name, **unnamed} for name in ("not-there", "no name", "..", "")]
        asked: list[Any] = [[each] for each in topics] + [topics, topics + topics, []]
        if version >= 10:
            by_id = {"name": None, "topic_id": uuid.UUID(int=77)}
            by_both = {"name": "not-there", "topic_id": uuid.UUID(int=78)}
            by_neither = {"name": None, "topic_id": None}
            asked += [[by_id], [by_both], [by_id, by_id, by_both, *topics], [*topics, by_neither]]
        for each in asked:
            named = tuple(parts.MetadataRequestTopic(**topic) for topic in each)
            yield parts.MetadataRequest(topics=named, **since)
            if version >= 8:
                shown = {**since, "include_topic_authorized_operations": True}
                yield parts.MetadataRequest(topics=named, **shown)


def quorum_requests() -> Iterator[Body]:
    """For other partitions than that of the metadata, or more."""
    for version in range(3):
        parts = request_parts(wire.QUORUM, version)
        for topics in (
            [],
            [("__cluster_metadata", [])],
            [("__cluster_metadata", [1])],
            [("__cluster_metadata", [0, 0])],
            [("__cluster_metadata", [0]), ("t", [0])],
            [("t", [0, 1]), ("", [])],
        ):
            yield parts.DescribeQuorumRequest(
                topics=tuple(
                    parts.TopicData(
                        topic_name=name,
                        partitions=tuple(parts.PartitionData(partition_index=each) for each in of),
                    )
                    for name, of in topics
                )
            )


def out_of_turn() -> Iterator[Body]:
    yield request_type(17, 1)(mechanism="PLAIN")
    yield request_type(36, 2)(auth_bytes=b"token")


def held_beside(theirs: Address, ours: Address, requests: Callable[[], Iterator[Body]]) -> None:
    lockstep(asking(theirs, requests()), asking(ours, requests()))


@pytest.mark.parametrize(
    "requests",
    [
        acl_requests, user_changes, descriptions, user_removals, cluster_requests, out_of_turn,
        quorum_requests,
    ],
)  # fmt: skip
def test_requests_to_a_broker(
    clusters: TwoClusters, requests: Callable[[], Iterator[Body]]
) -> None:
    held_beside(clusters.theirs.broker, clusters.ours.broker, requests)


def test_metadata_of_topics_that_are_not_there(clusters: TwoClusters) -> None:
    held_beside(clusters.theirs.broker, clusters.ours.broker, metadata_requests)


@pytest.mark.parametrize(
    "requests",
    [acl_requests, user_changes, user_removals, cluster_requests, out_of_turn, quorum_requests],
)
def test_requests_to_a_controller(
    clusters: TwoClusters, requests: Callable[[], Iterator[Body]]
) -> None:
    held_beside(clusters.theirs.controller, clusters.ours.controller, requests)


@pytest.mark.parametrize("listener", ["broker", "controller"])
def test_what_is_offered_is_offered_by_kafka(clusters: TwoClusters, listener: str) -> None:
    theirs, ours = (
        wire.NodeClient(getattr(cluster, listener)).offers()
        for cluster in (clusters.theirs, clusters.ours)
    )
    differing = {key: offered for key, offered in ours.items() if theirs.get(key) != offered}
    assert differing == BEYOND_KAFKA[listener]
