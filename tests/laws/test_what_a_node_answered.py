"""A real node's answers while it wrote a log: filters, kafka-acls, and decisions by host. Cases of
the whole set of fixtures run only in a checkout with it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from authorizer import RequestContext, StandardAuthorizer
from authorizer.api import Action, ResourcePattern
from metalog.acl import (
    AccessControlEntryFilter,
    AclFilter,
    Operation,
    PatternType,
    PermissionType,
    ResourcePatternFilter,
    ResourceType,
)
from tests.support.command.runs import Run
from tests.support.kafka.cases import KafkaCase, kafka_cases
from tests.support.kafka.vectors import read_acl
from tests.support.worlds.small_acls import allow

GRANT = allow("t", Operation.CREATE, "User:a")


def filter_of(said: dict[str, Any]) -> AclFilter:
    return AclFilter(
        ResourcePatternFilter(
            ResourceType[said["resourceType"]],
            said["resourceName"],
            PatternType[said["patternType"]],
        ),
        AccessControlEntryFilter(
            said["principal"],
            said["host"],
            Operation[said["operation"]],
            PermissionType[said["permissionType"]],
        ),
    )


@pytest.mark.once
def test_a_filter_finds_what_it_found() -> None:
    """Hosts are compared as text: a block finds itself, and no other spelling of it."""
    asked = 0
    for case in kafka_cases():
        if not case.expects("describe-filters.json"):
            continue
        acls = {said["id"]: read_acl(said) for said in case.json("acls.json")}
        for each in case.json("describe-filters.json"):
            wanted = filter_of(each["filter"])
            found = {uuid for uuid, acl in acls.items() if wanted.matches(acl)}
            assert found == {*each["ids"]}, (case.name, each["filter"])
            asked += 1
    assert asked > 40


@pytest.mark.once
def test_a_filter_deletes_what_it_deleted() -> None:
    """On the state at the end it matches nothing, unless the ACL was created later."""
    for case in kafka_cases():
        if not case.expects("delete-filters.json"):
            continue
        for request in case.json("delete-filters.json"):
            for said, result in zip(request["filters"], request["results"], strict=True):
                wanted = filter_of(said)
                assert all(wanted.matches(read_acl(each)) for each in result.get("deleted", ()))


def hosts_decided(case: KafkaCase) -> Iterator[tuple[str, dict[str, Any]]]:
    if case.expects("live-decisions.json"):
        yield from (("4.4", each) for each in case.json("live-decisions.json"))
    if case.expects("upgrade-steps.json"):
        for step in case.json("upgrade-steps.json"):
            kafka = step["kafka"].rpartition(".")[0]
            yield from ((kafka, each) for each in step.get("decisions", ()))


@pytest.mark.once
def test_a_host_grants_what_it_granted() -> None:
    for case in kafka_cases():
        for kafka, each in hosts_decided(case):
            acl = GRANT._replace(host=each["aclHost"])
            authorizer = StandardAuthorizer.from_acls([acl], kafka_version=kafka)
            action = Action(Operation.CREATE, ResourcePattern(ResourceType.TOPIC, "t"))
            context = RequestContext("User:a", each["client"])
            [decision] = authorizer.authorize(context, [action])
            assert (decision.name == "ALLOWED") is (each["createTopics"] == "NONE"), (kafka, each)


@pytest.mark.once
def test_kafka_acls_adds_what_it_added(tmp_path: Path, run: Run) -> None:
    """It also prints the same; Kafka lists one resource's lines in any order."""
    folder = tmp_path / "node"
    assert run("format", folder, "--release-version", "4.4").returncode == 0
    for case in kafka_cases():
        if case.name != "acls-4.4":
            continue
        for added in case.json("kafka-acls-add.json")[::3]:
            done = run("kafka-acls", folder, *added["args"])
            assert done.returncode == added["rc"], done.stderr
            assert lines_of(done.stdout) == lines_of(added["stdout"])


def lines_of(text: str) -> list[str]:
    return sorted(text.replace("\n \t", "\n\t").splitlines())
