"""The index keeps its invariants after every step, and published parts never change."""

from __future__ import annotations

import random
from itertools import product

import pytest

from authorizer import Acl, Operation, PatternType, PermissionType, ResourceType
from authorizer.engine import buckets, patterns, prefixes
from authorizer.engine.decide import concerns, decision_order, subject
from authorizer.engine.host_blocks import HostBlocks
from authorizer.engine.index import AclIndex, IndexWriter
from authorizer.kafka_version import KafkaVersion
from metalog.acl import AccessControlEntryFilter, AclFilter, ResourcePatternFilter
from metalog.hosts.host_block import client_address, host_block
from metalog.ids import Uuid
from tests.support.worlds import spec
from tests.support.worlds.small_acls import allow

STEPS = 5_000
"""Steps in each of four parts, each with structures of other sizes."""

NAMES = [
    "",
    *("".join(letters) for size in (1, 2, 3, 4) for letters in product("ab*", repeat=size)),
]
OPERATIONS = (Operation.ALL, Operation.READ, Operation.DESCRIBE)


def _random_acl(choose: random.Random) -> Acl:
    return Acl(
        ResourceType.TOPIC,
        choose.choice(NAMES),
        choose.choice((PatternType.LITERAL, PatternType.PREFIXED)),
        choose.choice(("User:a", "User:b", "User:*")),
        choose.choice(("*", "1.1.1.1", "1.0.0.0/8", "1.1.1.1/8", "1.1.1.1/32", "1.1.1.2/31")),
        choose.choice(OPERATIONS),
        choose.choice((PermissionType.ALLOW, PermissionType.ALLOW, PermissionType.DENY)),
    )


@pytest.mark.once
@pytest.mark.parametrize(
    ("chunk", "scanned", "few", "changed", "most"),
    [(1, 1, 1, 0, 40), (2, 1, 2, 3, 40), (3, 4, 32, 32, 60), (256, 2, 5, 1, 80)],
)
def test_invariants_hold_after_every_step(
    chunk: int, scanned: int, few: int, changed: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prefixes, "CHUNK", chunk)
    monkeypatch.setattr(buckets, "FEW_LIMIT", scanned)
    monkeypatch.setattr(buckets, "SOME_LIMIT", few)
    monkeypatch.setattr(patterns, "MOST_CHANGED", changed)
    choose = random.Random(most + chunk)
    writer = IndexWriter()
    by_id: dict[Uuid, Acl] = {}
    for step in range(STEPS):
        _step(choose, writer, by_id, most)
        if step % 20 == 0:
            writer.load(list(by_id.values()))
        index = writer.index
        index._check()
        assert set(index) == set(by_id.values())
        name, operation = choose.choice(NAMES), choose.choice(OPERATIONS)
        _hold_against_spec(index, by_id, name, operation)
        if step % 50 == 0:
            who = subject("1.1.1.1", "User:a", kafka=KafkaVersion.V4_4)
            next(index.allowing(who, operation, ResourceType.TOPIC), None)


def _step(choose: random.Random, writer: IndexWriter, by_id: dict[Uuid, Acl], most: int) -> None:
    uuid = Uuid(choose.randrange(most * 2).to_bytes(16, "big"))
    grow = choose.random() * most > len(by_id) and uuid not in by_id
    if grow or (uuid in by_id and choose.random() < 0.1):
        acl = _random_acl(choose)
        writer.apply({uuid: acl}, by_id)
        by_id[uuid] = acl
    elif by_id:
        gone = choose.sample(list(by_id), min(len(by_id), choose.choice((1, 1, 1, 3))))
        writer.apply(dict.fromkeys(gone), by_id)
        for each in gone:
            del by_id[each]


def _hold_against_spec(
    index: AclIndex, by_id: dict[Uuid, Acl], name: str, operation: Operation
) -> None:
    acls = set(by_id.values())
    who = {"User:a"}, "1.1.1.1"
    topic = ResourceType.TOPIC
    for kafka in KafkaVersion:
        expected = spec.decide(acls, who, operation, topic, name, True, kafka)
        asked = subject("1.1.1.1", "User:a", kafka=kafka)
        assert index.decide(asked, operation, topic, name, allow_everyone=True) == expected
    reaching = sorted(
        (acl for acl in acls if spec.reaches(acl, topic, name)),
        key=lambda acl: spec.order(acl, name),
    )
    assert index.candidates(topic, name) == reaching
    for kind in (index.literals[topic], index.prefixed[topic]):
        begun = [other for other in kind.buckets if other.startswith(name)]
        assert kind.names.any_begins_with(name) == bool(begun)


def test_a_change_leaves_the_index_before_it_alone() -> None:
    writer = IndexWriter()
    choose = random.Random(11)
    by_id: dict[Uuid, Acl] = {}
    published: list[tuple[AclIndex, set[Acl]]] = []
    for _ in range(300):
        _step(choose, writer, by_id, 60)
        published.append((writer.index, set(by_id.values())))
    for index, acls in published:
        index._check()
        assert set(index) == acls


