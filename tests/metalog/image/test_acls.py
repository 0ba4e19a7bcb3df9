"""The contents of an AclsImage after any changes, by id and by ACL."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metalog.acl import Acl
from metalog.errors import CorruptLog
from metalog.ids import Uuid, uuid_text
from metalog.image.delta import MetadataDelta
from metalog.image.manifest import Provenance
from metalog.image.metadata import EMPTY as EMPTY_IMAGE
from metalog.image.metadata import MetadataImage
from metalog.image.state.acls import EMPTY, AclsDelta, AclsImage, acl_of, record_of
from metalog.image.table import Table
from metalog.records.fast_decode.acl_fast_decode import AclRun, messages_of
from metalog.records.messages import AccessControlEntryRecord, RemoveAccessControlEntryRecord
from tests.support.worlds.small_acls import allow

IDS = [Uuid(bytes([number]) * 16) for number in range(1, 9)]
AT_ONE = Provenance(1, 1, 1)


def acl(name: str) -> Acl:
    return allow(name, principal="User:a")


def image_of(bindings: dict[Uuid, Acl]) -> MetadataImage:
    delta = MetadataDelta(EMPTY_IMAGE)
    for uuid, bound in bindings.items():
        delta.replay(record_of(uuid, bound))
    return delta.apply(AT_ONE)


CHANGES = st.lists(
    st.tuples(st.sampled_from(IDS), st.one_of(st.none(), st.sampled_from("abc"))), max_size=12
)


@settings(deadline=None)
@given(st.lists(CHANGES, max_size=4), st.integers(0, 4))
def test_ids_and_acls_are_those_of_a_plain_replay(
    rounds: list[list[tuple[Uuid, str | None]]], asked_in: int
) -> None:
    """Also if the map from ACL to ids was built early and then updated."""
    model: dict[Uuid, Acl] = {}
    image = EMPTY_IMAGE
    for number, changes in enumerate(rounds):
        before, model_before = image, dict(model)
        delta = MetadataDelta(image)
        for uuid, name in changes:
            if name is not None:
                model[uuid] = acl(name)
                delta.replay(record_of(uuid, model[uuid]))
            elif uuid in model:
                del model[uuid]
                delta.replay(RemoveAccessControlEntryRecord(uuid))
        if number == asked_in:
            image.acls.ids(acl("a"))
        image = delta.apply(AT_ONE)
        assert dict(before.acls.by_id) == model_before
    assert image.acls.by_id == model
    assert len(image.acls) == len(model)
    for name in "abc":
        assert image.acls.ids(acl(name)) == tuple(
            sorted(uuid for uuid, bound in model.items() if bound == acl(name))
        )


def test_one_acl_may_have_several_ids() -> None:
    acls = image_of({IDS[1]: acl("a"), IDS[0]: acl("a"), IDS[2]: acl("b")}).acls
    assert acls.ids(acl("a")) == (IDS[0], IDS[1])
    assert acls.ids(acl("b")) == (IDS[2],)
    assert acls.ids(acl("c")) == ()


def test_adding_an_id_twice_replaces_its_acl() -> None:
    delta = MetadataDelta(image_of({IDS[0]: acl("a")}))
    delta.replay(record_of(IDS[0], acl("b")))
    acls = delta.apply(AT_ONE).acls
    assert acls.by_id == {IDS[0]: acl("b")}
    assert acls.ids(acl("a")) == ()


@pytest.mark.parametrize("removed_before", [False, True])
def test_removing_an_acl_that_is_not_there_is_refused(removed_before: bool) -> None:
    delta = MetadataDelta(image_of({IDS[0]: acl("a")} if removed_before else {}))
    if removed_before:
        delta.replay(RemoveAccessControlEntryRecord(IDS[0]))
    with pytest.raises(CorruptLog, match=uuid_text(IDS[0])) as caught:
        delta.replay(RemoveAccessControlEntryRecord(IDS[0]))
    assert caught.value.advice is not None


def test_changes_are_the_net_ones_in_record_order() -> None:
    image = image_of({IDS[0]: acl("a"), IDS[1]: acl("b")})
    delta = MetadataDelta(image)
    delta.replay(record_of(IDS[3], acl("c")))
    delta.replay(RemoveAccessControlEntryRecord(IDS[1]))
    delta.replay(record_of(IDS[2], acl("c")))
    delta.replay(RemoveAccessControlEntryRecord(IDS[3]))
    assert delta.acls is not None
    assert list(delta.acls.changes.items()) == [(IDS[1], None), (IDS[2], acl("c"))]
    assert delta.acls.image is image.acls
    assert not delta.acls.is_replacement


def test_a_replacement_has_all_that_is_there_and_then_what_is_gone() -> None:
    delta = AclsDelta(image_of({IDS[0]: acl("a"), IDS[1]: acl("b")}).acls, is_replacement=True)
    delta.add(record_of(IDS[1], acl("c")))
    delta.finish_snapshot()
    assert list(delta.changes.items()) == [(IDS[1], acl("c")), (IDS[0], None)]
    assert delta.apply().by_id == {IDS[1]: acl("c")}


def test_acls_are_given_in_record_order_if_none_was_replaced_or_removed() -> None:
    records = [
        record_of(uuid, acl(name)) for uuid, name in zip(reversed(IDS), "hgfedcba", strict=True)
    ]
    for after, is_in_order in (
        ([], True),
        ([record_of(IDS[3], acl("x"))], False),
        ([RemoveAccessControlEntryRecord(IDS[3])], False),
        ([RemoveAccessControlEntryRecord(IDS[3]), record_of(IDS[3], acl("x"))], False),
    ):
        delta = MetadataDelta(EMPTY_IMAGE)
        delta.replay_all(enumerate([*records, *after]))
        image = delta.apply(AT_ONE).acls
        assert delta.acls is not None
        given = delta.acls.in_record_order(image)
        assert sorted(given) == sorted(image.by_id.values())
        assert not is_in_order or [each.resource_name for each in given] == list("hgfedcba")


def test_a_delta_of_a_whole_image_holds_the_very_acls_of_it() -> None:
    image = image_of({IDS[0]: acl("a"), IDS[1]: acl("b"), IDS[2]: acl("a")})
    delta = MetadataDelta.of_whole(image)
    assert delta.apply(AT_ONE).acls == image.acls
    assert delta.acls is not None
    given = delta.acls.in_record_order(image.acls)
    assert {id(each) for each in given} == {id(each) for each in image.acls.by_id.values()}


def test_a_replacement_knows_no_acl_of_before() -> None:
    delta = AclsDelta(image_of({IDS[0]: acl("a")}).acls, is_replacement=True)
    with pytest.raises(CorruptLog):
        delta.remove(RemoveAccessControlEntryRecord(IDS[0]))


class Compared(bytes):
    """An id that counts its comparisons."""

    times = 0

    def __lt__(self, other: bytes) -> bool:
        Compared.times += 1
        return bytes.__lt__(self, other)


@pytest.mark.parametrize("alike", [0, 13])
def test_a_snapshot_is_in_the_order_of_its_ids_which_are_sorted_a_part_at_a_time(
    alike: int,
) -> None:
    """Sorting all 500,000 at once held every thread of a node for more than a second."""
    choose = random.Random(alike)
    ids = [bytes(alike) + choose.randbytes(16 - alike) for _ in range(9_000)]
    image = AclsImage(Table.owning({Uuid(Compared(each)): acl("a") for each in ids}))
    Compared.times = 0
    written = image.write(30)
    first, _ = next(written)
    assert Compared.times < 9_000
    assert [first.id, *(record.id for record, _ in written)] == sorted(set(ids))


def test_a_run_is_its_records_one_after_another() -> None:
    ids = [Uuid(n.to_bytes(16, "big")) for n in range(3000)]
    run = AclRun([*ids, ids[7]], [acl("a")] * 3000 + [acl("b")])
    for image in EMPTY_IMAGE, image_of({ids[7]: acl("c")}):
        one_by_one, at_once = MetadataDelta(image), MetadataDelta(image)
        for record in messages_of([run]):
            one_by_one.replay(record)
        at_once.replay(run)
        assert at_once.apply(AT_ONE) == one_by_one.apply(AT_ONE)
        assert at_once.apply(AT_ONE).acls.by_id[ids[7]] == acl("b")


@pytest.mark.parametrize("field", ["resource_type", "pattern_type", "operation", "permission_type"])
@pytest.mark.parametrize("code", [99, -1, -128, 127, 0])
def test_a_code_that_kafka_does_not_have_is_unknown_and_doubtful(field: str, code: int) -> None:
    record = record_of(IDS[0], acl("a"))._replace(**{field: code})
    assert getattr(acl_of(record), field).name == "UNKNOWN"
    delta = MetadataDelta(EMPTY_IMAGE)
    delta.replay(record)
    assert delta.doubtful == 1
    assert delta.apply(AT_ONE).acls.by_id == {IDS[0]: acl_of(record)}


@pytest.mark.parametrize("field", ["resource_name", "principal", "host"])
def test_text_that_may_not_have_been_utf8_is_doubtful(field: str) -> None:
    delta = MetadataDelta(EMPTY_IMAGE)
    delta.replay(record_of(IDS[0], acl("a"))._replace(**{field: "a\ufffdb"}))
    assert delta.doubtful == 1


def test_every_acl_that_kafka_can_bind_is_beyond_doubt() -> None:
    delta = MetadataDelta(EMPTY_IMAGE)
    kinds = [
        (resource, pattern, operation, permission)
        for resource in range(2, 8)
        for pattern in (3, 4)
        for operation in range(2, 16)
        for permission in (2, 3)
    ]
    for number, (resource, pattern, operation, permission) in enumerate(kinds):
        uuid = Uuid(number.to_bytes(16, "big"))
        delta.replay(
            AccessControlEntryRecord(
                uuid, resource, "n", pattern, "User:a", "*", operation, permission
            )
        )
    assert delta.doubtful == 0
    written = delta.apply(AT_ONE).acls.write(30)
    assert [(r.resource_type, r.pattern_type, r.operation, r.permission_type) for r, _ in written]


def test_images_are_equal_by_what_they_hold() -> None:
    one = image_of({IDS[0]: acl("a"), IDS[1]: acl("b")}).acls
    other = image_of({IDS[1]: acl("b"), IDS[0]: acl("a")}).acls
    one.ids(acl("a"))
    assert one == other
    assert one != image_of({IDS[0]: acl("a")}).acls
    assert AclsImage() == EMPTY
