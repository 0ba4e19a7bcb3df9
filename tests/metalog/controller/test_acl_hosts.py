"""Hosts of ACLs are accepted and refused as by the Kafka version in force."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from metalog import Replica, WritableMemoryLog
from metalog.acl import Acl
from metalog.controller.acl import why_not
from metalog.controller.acl_hosts import (
    AclVersions,
    versions_of_cluster,
    versions_of_log,
    why_no_acl,
)
from metalog.controller.migration import Migration, migrate
from metalog.errors import SUCCESS, ApiError, ErrorCode, InvalidRequest
from metalog.image.metadata import EMPTY
from metalog.image.state.features import FeaturesImage
from metalog.records.messages import FeatureLevelRecord
from tests.support.kafka.cases import KafkaCase, kafka_cases
from tests.support.kafka.vectors import read_acl
from tests.support.worlds.small_acls import allow

BLOCK, NO_BLOCK = "10.0.0.0/8", "10.0.0.0/33"
TOO_EARLY = "CIDR-based ACL host patterns require metadata version 4.4-IV1 or higher."
CODES = {
    "InvalidRequestException": ErrorCode.INVALID_REQUEST,
    "UnsupportedVersionException": ErrorCode.UNSUPPORTED_VERSION,
}


def from_host(host: str) -> Acl:
    return allow("t", principal="User:a", host=host)


@pytest.mark.parametrize(
    ("kafka", "level", "host", "outcome"),
    [
        *(("4.3", 30, host, SUCCESS) for host in ("*", "", " ", BLOCK, NO_BLOCK, "a/b")),
        *(("4.4", level, host, SUCCESS) for level in (30, 33) for host in ("*", " ", "10.0.0.*")),
        *(("4.4", 31, host, ApiError(CODES["UnsupportedVersionException"], TOO_EARLY))
          for host in (BLOCK, NO_BLOCK, "/")),
        *(("4.4", level, "", ApiError(CODES["InvalidRequestException"],
           "Host pattern cannot be null or empty")) for level in (30, 33)),
        *(("4.4", level, host, SUCCESS) for level in (32, 34)
          for host in (BLOCK, "10.1.2.3/08", "2001:DB8::1/32", "[::1]/128")),
        ("4.4", 32, NO_BLOCK, ApiError(CODES["InvalidRequestException"],
         "Invalid CIDR notation '10.0.0.0/33': Value [33] not in range [0,32]")),
    ],
)  # fmt: skip
def test_a_host_is_refused_by_version_and_level(
    kafka: str, level: int, host: str, outcome: ApiError
) -> None:
    assert why_no_acl(host, AclVersions(kafka, level)) == outcome


def answers(case: KafkaCase) -> Iterator[tuple[AclVersions, dict[str, Any]]]:
    """The refusals of a node of this case, with its version and level."""
    if case.name == "acls-4.4":
        for refusal in case.json("rejected.json"):
            yield AclVersions("4.4", 33), refusal
    if case.expects("upgrade-steps.json"):
        for step in case.json("upgrade-steps.json"):
            for refusal in step.get("create", {}).get("rejected", ()):
                yield (
                    AclVersions(step["kafka"].rpartition(".")[0], step["metadata.version"]),
                    refusal,
                )


def test_a_real_kafka_refused_the_same() -> None:
    """Only with the whole set of fixtures."""
    for case in kafka_cases():
        for creator, refusal in answers(case):
            if refusal["where"] == "server":
                error = why_not(read_acl(refusal["acl"]), creator)
                assert (error.code, error.message) == (CODES[refusal["error"]], refusal["message"])


def test_a_real_kafka_took_the_same() -> None:
    """All hosts in a log that only Kafka 4.4 wrote."""
    for case in kafka_cases():
        if case.name in {"acls-4.4", "unstable-4.4"}:
            acls = list(map(read_acl, case.json("acls.json")))
            assert any("/" in acl.host for acl in acls)
            assert not [acl for acl in acls if why_not(acl, AclVersions("4.4", 33))]


def test_the_host_is_looked_at_last() -> None:
    nameless = from_host(NO_BLOCK)._replace(resource_name="")
    assert why_not(nameless, AclVersions("4.4", 33)).message == "Invalid empty resource name"


@pytest.mark.parametrize(
    ("level", "kafka", "outcomes"),
    [
        (30, None, [None, None, None]),
        (30, "4.4", [None, TOO_EARLY, TOO_EARLY]),
        (33, None, [None, None, "Invalid CIDR notation '10.0.0.0/33': Value [33] not in range"]),
        (31, "4.3", [None, None, None]),
    ],
)
def test_each_acl_of_a_request_has_its_own_outcome(
    level: int, kafka: str | None, outcomes: list[str | None]
) -> None:
    """By the log's metadata.version, unless the caller names a Kafka version."""
    log = WritableMemoryLog(bootstrap=[(FeatureLevelRecord("metadata.version", level), 0)])
    acls = [from_host(host) for host in ("10.0.0.1", BLOCK, NO_BLOCK)]
    with Replica(log, kafka=kafka) as replica:
        found = replica.submit_creations(acls).result(20)
        created = set(replica.image.acls.by_id.values()) & set(acls)
    for error, expected in zip(found, outcomes, strict=True):
        assert (error.message or "").startswith(expected or "")
        assert bool(error) is (expected is not None)
    assert created == {acl for acl, error in zip(acls, outcomes, strict=True) if error is None}


def test_a_change_as_a_whole_is_refused_as_a_whole() -> None:
    image = EMPTY._replace(features=FeaturesImage(33))
    change = Migration([from_host(BLOCK), from_host(NO_BLOCK)])
    with pytest.raises(InvalidRequest, match="INVALID_REQUEST: Invalid CIDR notation"):
        migrate(image, change, bytes)


def test_which_kafka_it_is() -> None:
    assert versions_of_log(FeaturesImage(31)) == ("4.3", 31)
    assert versions_of_log(FeaturesImage(32)) == ("4.4", 32)
    assert versions_of_log(FeaturesImage(None), "4.4") == ("4.4", 0)
    assert versions_of_cluster(0, 0) == ("4.3", 0)
    assert versions_of_cluster(30, 29) == ("4.3", 29)
    assert versions_of_cluster(33, 30) == ("4.4", 30)
    assert versions_of_cluster(40, 40) == ("4.4", 40)


def test_a_later_kafka_is_not_taken_for_an_earlier_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """As texts, 4.10 would come before 4.3."""
    levels = {"4.3": 30, "4.4": 33, "4.10": 40}
    monkeypatch.setattr("metalog.controller.acl_hosts.LATEST_METADATA_VERSIONS", levels)
    monkeypatch.setattr("metalog.image.state.features.NEWEST_LOADED", levels)
    latest = versions_of_cluster(40, 40)
    assert latest == ("4.10", 40)
    assert why_no_acl(NO_BLOCK, latest) == why_no_acl(NO_BLOCK, AclVersions("4.4", 40)) != SUCCESS
    assert [FeaturesImage(level).problem is None for level in (40, 41)] == [True, False]