def test_a_change_keeps_what_it_does_not_touch() -> None:
    writer = IndexWriter()
    acls = [allow(f"topic-{number:04d}", principal="User:a") for number in range(2_000)]
    writer.load(acls)
    before = writer.index
    added = acls[7]._replace(operation=Operation.WRITE)
    writer.apply({Uuid(bytes(16)): added}, {})
    after = writer.index
    same = [
        before.literals[ResourceType.TOPIC].buckets[acl.resource_name]
        is after.literals[ResourceType.TOPIC].buckets[acl.resource_name]
        for acl in acls
    ]
    assert same.count(False) == 1
    assert set(after) == {*acls, added}


@pytest.mark.parametrize("ids", [1, 2, 3, 4])
@pytest.mark.parametrize("load", [True, False])
def test_an_acl_under_several_ids_stays_until_all_are_gone(ids: int, load: bool) -> None:
    acl = _random_acl(random.Random(3))
    by_id = {Uuid(bytes([number]) * 16): acl for number in range(ids)}
    writer = IndexWriter()
    if load:
        writer.load(by_id.values())
    else:
        writer.apply(by_id, {})
    while by_id:
        assert list(writer.index) == [acl]
        gone = next(iter(by_id))
        writer.apply({gone: None}, by_id)
        del by_id[gone]
    assert list(writer.index) == []
    writer.index._check()


def test_a_thousand_acls_of_one_pattern_are_listed_in_kafkas_order() -> None:
    acls = [
        allow("one", operation, f"User:{number}")
        for number in range(500)
        for operation in (Operation.WRITE, Operation.READ)
    ]
    writer = IndexWriter()
    writer.load(acls)
    expected = sorted(acls, key=lambda acl: (acl.operation, acl.principal))
    assert writer.index.acls() == tuple(expected)
    assert writer.index.acls() is writer.index.acls()
    assert writer.index.candidates(ResourceType.TOPIC, "one") == expected


@pytest.mark.parametrize("seed", range(20))
def test_a_filter_lists_what_it_matches_of_all_in_the_same_order(seed: int) -> None:
    choose = random.Random(seed)
    writer = IndexWriter()
    writer.load({_random_acl(choose) for _ in range(60)})
    for principal, host, name in product((None, "User:a"), (None, "1.1.1.1"), (None, "ab")):
        wanted = AclFilter(
            ResourcePatternFilter(name=name), AccessControlEntryFilter(principal, host)
        )
        listed = [acl for acl in writer.index.acls() if wanted.matches(acl)]
        assert writer.index.acls(wanted) == tuple(listed)


def test_the_acls_that_match_a_question_are_those_that_the_scan_finds() -> None:
    names = ("", "a", "ab", "abc", "b", "*")
    acls = [
        Acl(ResourceType.TOPIC, name, pattern_type, principal, host, operation, permission)
        for name in names
        for pattern_type in (PatternType.LITERAL, PatternType.PREFIXED)
        for principal in ("User:a", "User:*")
        for host in ("*", "10.0.0.0/8")
        for operation in (Operation.READ, Operation.ALL)
        for permission in (PermissionType.ALLOW, PermissionType.DENY)
    ]
    chosen = random.sample(acls, 60)
    index = AclIndex.of(chosen)
    for kafka, name, operation in product(
        KafkaVersion, ("a", "abcd", "*", "c"), (Operation.READ, Operation.DESCRIBE)
    ):
        who = subject("10.1.1.1", "User:a", kafka=kafka)
        found = index.matching(who, operation, ResourceType.TOPIC, name)
        assert set(found) == {
            acl
            for acl in chosen
            if _reaches(acl, name) and concerns(acl, operation) and who.matches(acl)
        }
        assert found == sorted(found, key=lambda acl: decision_order(acl, name))
        assert index.matching(who, operation, ResourceType.GROUP, name) == []


def _reaches(acl: Acl, name: str) -> bool:
    if acl.pattern_type is PatternType.PREFIXED:
        return name.startswith(acl.resource_name)
    return acl.resource_name in (name, "*")


def test_blocks_around_an_address_are_found_from_the_narrowest_on() -> None:
    hosts = ("10.0.0.0/8", "10.1.0.0/16", "10.1.2.0/24", "10.1.2.3/32", "11.0.0.0/8", "::/0")
    blocks = HostBlocks.of(hosts)
    address = client_address("10.1.2.4")
    assert address is not None
    found = [blocks.narrowest(address)]
    while found[-1] is not None:
        found.append(blocks.next_around(found[-1]))
    assert found == [host_block(host) for host in ("10.1.2.0/24", "10.1.0.0/16", "10.0.0.0/8", "")]
    nowhere = client_address("12.0.0.1")
    assert nowhere is not None
    assert blocks.narrowest(nowhere) is None


def test_a_name_is_in_the_part_that_is_replaced_when_it_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(prefixes, "CHUNK", 2)
    acls = [_literal(f"{number:03}") for number in range(0, 60, 2)]
    names = AclIndex.of(acls).literals[ResourceType.TOPIC].names
    assert len(names.chunks) > 3
    for number in range(0, 60, 2):
        assert f"{number:03}" in names.chunk_of(f"{number:03}")


def _literal(name: str) -> Acl:
    return allow(name, principal="User:a")
