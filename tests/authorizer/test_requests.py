"""The checks before a request is carried out, by ``authorizer.permissions.table``."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pytest

from authorizer import (
    Acl,
    Operation,
    RequestContext,
    ResourceType,
    StandardAuthorizer,
    actions,
    are_allowed,
)
from authorizer.api import Action
from authorizer.interface import AuthorizationResults
from authorizer.permissions.requests import each_allowed
from authorizer.permissions.table import APIS, CONSUMER, PRODUCER, PermissionStep
from metalog.errors import InvalidRequest
from tests.support.worlds.small_acls import allow


def said(asked: list[tuple[object, ...]]) -> list[str]:
    return [
        " or ".join(
            f"{each.operation.name} {each.resource.resource_type.name}:{each.resource.name}"
            for each in alternatives
        )
        for alternatives in asked
    ]


@pytest.mark.parametrize(
    ("api", "names", "expected"),
    [
        ("Produce", {"topics": ["a", "b"]}, ["WRITE TOPIC:a", "WRITE TOPIC:b"]),
        (
            "Produce",
            {"topics": ["a"], "transactional_ids": ["t"]},
            ["WRITE TRANSACTIONAL_ID:t", "WRITE TOPIC:a"],
        ),
        ("Fetch", {"topics": ["a"]}, ["READ TOPIC:a"]),
        ("Fetch", {"topics": []}, []),
        ("CreateAcls", {}, ["ALTER CLUSTER:kafka-cluster"]),
        ("CreateTopics", {"topics": ["a"]}, ["CREATE CLUSTER:kafka-cluster or CREATE TOPIC:a"]),
        ("ListGroups", {"groups": []}, ["DESCRIBE CLUSTER:kafka-cluster"]),
        ("OffsetCommit", {"groups": ["g"], "topics": ["a"]}, ["READ GROUP:g", "READ TOPIC:a"]),
        ("DescribeConfigs", {"topics": ["a"]}, ["DESCRIBE_CONFIGS TOPIC:a"]),
        ("DescribeConfigs", {"on_cluster": True}, ["DESCRIBE_CONFIGS CLUSTER:kafka-cluster"]),
        ("DescribeCluster", {}, []),
        ("DescribeCluster", {"on_cluster": True}, ["ALTER CLUSTER:kafka-cluster"]),
        ("ApiVersions", {}, []),
        ("CreateDelegationToken", {"users": []}, []),
    ],
)
def test_what_kafka_asks(api: str, names: dict[str, list[str]], expected: list[str]) -> None:
    assert said(actions(api, **names)) == expected


@pytest.mark.parametrize(
    ("api", "names", "why"),
    [
        ("Produce", {}, r"^Produce: pass topics, or topics=\[\] for none$"),
        ("Produce", {"groups": ["g"]}, "^Produce needs no permission on groups$"),
        ("DescribeConfigs", {}, "^DescribeConfigs: .* its resources as groups or topics$"),
        ("FindCoordinator", {}, "^FindCoordinator: pass the names of its resources as "),
        ("InitProducerId", {}, "^InitProducerId: pass the names of its resources as "),
        ("InitProducerId", {"topics": ["a"]}, "one topic of any name"),
        ("Prodduce", {}, "did you mean Produce"),
        ("RenewDelegationToken", {}, "only the owner"),
        (
            "AlterClientQuotas2",
            {},
            r"^Kafka has no request AlterClientQuotas2; did you mean AlterClientQuotas\?$",
        ),
        ("Zzz", {}, "^Kafka has no request Zzz$"),
        ("Fetch", {"topic": ["a"]}, "^topic is not one of topics, groups, "),
        ("Fetch", {"topics": "orders"}, r"^topics: give a list of names, as \['orders'\]$"),
        ("ListGroups", {"groups": ""}, r"^groups: give a list of names, as \[''\]$"),
    ],
)
def test_a_question_that_would_ask_too_little_is_refused(
    api: str, names: dict[str, Collection[str]], why: str
) -> None:
    with pytest.raises(InvalidRequest, match=why):
        actions(api, **names)


@pytest.mark.parametrize("api", [api for api in APIS if api.needs], ids=lambda api: api.name)
def test_no_request_that_needs_something_is_asked_nothing(api: object) -> None:
    if all(need.optional for need in api.needs):
        return
    try:
        asked = actions(api.name)
    except InvalidRequest:
        return
    assert asked


def test_a_denial_of_one_need_is_a_denial() -> None:
    def allowed(operation: Operation, kind: ResourceType, name: str) -> Acl:
        return allow(name, operation, "User:app", kind=kind)

    authorizer = StandardAuthorizer.from_acls(
        [
            allowed(Operation.WRITE, ResourceType.TOPIC, "a"),
            allowed(Operation.CREATE, ResourceType.TOPIC, "new"),
        ]
    )
    app = RequestContext("User:app", "10.0.0.1")
    assert are_allowed(authorizer, app, actions("Produce", topics=["a"]))
    assert not are_allowed(authorizer, app, actions("Produce", topics=["a", "b"]))
    assert are_allowed(authorizer, app, actions("CreateTopics", topics=["new"]))
    assert not are_allowed(authorizer, app, actions("CreateTopics", topics=["other"]))


class Counting(StandardAuthorizer):
    """Records each call."""

    def authorize(self, context: RequestContext, asked: Sequence[Action]) -> AuthorizationResults:
        self.calls = [*getattr(self, "calls", []), list(asked)]
        return super().authorize(context, asked)


def test_all_topics_of_a_request_are_asked_in_one_call_each_once_with_its_references() -> None:
    authorizer = Counting()
    authorizer.complete_initial_load()
    asked = actions("Produce", topics=["a", "b", "a", "a"])
    assert not are_allowed(authorizer, RequestContext("User:x", "10.0.0.1"), asked)
    [call] = authorizer.calls
    assert [(each.resource.name, each.resource_reference_count) for each in call] == [
        ("a", 3),
        ("b", 1),
    ]


def test_of_alternatives_the_last_logs_a_denial_and_no_other() -> None:
    [alternatives] = actions("CreateTopics", topics=["new"])
    assert [each.log_if_denied for each in alternatives] == [False, True]
    assert [each.log_if_allowed for each in alternatives] == [True, True]


def test_nothing_is_allowed_of_which_no_alternative_is_asked() -> None:
    authorizer = Counting()
    assert each_allowed(authorizer, RequestContext("User:x", "10.0.0.1"), [()]) == [False]
    assert not hasattr(authorizer, "calls")


def test_the_cluster_is_referred_to_once() -> None:
    [[asked]] = actions("CreateAcls")
    assert (asked.resource.name, asked.resource_reference_count) == ("kafka-cluster", 1)


class Mute(StandardAuthorizer):
    """Answers nothing, whatever it is asked."""

    def authorize(self, context: RequestContext, asked: Sequence[Action]) -> AuthorizationResults:
        return super().authorize(context, [])


def test_an_authorizer_that_leaves_out_an_answer_allows_nothing() -> None:
    mute, asked = Mute(), actions("Produce", topics=["a"])
    mute.complete_initial_load()
    with pytest.raises(ValueError, match="shorter"):
        each_allowed(mute, RequestContext("User:x", "10.0.0.1"), asked)


@pytest.mark.parametrize(
    ("steps", "some"),
    [
        (PRODUCER, {("Metadata", "DESCRIBE TOPIC"), ("Produce", "WRITE TOPIC")}),
        (CONSUMER, {("JoinGroup", "READ GROUP"), ("Fetch", "READ TOPIC")}),
    ],
)
def test_the_steps_of_a_client_are_requests_with_what_they_need(
    steps: Sequence[PermissionStep], some: set[tuple[str, str]]
) -> None:
    found = {
        (step.api, f"{each.operation.name} {each.resource_type.name}")
        for step in steps
        for each in step.need.one_of
    }
    assert some <= found
    assert {api for api, _ in found} <= {each.name for each in APIS}
