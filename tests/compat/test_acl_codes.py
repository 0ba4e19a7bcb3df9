"""Codes and names of operations, permissions, resource types and pattern types are Kafka's."""

from __future__ import annotations

from enum import IntEnum

import pytest

from metalog.acl import Operation, PatternType, PermissionType, ResourceType
from tests.support.kafka.tools import KafkaTools


@pytest.mark.parametrize(
    ("ours", "package", "name"),
    [
        (Operation, "acl", "AclOperation"),
        (PermissionType, "acl", "AclPermissionType"),
        (ResourceType, "resource", "ResourceType"),
        (PatternType, "resource", "PatternType"),
    ],
)
def test_codes_and_names_are_kafkas(
    kafka_tools: KafkaTools, ours: type[IntEnum], package: str, name: str
) -> None:
    kafkas = getattr(getattr(kafka_tools.classes.org.apache.kafka.common, package), name)
    assert {each.value: each.name for each in ours} == {
        each.code(): each.name() for each in kafkas.values()
    }
