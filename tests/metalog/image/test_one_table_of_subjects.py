"""Replay and snapshots follow from ``SUBJECTS``, so no part of an image can be forgotten."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from metalog.ids import Uuid
from metalog.image.delta import MetadataDelta
from metalog.image.manifest import Provenance
from metalog.image.metadata import EMPTY, MetadataImage
from metalog.image.policy import MARKERS, concerns_authorization
from metalog.image.state.acls import record_of
from metalog.image.subjects import NOT_KEPT, SUBJECTS
from metalog.records import messages as m
from metalog.records.frame import Undecodable, encode_value
from metalog.records.messages import (
    BrokerEndpoint,
    BrokerFeature,
    ControllerEndpoint,
    ControllerFeature,
    EntityData,
)
from metalog.records.messages.registry import METADATA, message_type
from tests.support.worlds.small_acls import deny

AT = Provenance(1, 1, 1)
ID, DIRECTORY, OTHER = (Uuid(bytes([number]) * 16) for number in (1, 2, 3))
WHOLE: list[Any] = [
    m.FeatureLevelRecord("metadata.version", 30),
    m.FeatureLevelRecord("group.version", 1),
    m.RegisterBrokerRecord(
        broker_id=1,
        incarnation_id=ID,
        broker_epoch=7,
        end_points=(BrokerEndpoint("EXTERNAL", "h", 9092, 3),),
        features=(BrokerFeature("metadata.version", 7, 30),),
        rack="r",
        fenced=False,
        in_controlled_shutdown=True,
        is_migrating_zk_broker=True,
        log_dirs=(DIRECTORY,),
        cordoned_log_dirs=(DIRECTORY,),
    ),
    m.RegisterControllerRecord(
        controller_id=2,
        incarnation_id=ID,
        zk_migration_ready=True,
        end_points=(ControllerEndpoint("CONTROLLER", "h", 9093, 3),),
        features=(ControllerFeature("metadata.version", 7, 30),),
    ),
    m.TopicRecord("t", ID),
    m.PartitionRecord(
        partition_id=1,
        topic_id=ID,
        replicas=(1, 2),
        isr=(1,),
        removing_replicas=(2,),
        adding_replicas=(1,),
        leader=1,
        leader_recovery_state=1,
        leader_epoch=3,
        partition_epoch=4,
        directories=(DIRECTORY, OTHER),
        eligible_leader_replicas=(2,),
        last_known_elr=(1,),
    ),
    m.ConfigRecord(2, "t", "retention.ms", "1"),
    m.ClientQuotaRecord((EntityData("user", "u"),), "request_percentage", 5.0, False),
    m.ProducerIdsRecord(broker_id=-1, broker_epoch=-1, next_producer_id=1000),
    record_of(ID, deny("t", principal="User:u", host="10.0.0.1", prefixed=True)),
    m.UserScramCredentialRecord("u", 2, b"salt", b"stored", b"server", 4096),
    m.DelegationTokenRecord("o", "q", ("r",), 1, 2, 3, "token"),
]


def image_of(records: list[Any]) -> MetadataImage:
    delta = MetadataDelta(EMPTY)
    delta.replay_all(enumerate(records))
    return delta.apply(AT)


def named_tuples_in(value: Any) -> Iterator[Any]:
    """``value`` and all named tuples inside it."""
    if hasattr(value, "_fields"):
        yield value
    children = value.values() if isinstance(value, Mapping) else value
    if isinstance(value, tuple | Mapping):
        for child in children:
            yield from named_tuples_in(child)


def test_the_fields_of_an_image_are_the_subjects() -> None:
    assert MetadataImage._fields == ("provenance", *(each.name for each in SUBJECTS))
    declared = MetadataDelta.__annotations__
    assert list(declared) == [each.name for each in SUBJECTS]
    for subject in SUBJECTS:
        assert getattr(EMPTY, subject.name) == subject.empty


@pytest.mark.parametrize("api_key", METADATA)
def test_each_record_type_is_applied_or_marks_a_transaction_or_is_not_kept(api_key: int) -> None:
    record = message_type(api_key)
    appliers = [each.name for each in SUBJECTS if record in each.records]
    assert len(appliers) + (record in MARKERS) + (record in NOT_KEPT) == 1


def test_the_example_image_differs_from_the_empty_one_in_every_field() -> None:
    image = image_of(WHOLE)
    for subject in SUBJECTS:
        assert getattr(image, subject.name) != subject.empty
        for each in named_tuples_in(getattr(image, subject.name)):
            for field, default in each._field_defaults.items():
                if field == "partitions_at_first":
                    continue  # of the replay, which a snapshot does not hold
                assert getattr(each, field) != default, f"{type(each).__name__}.{field}"


def test_a_snapshot_holds_every_field_of_every_subject() -> None:
    image = image_of(WHOLE)
    assert image_of([message for message, _ in image.write()]) == image


def test_the_values_of_a_snapshot_are_its_encoded_records() -> None:
    image = image_of(WHOLE)
    assert list(image.write_values()) == [encode_value(*each) for each in image.write()]


def test_a_delta_of_a_whole_image_makes_that_image() -> None:
    image = image_of(WHOLE)
    assert MetadataDelta.of_whole(image).apply(AT) == image


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda each: each.name)
def test_a_replacement_loses_what_the_snapshot_lacks(subject: Any) -> None:
    before = image_of(WHOLE)
    without = before._replace(**{subject.name: subject.empty})
    delta = MetadataDelta(before, is_replacement=True)
    delta.replay_all(enumerate(message for message, _ in without.write()))
    delta.finish_snapshot()
    assert delta.apply(AT) == without


@pytest.mark.parametrize("api_key", METADATA)
def test_an_unreadable_record_stops_a_strict_loader_where_its_subject_says_so(api_key: int) -> None:
    record = message_type(api_key)
    concerning = any(record in each.records for each in SUBJECTS if each.concerns_authorization)
    assert concerns_authorization(Undecodable(b"", "cut off", api_key)) is (
        concerning or record in MARKERS
    )
