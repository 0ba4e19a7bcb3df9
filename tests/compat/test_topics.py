"""``metalog topics`` beside a real Kafka: the ACLs that match each topic, and topic ids."""

from __future__ import annotations

import json
from typing import Any

import pytest
from confluent_kafka import TopicCollection
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from shell.main import main
from tests.support.kafka.new_topic import make_topic
from tests.support.kafka.tools import RealKafka
from tests.support.suite.waiting import eventually

pytestmark = pytest.mark.xdist_group("real-kafka")

DOTTED, UNDERSCORED, OTHER = "seen.by.name_1", "seen_by_name_2", "seen"
PATTERNS = (
    (DOTTED, ResourcePatternType.LITERAL, AclOperation.READ, AclPermissionType.ALLOW),
    ("seen.", ResourcePatternType.PREFIXED, AclOperation.WRITE, AclPermissionType.ALLOW),
    ("seen", ResourcePatternType.PREFIXED, AclOperation.WRITE, AclPermissionType.DENY),
    ("seen_", ResourcePatternType.PREFIXED, AclOperation.ALL, AclPermissionType.ALLOW),
    ("*", ResourcePatternType.LITERAL, AclOperation.ALTER, AclPermissionType.DENY),
)


def reaching(admin: AdminClient, topic: str) -> set[tuple[str, ...]]:
    asked = AclBindingFilter(
        ResourceType.TOPIC,
        topic,
        ResourcePatternType.MATCH,
        None,
        None,
        AclOperation.ANY,
        AclPermissionType.ANY,
    )
    return {
        (
            each.name,
            each.resource_pattern_type.name,
            each.principal,
            each.host,
            each.operation.name,
            each.permission_type.name,
        )
        for each in admin.describe_acls(asked).result(60)
    }


def test_what_reaches_a_topic_is_what_kafka_finds_to_match(
    real_kafka: RealKafka, capsys: pytest.CaptureFixture[str]
) -> None:
    admin = AdminClient({"bootstrap.servers": real_kafka.bootstrap})
    url = f"cluster://{real_kafka.bootstrap}"

    def described(source: str, topic: str) -> tuple[int, dict[str, Any]]:
        code = main(["topics", source, "--describe", "--topic", topic, "--json", "-q"])
        [line] = capsys.readouterr().out.splitlines()
        return code, json.loads(line)

    def kafkas_id(topic: str) -> str:
        found = admin.describe_topics(TopicCollection([topic]))[topic].result(60)
        return str(found.topic_id).translate({ord("+"): "-", ord("/"): "_"})

    bindings = [
        AclBinding(ResourceType.TOPIC, name, pattern, "User:seen", "*", operation, permission)
        for name, pattern, operation, permission in PATTERNS
    ]
    for done in admin.create_acls(bindings).values():
        done.result(60)
    for topic in (DOTTED, UNDERSCORED, OTHER):
        make_topic(admin, NewTopic(topic, 1, 1))
        expected = reaching(admin, topic)
        assert expected
        for source in (url, str(real_kafka.log_dir)):
            code, found = described(source, topic)
            assert (code, found["topicId"]) == (0, kafkas_id(topic))
            assert {
                (
                    each["resourceName"],
                    each["patternType"],
                    each["principal"],
                    each["host"],
                    each["operation"],
                    each["permissionType"],
                )
                for each in found["acls"]
            } == expected
    before = kafkas_id(DOTTED)
    admin.delete_topics([DOTTED])[DOTTED].result(60)
    assert eventually(lambda: DOTTED not in admin.list_topics(timeout=60).topics)
    code, found = described(url, DOTTED)
    assert (code, found["topicId"], found["partitions"]) == (1, None, None)
    assert len(found["acls"]) == len(reaching(admin, DOTTED)) == 4
    make_topic(admin, NewTopic(DOTTED, 1, 1))
    assert described(url, DOTTED)[1]["topicId"] == kafkas_id(DOTTED) != before
    filters = [
        AclBindingFilter(
            ResourceType.TOPIC,
            None,
            ResourcePatternType.ANY,
            "User:seen",
            None,
            AclOperation.ANY,
            AclPermissionType.ANY,
        )
    ]
    admin.delete_acls(filters)[filters[0]].result(60)
