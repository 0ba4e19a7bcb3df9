"""What an index lists, decides and knows to be allowed is what a scan of its ACLs finds."""

from __future__ import annotations

import random
from itertools import product
from typing import NoReturn

import pytest

from authorizer import Acl, Operation, PatternType, PermissionType, ResourceType
from authorizer.engine.buckets import SOME_LIMIT, ManyAcls
from authorizer.engine.decide import ALLOWED, DENIED, Subject, subject
from authorizer.engine.grants import grants_of
from authorizer.engine.index import AclIndex, IndexWriter
from authorizer.kafka_version import KafkaVersion
from metalog.acl import AccessControlEntryFilter, AclFilter, ResourcePatternFilter
from metalog.ids import Uuid
from tests.support.worlds import spec

TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED
ALLOW, DENY = PermissionType.ALLOW, PermissionType.DENY
NAMES = ("", "*", "a", "ab", "aba", "b", "b*")
PRINCIPALS = ("User:a", "User:b", "User:*")
HOSTS = ("*", "1.1.1.1", "1.0.0.0/8", "1.1.1.1/32")
OPERATIONS = (Operation.ALL, Operation.READ, Operation.DESCRIBE)
ALL = [
    Acl(*fields)
    for fields in product(
        (TOPIC, GROUP), NAMES, (LITERAL, PREFIXED), PRINCIPALS, HOSTS, OPERATIONS, (ALLOW, DENY)
    )
]
READ_PAY = Acl(TOPIC, "pay", LITERAL, "User:a", "*", Operation.READ, ALLOW)


def _from(principal: str) -> Subject:
    return subject("1.1.1.1", principal, kafka=KafkaVersion.V4_4)


def _java(name: str) -> bytes:
    return name.encode("utf-16-be")


@pytest.mark.parametrize("seed", range(5))
def test_a_listing_has_the_acls_that_the_filter_matches(seed: int) -> None:
    acls = random.Random(seed).sample(ALL, 150)
    index = AclIndex.of(acls)
    listing = index.acls()
    assert sorted(listing) == sorted(acls)
    kinds = (PatternType.ANY, PatternType.MATCH, LITERAL, PREFIXED)
    for of, name, kind, principal, host in product(
        (ResourceType.ANY, TOPIC, ResourceType.CLUSTER),
        (None, "aba", "*", "c"),
        kinds,
        (None, "User:a"),
        (None, "1.1.1.1"),
    ):
        pattern = ResourcePatternFilter(of, name, kind)
        wanted = AclFilter(pattern, AccessControlEntryFilter(principal, host))
        assert index.acls(wanted) == tuple(filter(wanted.matches, listing))


@pytest.mark.parametrize(
    "wanted",
    [
        AclFilter(ResourcePatternFilter(GROUP)),
        AclFilter(entry=AccessControlEntryFilter(principal="User:b")),
        AclFilter(entry=AccessControlEntryFilter(host="1.1.1.1")),
        AclFilter(ResourcePatternFilter(TOPIC), AccessControlEntryFilter(host="1.1.1.1")),
    ],
)
def test_only_buckets_with_an_acl_of_the_type_the_principal_or_the_host_are_listed(
    wanted: AclFilter,
) -> None:
    index = AclIndex.of(random.Random(1).sample(ALL, 40))
    buckets = list(index.buckets_listed(wanted))
    assert buckets
    assert all(any(map(wanted.matches, bucket.acls())) for bucket in buckets)


@pytest.mark.parametrize("names", [("a", "ab", "b"), ("a", "\uffff", "\U0001f600", "é", "ab")])
@pytest.mark.parametrize("principal", [None, "User:a"])
def test_a_listing_is_in_the_descending_order_of_javas_strings(
    names: tuple[str, ...], principal: str | None
) -> None:
    acls = [
        READ_PAY._replace(resource_name=name, pattern_type=kind)
        for name in names
        for kind in (PREFIXED, LITERAL)
    ]
    listed = AclIndex.of(acls).acls(AclFilter(entry=AccessControlEntryFilter(principal)))
    expected = [
        (name, kind)
        for name in sorted(names, key=_java, reverse=True)
        for kind in (LITERAL, PREFIXED)
    ]
    assert [(acl.resource_name, acl.pattern_type) for acl in listed] == expected


@pytest.mark.parametrize("count", [1, 10, SOME_LIMIT, SOME_LIMIT + 1, 60])
@pytest.mark.parametrize("kafka", KafkaVersion)
def test_the_acl_of_a_pattern_that_decides_is_the_one_that_the_scan_finds(
    count: int, kafka: KafkaVersion
) -> None:
    one = [acl for acl in ALL if acl[:3] == (TOPIC, "ab", PREFIXED)]
    choose = random.Random(count)
    acls = [*choose.sample(one, count), *choose.sample(ALL, 20)]
    index = AclIndex.of(set(acls))
    for who, operation, default in product((*PRINCIPALS, "User:c"), OPERATIONS, (False, True)):
        asking = subject("1.1.1.1", who, kafka=kafka)
        expected = spec.decide(acls, ({who}, "1.1.1.1"), operation, TOPIC, "aba", default, kafka)
        decided = index.decide(asking, operation, TOPIC, "aba", allow_everyone=default)
        assert decided == expected


