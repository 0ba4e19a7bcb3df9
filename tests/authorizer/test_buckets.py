"""A bucket answers as a list of its ACLs does, however many it has."""

from __future__ import annotations

import random

import pytest

from authorizer import Acl, Operation, PatternType, PermissionType, ResourceType
from authorizer.engine.buckets import (
    FEW_LIMIT,
    SOME_LIMIT,
    Bucket,
    FewAcls,
    ManyAcls,
    SomeAcls,
    bucket_of,
    masks_of,
)
from authorizer.engine.decide import ALL_OPERATIONS, ALLOWS, DENIES, sorted_in_pattern, subject
from authorizer.engine.resource_acls import ResourceAcls
from authorizer.kafka_version import KafkaVersion

PRINCIPALS = ("User:*", *(f"User:{number}" for number in range(12)))
HOSTS = ("*", "10.0.0.1", "10.0.0.2", "10.0.0.0/24", "no/block")
ALL = [
    Acl(ResourceType.TOPIC, "pay", PatternType.LITERAL, principal, host, operation, permission)
    for principal in PRINCIPALS
    for host in HOSTS
    for operation in (Operation.READ, Operation.WRITE, Operation.ALL)
    for permission in (PermissionType.ALLOW, PermissionType.DENY)
]
WHO = [
    subject(host, *principals, kafka=kafka)
    for host in ("10.0.0.1", "10.0.1.1")
    for principals in (("User:1",), ("User:2", "User:3"), ("User:nobody",))
    for kafka in KafkaVersion
]


def _check(bucket: Bucket, acls: list[Acl]) -> None:
    bucket._check()
    assert bucket.size == len(acls)
    assert sorted(bucket.acls()) == sorted(acls)
    for who in WHO:
        of_who = [acl for acl in acls if who.matches(acl)]
        assert sorted(filter(who.matches, bucket.of(who))) == sorted(of_who)
        if isinstance(bucket, ManyAcls):
            assert len(bucket.of(who)) == len(of_who)
        allowed = denied = 0
        for acl in of_who:
            if acl.permission_type is PermissionType.ALLOW:
                allowed |= ALLOWS[acl.operation]
            else:
                denied |= DENIES[acl.operation]
        assert bucket.masks(who) == masks_of(acls, who) == (allowed, denied)
    for _ in range(2):
        assert bucket.in_order() == sorted_in_pattern(acls)
    assert all(map(bucket.has, acls))
    others = [acl._replace(host="10.9.9.9") for acl in acls]
    assert not any(map(bucket.has, others))


@pytest.mark.parametrize("count", [1, 2, FEW_LIMIT, FEW_LIMIT + 1, SOME_LIMIT, SOME_LIMIT + 1, 200])
def test_a_bucket_answers_as_a_list(count: int) -> None:
    acls = random.sample(ALL, count)
    bucket = bucket_of(list(acls))
    kind = FewAcls if count <= FEW_LIMIT else SomeAcls if count <= SOME_LIMIT else ManyAcls
    assert isinstance(bucket, kind)
    _check(bucket, acls)


@pytest.mark.parametrize(
    "count", [1, FEW_LIMIT, FEW_LIMIT + 1, FEW_LIMIT + 2, SOME_LIMIT - 1, SOME_LIMIT, 100]
)
def test_a_change_makes_another_bucket_and_leaves_the_first(count: int) -> None:
    chosen = random.sample(ALL, count + 1)
    acls, more = chosen[:-1], chosen[-1]
    before = bucket_of(list(acls))
    _check(before.adding(more), chosen)
    _check(before, acls)
    gone = random.choice(acls)
    after = before.removing(gone)
    rest = [acl for acl in acls if acl != gone]
    if after is None:
        assert not rest
    else:
        _check(after, rest)
    _check(before, acls)


def test_many_acls_of_one_principal_go_one_by_one_to_none() -> None:
    acls = random.sample(ALL, SOME_LIMIT + 1)
    bucket: Bucket | None = bucket_of(list(acls))
    while acls:
        assert bucket is not None
        assert bucket.size == len(acls)
        bucket = bucket.removing(acls.pop())
    assert bucket is None


