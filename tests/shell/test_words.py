"""Kafka's words in any spelling."""

from __future__ import annotations

import pytest

from metalog.acl import Operation, PatternType, ResourceType, camel
from metalog.errors import InvalidRequest
from metalog_sources.formats.nodes.words import read_word
from shell.arguments.resources import parse_operation, parse_resource


@pytest.mark.parametrize("operation", [each for each in Operation if each.value > 1])
def test_an_operation_in_any_case(operation: Operation) -> None:
    name = operation.name
    for text in (name, name.lower(), camel(operation), name.lower().replace("_", "-")):
        assert parse_operation(text) is operation


def test_words_for_filters_are_no_operations() -> None:
    for text in ("any", "unknown"):
        with pytest.raises(InvalidRequest, match="unknown operation"):
            parse_operation(text)
    assert read_word(PatternType, "match", "pattern type", filter=True) is PatternType.MATCH


@pytest.mark.parametrize(
    ("text", "resource"),
    [
        ("topic:payments", (ResourceType.TOPIC, "payments")),
        ("Topic:LITERAL:payments", (ResourceType.TOPIC, "payments")),
        ("TransactionalId:a:b", (ResourceType.TRANSACTIONAL_ID, "a:b")),
        ("transactional-id:t", (ResourceType.TRANSACTIONAL_ID, "t")),
        ("cluster", (ResourceType.CLUSTER, "kafka-cluster")),
        ("user:User:alice", (ResourceType.USER, "User:alice")),
    ],
)
def test_a_resource(text: str, resource: tuple[ResourceType, str]) -> None:
    assert parse_resource(text) == resource


def test_what_is_no_resource() -> None:
    with pytest.raises(InvalidRequest, match="write it as topic:payments"):
        parse_resource("payments")
    with pytest.raises(InvalidRequest, match="has no name"):
        parse_resource("topic:")
    with pytest.raises(InvalidRequest, match=r"did you mean TOPIC\?"):
        parse_resource("tpic:payments")
