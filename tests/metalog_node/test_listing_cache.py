"""Long listings of ACLs are encoded off the event loop, cached, and never out of date."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from authorizer.engine.buckets import Bucket
from authorizer.engine.index import IndexWriter
from authorizer.engine.listing import ListedParts
from authorizer.engine.prefixes import CHUNK
from metalog.acl import (
    ANY_ACL,
    AccessControlEntryFilter,
    AclFilter,
    Operation,
    PatternType,
    ResourcePatternFilter,
    ResourceType,
)
from metalog.ids import Uuid
from metalog.wire.client.connection import Connection
from metalog.wire.client.security import PLAINTEXT
from metalog.wire.messages import read_response, write_response
from metalog.wire.schema import response_type
from metalog_node.handlers import acl_listing
from metalog_node.node import Node
from tests.support.disk.written_log import formatted
from tests.support.node.running import running_in
from tests.support.wire.admin_requests import acl_filter, create, creation, delete, describe
from tests.support.worlds.small_acls import allow, deny

MANY = 2_000
READ, WRITE = BOTH = (Operation.READ, Operation.WRITE)


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    formatted(tmp_path)
    with running_in(tmp_path) as started:
        yield started


def names(connection: Connection, version: int = 3) -> list[str]:
    answer = connection.ask(describe(version))
    return sorted(each.resource_name for each in answer.resources)


@pytest.mark.parametrize("version", range(4))
def test_a_long_listing_is_what_there_is_after_every_change(node: Node, version: int) -> None:
    """Also for an ACL that was just acknowledged to another client."""
    expected = [f"topic-{each:04}" for each in range(MANY)]
    with (
        Connection(node.addresses["PLAINTEXT"], PLAINTEXT) as one,
        Connection(node.addresses["PLAINTEXT"], PLAINTEXT) as other,
    ):
        one.ask(create(*(creation(resource_name=each) for each in expected)))
        assert names(one, version) == names(other, version) == expected
        for each in range(3):
            name = f"topic-later-{each}"
            other.ask(create(creation(resource_name=name)))
            expected.append(name)
            assert names(one, version) == expected
            assert names(one, version) == expected
        other.ask(delete(acl_filter(resource_type_filter=2, resource_name_filter=expected[0])))
        assert names(one, version) == expected[1:]


@pytest.mark.parametrize("version", range(4))
@pytest.mark.parametrize("topics", [0, 1, 126, 127, 128])
def test_an_answer_put_together_is_the_one_written_whole(version: int, topics: int) -> None:
    """For each length of an array's length, and after changes of every kind."""
    wanted = ANY_ACL if version % 2 else AclFilter(entry=AccessControlEntryFilter(host="*"))
    listing = acl_listing.Listing(version, wanted)
    acls = [allow(f"topic-{each:03}", operation) for each in range(topics) for operation in BOTH]
    writer = IndexWriter()
    writer.load(acls)
    elsewhere = allow("topic-000", host="10.0.0.1")
    for added, removed in (
        ([], []),
        ([deny("topic-000", READ)], acls[:1]),
        ([allow("topic-", prefixed=True), elsewhere], acls[1:2]),
        ([allow("a-group", kind=ResourceType.GROUP)], acls[-1:]),
        ([], [deny("topic-000", READ), elsewhere]),
    ):
        ids = [Uuid(bytes([each]) * 16) for each in range(len(added) + len(removed))]
        before = dict(zip(ids[len(added) :], removed, strict=True))
        changes = dict(zip(ids, (*added, *([None] * len(removed))), strict=True))
        writer.apply(changes, {key: each for key, each in before.items() if each in writer.index})
        present = writer.index.acls(wanted)
        whole = write_response(acl_listing.described(version, present), 0)
        assert b"".join(acl_listing.written(version, present)) == whole[4:]
        assert b"".join(listing.written(writer.index)) == whole[4:]


def test_a_change_writes_only_its_part_of_a_listing_again() -> None:
    """Without sorting: sorting the names of 500,000 ACLs held every thread for 0.8 s."""
    names = [Compared(f"topic-{each:05}") for each in range(20 * CHUNK)]
    writer = IndexWriter()
    writer.load([allow(name, READ) for name in names])
    made: list[int] = []

    def make(buckets: list[Bucket]) -> None:
        made.append(len(buckets))

    parts = ListedParts(make, [ResourceType.TOPIC])
    Compared.times = 0
    assert len(parts.of(writer.index)) == 20
    assert (made, Compared.times) == ([CHUNK] * 20, 0)
    for changed in ("topic-00007x", names[7]):
        made.clear()
        Compared.times = 0
        writer.apply({Uuid(bytes(16)): allow(changed, WRITE)}, {})
        compared_by_the_change = Compared.times
        parts.of(writer.index)
        [buckets] = made
        assert buckets <= 2 * CHUNK
        assert Compared.times - compared_by_the_change < 50
    made.clear()
    parts.of(writer.index)
    assert not made


@pytest.mark.parametrize("pattern_type", [PatternType.ANY, PatternType.MATCH])
def test_the_many_acls_of_one_resource_are_written_without_sorting(
    pattern_type: PatternType,
) -> None:
    """A sort of 300,000 ACLs holds every thread for 0.6 s."""
    acls = [allow("topic", principal=Compared(f"User:{each:05}")) for each in range(MANY)]
    acls += [allow("top", prefixed=True), allow("*"), allow("other")]
    writer = IndexWriter()
    writer.load(acls)
    wanted = AclFilter(ResourcePatternFilter(ResourceType.TOPIC, "topic", pattern_type))
    Compared.times = 0
    data = b"".join(acl_listing.written_by_name(3, wanted, writer.index))
    assert not Compared.times
    present = {acl for acl in acls if wanted.matches(acl)}
    declared = response_type(acl_listing.DESCRIBE_ACLS, 3)
    answer = read_response(bytes(4) + data, declared)
    assert len(answer.resources) == len({acl.resource_name for acl in present})
    assert {
        (each.resource_name, acl.principal) for each in answer.resources for acl in each.acls
    } == {(acl.resource_name, acl.principal) for acl in present}


class Compared(str):
    """A name that counts its comparisons."""

    __slots__ = ()
    times = 0

    def __lt__(self, other: str) -> bool:
        Compared.times += 1
        return str.__lt__(self, other)


def test_kept_answers_are_told_apart(node: Node) -> None:
    """By filter and version; each answer gets the request's correlation id."""
    with Connection(node.addresses["PLAINTEXT"], PLAINTEXT) as connection:
        connection.ask(create(*(creation(resource_name=f"t-{each}") for each in range(300))))
        for _ in range(2):
            one = connection.ask(describe(resource_type_filter=2, resource_name_filter="t-7"))
            assert [each.resource_name for each in one.resources] == ["t-7"]
            for version in range(4):
                assert len(names(connection, version)) == 300


def test_a_long_listing_counts_as_this_nodes_own_answer(node: Node) -> None:
    """A forwarded answer would look the same by its bytes alone."""

    def counted(outcome: str) -> float | None:
        labels = {"api": "DescribeAcls", "outcome": outcome}
        return node.metrics.registry.get_sample_value("metalog_requests_total", labels)

    with Connection(node.addresses["PLAINTEXT"], PLAINTEXT) as connection:
        connection.ask(create(*(creation(resource_name=f"t-{each}") for each in range(300))))
        assert len(names(connection)) == 300
    assert (counted("NONE"), counted("FORWARDED")) == (1, None)