@pytest.mark.parametrize(
    "counts", [(), (3,), (SOME_LIMIT + 9,), (3, 20), (SOME_LIMIT + 9, 40), (5, SOME_LIMIT + 1, 60)]
)
@pytest.mark.parametrize("default", [False, True])
def test_the_acls_of_several_patterns_are_those_of_one_resource(
    counts: tuple[int, ...], default: bool
) -> None:
    listed = [random.sample(ALL, count) for count in counts]
    combined = ResourceAcls([bucket_of(list(acls)) for acls in listed], is_default_allow=default)
    acls = [acl for each in listed for acl in each]
    for who in WHO:
        expected = masks_of(acls, who) if acls or not default else (ALL_OPERATIONS, 0)
        assert combined.masks(who) == expected
        principals = combined.principals
        if principals is not None and not any(name in principals for name in who.principals):
            assert combined.everybody == expected


def test_only_the_principals_of_few_acls_differ_from_everybody() -> None:
    some = [acl for acl in ALL if acl.principal != "User:*"][:SOME_LIMIT]
    few = ResourceAcls([bucket_of(some)], is_default_allow=False)
    of_two = ResourceAcls([bucket_of(some[:9]), bucket_of(some[9:])], is_default_allow=False)
    for each in (few, of_two):
        assert each.principals is not None
        assert set(each.principals) == {acl.principal for acl in some}
    for acls in ([acl for acl in ALL if acl.principal == "User:*"][-3:], ALL[-90:]):
        assert ResourceAcls([bucket_of(acls)], is_default_allow=False).principals is None


def test_acls_of_few_principals_come_and_go_one_by_one() -> None:
    chosen = random.sample(ALL[:60], SOME_LIMIT)
    bucket: Bucket | None = bucket_of(chosen[:1])
    for count in range(1, SOME_LIMIT):
        assert bucket is not None
        bucket = bucket.adding(chosen[count])
        _check(bucket, chosen[: count + 1])
    random.shuffle(chosen)
    while chosen:
        assert bucket is not None
        _check(bucket, chosen)
        bucket = bucket.removing(chosen.pop())
    assert bucket is None


@pytest.mark.parametrize("twice", [ALL[:1] * 2, [], ALL[: FEW_LIMIT + 1]])
def test_a_small_bucket_with_a_repeated_acl_none_or_too_many_is_found_out(twice: list[Acl]) -> None:
    with pytest.raises(AssertionError, match=r"^an invariant of a small bucket is broken$"):
        FewAcls(tuple(twice))._check()


@pytest.mark.parametrize(
    ("by_principal", "size"),
    [
        ({"User:*": tuple(ALL[:6])}, 5),
        ({"User:*": tuple(ALL[:5] * 2)}, 10),
        ({"User:1": tuple(ALL[:6])}, 6),
        ({"User:*": tuple(ALL[:5]), "User:0": (ALL[30],)}, 6),
        ({"User:*": tuple(ALL[:5]), "User:1": ()}, 5),
        ({"User:*": tuple(ALL[:FEW_LIMIT])}, FEW_LIMIT),
        ({acl.principal: acl for acl in ALL[:: 2 * FEW_LIMIT]}, SOME_LIMIT + 1),
    ],
)
def test_a_bucket_by_principal_that_does_not_fit_itself_is_found_out(
    by_principal: dict[str, Acl | tuple[Acl, ...]], size: int
) -> None:
    with pytest.raises(AssertionError, match=r"^an invariant of a bucket by principal is broken$"):
        SomeAcls(by_principal, size)._check()


def test_a_large_bucket_with_a_repeated_or_misplaced_acl_is_found_out() -> None:
    acls = ALL[: SOME_LIMIT + 1]
    sound = bucket_of(acls)
    assert isinstance(sound, ManyAcls)
    twice = sound.adding(acls[0])
    (key, found), *_ = sound._by_who.items()
    misplaced = ManyAcls(sound._by_who.changed({("User:else", key[1]): found}))
    empty = ManyAcls(sound._by_who.changed({key: ()}))
    for broken in (twice, misplaced, empty):
        with pytest.raises(AssertionError, match=r"^an invariant of a large bucket is broken$"):
            broken._check()