@pytest.mark.parametrize("name", ["aba", "ab", "*", "b*b", ""])
def test_the_acls_of_a_resource_are_those_that_the_scan_finds_in_kafkas_order(name: str) -> None:
    acls = random.Random(2).sample(ALL, 150)
    reaching = [acl for acl in acls if spec.reaches(acl, TOPIC, name)]
    in_order = sorted(reaching, key=lambda acl: spec.order(acl, name))
    assert AclIndex.of(acls).candidates(TOPIC, name) == in_order


def test_two_acls_that_match_are_in_kafkas_order_whichever_was_first() -> None:
    pair = [READ_PAY._replace(operation=each) for each in (Operation.ALL, Operation.READ)]
    for acls in (pair, pair[::-1]):
        index = AclIndex.of(acls)
        assert index.matching(_from("User:a"), Operation.READ, TOPIC, "pay") == pair


def test_without_an_acl_the_default_decides_and_it_denies() -> None:
    index = AclIndex.of([READ_PAY])
    who = _from("User:b")
    for name, default, expected in (
        ("pay", True, DENIED),
        ("x", True, ALLOWED),
        ("x", False, DENIED),
    ):
        decided = index.decide(who, Operation.READ, TOPIC, name, allow_everyone=default)
        assert decided.result is expected
    assert index.decide(who, Operation.READ, TOPIC, "x").result is DENIED


@pytest.mark.parametrize("kafka", KafkaVersion)
def test_after_each_change_the_patterns_that_allow_are_those_that_a_scan_finds(
    kafka: KafkaVersion,
) -> None:
    choose = random.Random(7)
    writer = IndexWriter()
    held = {Uuid(bytes([number]) * 16): choose.choice(ALL[::9]) for number in range(30)}
    writer.load(held.values())
    who = subject("1.1.1.1", "User:a", kafka=kafka)
    for _ in range(150):
        uuid = Uuid(bytes([choose.randrange(40)]) * 16)
        changes = {uuid: None if uuid in held else choose.choice(ALL)}
        writer.apply(changes, held)
        held = {each: acl for each, acl in {**held, **changes}.items() if acl is not None}
        writer.index._check()
        for operation, of in product((Operation.READ, Operation.ALL), (TOPIC, GROUP)):
            expected = {
                (acl.pattern_type, acl.resource_name)
                for acl in held.values()
                if (acl.resource_type, acl.permission_type) == (of, ALLOW)
                and acl.operation in (operation, Operation.ALL)
                and who.matches(acl)
            }
            assert set(writer.index.allowing(who, operation, of)) == expected


@pytest.mark.parametrize("kind", [LITERAL, PREFIXED])
def test_once_asked_for_the_patterns_that_allow_are_kept_up_to_date_by_the_writer(
    kind: PatternType,
) -> None:
    writer = IndexWriter()
    acls = [READ_PAY._replace(resource_name=name, pattern_type=kind) for name in ("a", "b", "c")]
    writer.apply({Uuid(bytes(16)): acls[0]}, {})
    assert writer.index._grants is None
    assert list(writer.index.allowing(_from("User:a"), Operation.READ, TOPIC)) == [(kind, "a")]
    for number, acl in enumerate(acls[1:], start=1):
        writer.apply({Uuid(bytes([number]) * 16): acl}, {})
        assert writer.index._grants == grants_of(acls[: number + 1])


@pytest.mark.parametrize("host", ["*", "10.0.0.0/8"])
def test_a_change_of_one_of_many_acls_of_a_pattern_does_not_look_at_the_others(
    monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    writer = IndexWriter()
    many = [READ_PAY._replace(principal=f"User:{number}") for number in range(SOME_LIMIT + 10)]
    writer.load(many)
    assert list(writer.index.allowing(_from("User:1"), Operation.READ, TOPIC))
    one = READ_PAY._replace(principal="User:new", host=host)

    def refused(bucket: ManyAcls) -> NoReturn:
        raise AssertionError("the change looks at every ACL of the pattern")

    with monkeypatch.context() as patch:
        patch.setattr(ManyAcls, "size", property(refused))
        patch.setattr(ManyAcls, "acls", refused)
        writer.apply({Uuid(bytes(16)): one}, {})
        with_one = writer.index
        writer.apply({Uuid(bytes(16)): None}, {Uuid(bytes(16)): one})
    assert (set(with_one), with_one._grants) == ({*many, one}, grants_of([*many, one]))
    assert (set(writer.index), writer.index._grants) == (set(many), grants_of(many))


def test_a_change_while_a_reader_first_looks_for_them_has_the_writer_keep_them() -> None:
    writer = IndexWriter()
    left = [READ_PAY._replace(resource_name="other")]

    class WriterComesBetween(Acl):
        @property
        def permission_type(self) -> PermissionType:  # type: ignore[override]
            if left:
                writer.apply({Uuid(bytes(16)): left.pop()}, {})
            return ALLOW

    writer.load([WriterComesBetween(*READ_PAY)])
    found = writer.index.allowing(_from("User:a"), Operation.READ, TOPIC)
    assert list(found) == [(LITERAL, "pay")]
    assert not left
    assert writer.index._grants == grants_of(writer.index)
