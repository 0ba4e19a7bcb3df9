"""The table of permissions equals what Kafka's own classes ask their authorizer. A handler's
bytecode names the constants of AclOperation that it asks for."""

from __future__ import annotations

import json
import re
import struct
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from authorizer.permissions.table import APIS, ApiPermissions
from tests.support.kafka.tools import KafkaTools

HANDLERS = {
    f"{name}.class"
    for name in (
        "KafkaApis",
        "ControllerApis",
        "AclApis",
        "AuthHelper",
        "ConfigHelper",
        "DescribeTopicPartitionsRequestHandler",
    )
}
SERVERS = "kafka/server/", "org/apache/kafka/server/"
SINCE_4_4 = {"StreamsGroupTopologyDescriptionUpdate", "UnregisterController"}
OPERATION = "org/apache/kafka/common/acl/AclOperation"
GETSTATIC = b"\xb2"
SHARED_BY = {
    "TopicMetadata": ["Metadata"],
    "ListOffset": ["ListOffsets"],
    "GetCoordinator": ["FindCoordinator"],
    "BrokerHeartBeat": ["BrokerHeartbeat"],
    "CreateToken": ["CreateDelegationToken"],
    "AuthorizeToken": ["DescribeDelegationToken"],
    "AuthorizeRequester": ["DescribeDelegationToken"],
    "FetchOffsetsForGroup": ["OffsetFetch"],
    "FetchAllOffsetsForGroup": ["OffsetFetch"],
    "FilterAlterAuthorizedTopics": ["CreatePartitions"],
    "AuthorizeAlterResource": ["AlterConfigs", "IncrementalAlterConfigs"],
    "ComputeDescribeClusterResponse": ["DescribeCluster"],
    "DescribeShareGroupOffsetsForGroup": ["DescribeShareGroupOffsets"],
    "DescribeShareGroupAllOffsetsForGroup": ["DescribeShareGroupOffsets"],
}
"""Methods that serve several requests."""
CONSTANT_SIZES = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4} | {
    15: 3,
    16: 2,
    17: 4,
    18: 4,
    19: 2,
    20: 2,
}


class ClassFile:
    """The parts of a Java class (JVM specification, chapter 4) that say which method reads which
    constant."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 8
        self._texts: dict[int, str] = {}
        self._pairs: dict[int, tuple[int, int]] = {}
        self._read_constants()
        self._at += 6
        interfaces = self._u2()
        self._at += 2 * interfaces

    def operations_by_method(self) -> Iterator[tuple[str, set[str]]]:
        """The AclOperations that each method reads, also for methods that read none."""
        wanted = {GETSTATIC + struct.pack(">H", index): name for index, name in self._operations()}
        list(self._members())
        for name, code in self._members():
            yield name, {operation for read, operation in wanted.items() if read in code}

    def _operations(self) -> Iterator[tuple[int, str]]:
        for index, (owner, member) in self._pairs.items():
            if self._texts.get(self._pairs.get(owner, (0, 0))[0]) == OPERATION:
                yield index, self._texts[self._pairs[member][0]]

    def _members(self) -> Iterator[tuple[str, bytes]]:
        for _ in range(self._u2()):
            _, name, _, attributes = struct.unpack_from(">4H", self._data, self._at)
            self._at += 8
            code = b""
            for _ in range(attributes):
                attribute, size = struct.unpack_from(">HI", self._data, self._at)
                if self._texts[attribute] == "Code":
                    code = self._data[self._at + 6 : self._at + 6 + size]
                self._at += 6 + size
            yield self._texts[name], code

    def _read_constants(self) -> None:
        index, count = 1, self._u2()
        while index < count:
            tag = self._data[self._at]
            self._at += 1
            if tag == 1:
                size = self._u2()
                text = self._data[self._at : self._at + size]
                self._texts[index] = text.decode("utf-8", errors="replace")
                self._at += size
            else:
                size = CONSTANT_SIZES[tag]
                if size in (2, 4):
                    first = struct.unpack_from(">H", self._data, self._at)[0]
                    second = struct.unpack_from(">H", self._data, self._at + size - 2)[0]
                    self._pairs[index] = (first, second)
                self._at += size
            index += 2 if tag in (5, 6) else 1

    def _u2(self) -> int:
        value: int = struct.unpack_from(">H", self._data, self._at)[0]
        self._at += 2
        return value


@pytest.fixture(scope="module")
def asked_by_kafka(either_kafka: KafkaTools) -> dict[str, set[str]]:
    asked = defaultdict(set)
    for code in _handlers(either_kafka.jars):
        for method, operations in ClassFile(code).operations_by_method():
            plain = re.sub(r"^(lambda|\$anonfun)\$|\$\d+$", "", method)
            plain = plain.removeprefix("handle").removesuffix("Request")
            name = plain[:1].upper() + plain[1:]
            for api in SHARED_BY.get(name, [name]):
                asked[api] |= operations
    return asked


def _handlers(jars: Path) -> Iterator[bytes]:
    found = []
    for jar in (*jars.glob("kafka_2.13-*.jar"), *jars.glob("kafka-server-4*.jar")):
        with zipfile.ZipFile(jar) as archive:
            for name in archive.namelist():
                if name.startswith(SERVERS) and (simple := name.rpartition("/")[2]) in HANDLERS:
                    found.append(simple)
                    yield archive.read(name)
    assert sorted(found) == sorted(HANDLERS)


def _known_to(kafka: KafkaTools) -> list[ApiPermissions]:
    return [api for api in APIS if kafka.release >= "4.4" or api.name not in SINCE_4_4]


def test_every_request_that_a_client_can_send_is_there(either_kafka: KafkaTools) -> None:
    [jar] = either_kafka.jars.glob("kafka-clients-*.jar")
    known = {}
    with zipfile.ZipFile(jar) as archive:
        for name in archive.namelist():
            if re.fullmatch(r"common/message/\w+Request\.json", name):
                text = archive.read(name).decode()
                definition = json.loads(re.sub(r"(^|\s)//.*", "", text))
                if definition["validVersions"] != "none":
                    known[definition["apiKey"]] = definition["name"].removesuffix("Request")
    assert {api.key: api.name for api in _known_to(either_kafka)} == known
    assert [api.key for api in APIS] == sorted(api.key for api in APIS)


@pytest.mark.parametrize("api", APIS, ids=[api.name for api in APIS])
def test_a_request_needs_what_kafka_asks_for(
    api: ApiPermissions, either_kafka: KafkaTools, asked_by_kafka: dict[str, set[str]]
) -> None:
    if api not in _known_to(either_kafka):
        return
    needed = {each.operation.name for need in api.needs for each in need.one_of}
    assert needed == asked_by_kafka.get(api.name, set())


def test_no_other_request_is_asked_about(asked_by_kafka: dict[str, set[str]]) -> None:
    names = {api.name for api in APIS}
    assert not {name for name, asked in asked_by_kafka.items() if asked and name not in names}
