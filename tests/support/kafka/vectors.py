"""The answers of StandardAuthorizer in Kafka 4.3.1 and 4.4.0: scenarios, read one at a time.

The complete sets are used if the checkout has them beside it, else the repository's samples.
``tests/fixtures/vectors/README.md`` says what each field means.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from authorizer import (
    AccessControlEntryFilter,
    Acl,
    AclFilter,
    Action,
    Operation,
    PatternType,
    PermissionType,
    RequestContext,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
)
from authorizer.kafka_version import KafkaVersion
from metalog.ids import Uuid, parse_uuid
from tests.support.kafka.cases import FIXTURES, SHARED

BEGINNING = '{"scenario"'
OF_ONE = {KafkaVersion.V4_3: "decisions.jsonl.gz", KafkaVersion.V4_4: "decisions-4.4.jsonl.gz"}
"""The questions that were answered by one version."""
OF_BOTH = "cidr-both.jsonl.gz"
"""The questions that were answered by both versions; each answer is under the name of its release.
"""
RELEASES = {KafkaVersion.V4_3: "4.3.1", KafkaVersion.V4_4: "4.4.0"}
FAMILIES = (
    "alphabet",
    "by-resource-type",
    "default-rule",
    "hosts",
    "listing",
    "not-ready",
    "operations",
    "principals",
    "realistic",
    "resource-types",
    "sequence",
    "specificity",
    "star-names",
    "unicode",
)
CIDR_FAMILIES = ("cidr", "cidr-by-type", "cidr-listing")
ASKED = [
    *((KafkaVersion.V4_3, family) for family in FAMILIES),
    *((KafkaVersion.V4_4, family) for family in (*FAMILIES, *CIDR_FAMILIES)),
]


class Scenario(NamedTuple):
    """``lines`` are the steps and questions, in order."""

    header: dict[str, Any]
    lines: list[dict[str, Any]]


def scenarios(family: str, kafka: KafkaVersion = KafkaVersion.V4_3) -> Iterator[Scenario]:
    return _scenarios(_lines_by_family(OF_ONE[kafka])[family])


def cidr_scenarios(kafka: KafkaVersion) -> Iterator[Scenario]:
    """The scenarios that both versions answered, with the answers of ``kafka``."""
    lines = _lines_by_family(OF_BOTH)
    for header, asked in _scenarios(line for family in CIDR_FAMILIES for line in lines[family]):
        yield Scenario(header, [{**line, **line.get(RELEASES[kafka], {})} for line in asked])


def _scenarios(lines: Iterable[str]) -> Iterator[Scenario]:
    scenario: Scenario | None = None
    for line in lines:
        if scenario is None or line.startswith(BEGINNING):
            if scenario is not None:
                yield scenario
            scenario = Scenario(json.loads(line), [])
        else:
            scenario.lines.append(json.loads(line))
    if scenario is not None:
        yield scenario


@cache
def _lines_by_family(file: str) -> Mapping[str, list[str]]:
    """Read and decompressed once: fifty megabytes, which many tests use."""
    found: dict[str, list[str]] = {family: [] for family in (*FAMILIES, *CIDR_FAMILIES)}
    family = ""
    whole, own = SHARED / "vectors" / file, FIXTURES / "vectors" / file
    with gzip.open(whole if whole.is_file() else own, "rt", encoding="ascii") as text:
        for line in text:
            if line.startswith(BEGINNING):
                family = json.loads(line)["family"]
            found[family].append(line)
    return found


class Acls:
    """The ACLs of a scenario after each of its steps."""

    def __init__(self, header: dict[str, Any]) -> None:
        self.by_id = read_acls(header["acls"])

    def change(self, line: dict[str, Any]) -> None:
        if line["step"] == "add":
            self.by_id.update(read_acls([line["acl"]]))
        elif line["step"] == "remove":
            del self.by_id[parse_uuid(line["id"])]
        elif line["step"] == "loadSnapshot":
            self.by_id = read_acls(line["acls"])

    def named(self, id: str | None) -> Acl | None:
        return None if id is None else self.by_id[parse_uuid(id)]


def read_acls(listed: list[dict[str, Any]]) -> dict[Uuid, Acl]:
    return {parse_uuid(each["id"]): read_acl(each) for each in listed}


def read_acl(line: dict[str, Any]) -> Acl:
    return Acl(
        ResourceType[line["resourceType"]],
        line["resourceName"],
        PatternType[line["patternType"]],
        line["principal"],
        line["host"],
        Operation[line["operation"]],
        PermissionType[line["permissionType"]],
    )


def read_filter(line: dict[str, Any]) -> AclFilter:
    return AclFilter(
        ResourcePatternFilter(
            ResourceType[line["resourceType"]], line["name"], PatternType[line["patternType"]]
        ),
        AccessControlEntryFilter(
            line["principal"],
            line["host"],
            Operation[line["operation"]],
            PermissionType[line["permissionType"]],
        ),
    )


def read_context(line: dict[str, Any]) -> RequestContext:
    return RequestContext(line["principal"], line["host"], line["listener"], line["requestName"])


def read_action(line: dict[str, Any]) -> Action:
    return Action(
        Operation[line["operation"]],
        ResourcePattern(ResourceType[line["resourceType"]], line["resourceName"]),
        line["refCount"],
        line["logIfAllowed"],
        line["logIfDenied"],
    )
