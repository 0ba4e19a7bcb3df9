"""The effect of each subject's records on an image, where it does not follow from their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from metalog.errors import CorruptLog
from metalog.ids import Uuid
from metalog.image.delta import MetadataDelta
from metalog.image.manifest import Provenance
from metalog.image.metadata import EMPTY, MetadataImage
from metalog.image.state.configs import BROKER, TOPIC, ConfigResource
from metalog.image.state.topics import MIGRATING
from metalog.records import messages as m
from metalog.records.frame import encode_value
from metalog.records.messages import BrokerEndpoint, EntityData
from metalog.scram import ScramCredential, ScramMechanism

AT = Provenance(1, 1, 1)
T1, T2, DIR, OTHER_DIR = (Uuid(bytes([number]) * 16) for number in (1, 2, 3, 4))


def after(image: MetadataImage, *records: object) -> MetadataImage:
    delta = MetadataDelta(image)
    delta.replay_all(enumerate(records))
    return delta.apply(AT)


PARTITION = m.PartitionRecord(
    partition_id=0,
    topic_id=T1,
    replicas=(1, 2),
    isr=(1, 2),
    leader=1,
    leader_epoch=0,
    partition_epoch=0,
    directories=(DIR, DIR),
    eligible_leader_replicas=(2,),
)
WITH_TOPIC = after(EMPTY, m.TopicRecord("t", T1), PARTITION)


CHANGED: dict[str, Any] = {
    "isr": (1,),
    "leader": 2,
    "replicas": (2, 1),
    "removing_replicas": (1,),
    "adding_replicas": (2,),
    "leader_recovery_state": 1,
    "directories": (OTHER_DIR, DIR),
    "eligible_leader_replicas": (1,),
    "last_known_elr": (2,),
}


@pytest.mark.parametrize("name", CHANGED)
@pytest.mark.parametrize("changed_before", [False, True])
def test_a_partition_change_changes_what_it_names_and_the_epochs(
    name: str, changed_before: bool
) -> None:
    """For a partition of the image, and for one that the delta has already changed."""
    change = m.PartitionChangeRecord(0, T1, **{name: CHANGED[name]})
    records = [m.PartitionChangeRecord(0, T1)] * changed_before + [change]
    image = after(WITH_TOPIC, *records)
    before, partition = (i.topics.by_name["t"].partitions[0] for i in (WITH_TOPIC, image))
    after_it = before._asdict() | {name: CHANGED[name], "partition_epoch": len(records)}
    assert partition._asdict() == after_it | {"leader_epoch": int(name == "leader")}
    assert set(CHANGED) == {*m.PartitionChangeRecord._fields[2:-1]}


def test_a_new_leader_raises_the_leader_epoch_even_if_it_is_the_old_one() -> None:
    image = after(WITH_TOPIC, m.PartitionChangeRecord(partition_id=0, topic_id=T1, leader=1))
    assert image.topics.by_id[T1].partitions[0].leader_epoch == 1


def test_replicas_that_no_directory_was_told_for_are_migrating() -> None:
    image = after(EMPTY, m.TopicRecord("t", T1), PARTITION._replace(directories=()))
    assert image.topics.by_id[T1].partitions[0].directories == (MIGRATING, MIGRATING)
    change = m.PartitionChangeRecord(partition_id=0, topic_id=T1, replicas=(1, 2, 3))
    assert after(image, change).topics.by_id[T1].partitions[0].directories == (MIGRATING,) * 3


@pytest.mark.parametrize("name", ["t", ""])
def test_clearing_the_elr_of_a_topic_or_of_all(name: str) -> None:
    image = after(WITH_TOPIC, m.ClearElrRecord(name))
    partition = image.topics.by_id[T1].partitions[0]
    assert partition.eligible_leader_replicas == ()
    assert partition.partition_epoch == 1
    assert image.topics.by_name["t"] is image.topics.by_id[T1]


def test_a_topic_made_again_under_another_id_keeps_its_name() -> None:
    image = after(WITH_TOPIC, m.RemoveTopicRecord(T1), m.TopicRecord("t", T2))
    assert image.topics.by_name == {"t": image.topics.by_id[T2]}
    assert set(image.topics.by_id) == {T2}


def test_an_unregistered_controller_is_gone() -> None:
    """In the same delta or a later one; an unknown controller changes nothing (Kafka 4.4.0)."""
    register, gone = m.RegisterControllerRecord(controller_id=77), m.UnregisterControllerRecord(77)
    image = after(EMPTY, register, m.RegisterControllerRecord(controller_id=1))
    for changed in (
        after(image, gone),
        after(after(EMPTY, gone), m.RegisterControllerRecord(controller_id=1), register, gone),
    ):
        assert set(changed.cluster.controllers) == {1}
    assert set(after(image, gone, register).cluster.controllers) == {1, 77}


def test_a_removed_topic_takes_its_configuration_with_it() -> None:
    config = m.ConfigRecord(TOPIC, "t", "retention.ms", "1")
    for image in (
        after(after(WITH_TOPIC, config), m.RemoveTopicRecord(T1)),
        after(WITH_TOPIC, config, m.RemoveTopicRecord(T1)),
    ):
        assert len(image.configs.resources) == 0
    again = after(WITH_TOPIC, config, m.RemoveTopicRecord(T1), m.TopicRecord("t", T2))
    assert again.configs.of(TOPIC, "t") == {}
    with_other = after(
        after(WITH_TOPIC, config),
        m.RemoveTopicRecord(T1),
        m.TopicRecord("t", T2),
        m.ConfigRecord(TOPIC, "t", "segment.ms", "2"),
    )
    assert with_other.configs.of(TOPIC, "t") == {"segment.ms": "2"}


def test_a_configuration_without_keys_is_no_configuration() -> None:
    image = after(
        EMPTY, m.ConfigRecord(BROKER, "", "a", "1"), m.ConfigRecord(BROKER, "1", "a", "1")
    )
    image = after(image, m.ConfigRecord(BROKER, "1", "a", None))
    assert set(image.configs.resources) == {ConfigResource(BROKER, "")}


def test_no_repr_shows_a_value_that_may_be_secret() -> None:
    image = after(
        EMPTY,
        m.ConfigRecord(BROKER, "1", "ssl.keystore.password", "hush"),
        m.UserScramCredentialRecord("u", 1, b"hush", b"hush", b"hush", 4096),
    )
    for shown in (image, image.configs, image.configs.of(BROKER, "1"), image.scram, *image):
        assert "hush" not in repr(shown)
    assert "hush" not in repr(image.scram.credential(ScramMechanism.SCRAM_SHA_256, "u"))


BROKER_RECORD = m.RegisterBrokerRecord(broker_id=1, broker_epoch=7, fenced=True)
WITH_BROKER = after(EMPTY, BROKER_RECORD)


@pytest.mark.parametrize(
    ("record", "fenced", "in_shutdown"),
    [
        (m.UnfenceBrokerRecord(1, 7), False, False),
        (m.BrokerRegistrationChangeRecord(1, 7, fenced=-1), False, False),
        (m.BrokerRegistrationChangeRecord(1, 7, in_controlled_shutdown=1), True, True),
    ],
)
def test_changes_of_a_registration(record: object, fenced: bool, in_shutdown: bool) -> None:
    broker = after(WITH_BROKER, record).cluster.brokers[1]
    assert (broker.fenced, broker.in_controlled_shutdown) == (fenced, in_shutdown)
    assert broker.epoch == 7


def test_listeners_are_a_map() -> None:
    ends = [BrokerEndpoint("B", "b", 2, 0), BrokerEndpoint("A", "a", 1, 0)]
    one = after(EMPTY, BROKER_RECORD._replace(end_points=tuple(ends)))
    other = after(EMPTY, BROKER_RECORD._replace(end_points=tuple(reversed(ends))))
    assert one == other


def test_a_brokers_directories_are_in_kafkas_order() -> None:
    """Kafka compares the halves of a Uuid as signed numbers."""
    ordered = tuple(
        Uuid(bytes.fromhex(text)) for text in ("80" * 16, "00" * 8 + "ff" * 8, "7f" * 16)
    )
    record = BROKER_RECORD._replace(log_dirs=ordered[::-1])
    changed = m.BrokerRegistrationChangeRecord(1, 7, log_dirs=(ordered[1], ordered[0]))
    assert after(EMPTY, record).cluster.brokers[1].directories == ordered
    assert after(EMPTY, record, changed).cluster.brokers[1].directories == ordered[:2]


def test_levels_of_features() -> None:
    image = after(
        EMPTY,
        m.FeatureLevelRecord("metadata.version", 30),
        m.FeatureLevelRecord("kraft.version", 1),
        m.FeatureLevelRecord("group.version", 1),
        m.FeatureLevelRecord("share.version", 1),
        m.FeatureLevelRecord("share.version", 0),
    )
    assert image.features.metadata_version_name == "4.3-IV0"
    assert image.features.finalized == {"group.version": 1}
    first, version = next(image.write())
    assert (first, version) == (m.FeatureLevelRecord("metadata.version", 30), 0)


def test_a_quota_of_the_default_entity_is_none_of_a_named_one() -> None:
    def quota(name: str | None, *, remove: bool = False) -> m.ClientQuotaRecord:
        return m.ClientQuotaRecord((EntityData("user", name),), "request_percentage", 5.0, remove)

    image = after(EMPTY, quota(None), quota(""), quota("a"))
    assert len(image.client_quotas.entities) == 3
    assert len(after(image, quota(None, remove=True)).client_quotas.entities) == 2
    assert after(EMPTY, *(message for message, _ in image.write())) == image


def test_a_removal_that_meets_an_empty_mechanism_loses_no_upsert() -> None:
    """Kafka 4.3.1 loses it."""
    image = after(
        EMPTY,
        m.RemoveUserScramCredentialRecord("gone", 1),
        m.UserScramCredentialRecord("kept", 1, b"s", b"k", b"v", 4096),
    )
    credential = image.scram.credential(ScramMechanism.SCRAM_SHA_256, "kept")
    assert credential == ScramCredential(b"s", b"k", b"v", 4096)
    assert after(image, m.RemoveUserScramCredentialRecord("kept", 1)).scram.mechanisms == {}


CONTRADICTIONS: list[tuple[MetadataImage, object]] = [
    (EMPTY, m.FenceBrokerRecord(1, 7)),
    (WITH_BROKER, m.FenceBrokerRecord(1, 8)),
    (WITH_BROKER, m.BrokerRegistrationChangeRecord(1, 7, fenced=5)),
    (EMPTY, PARTITION),
    (EMPTY, m.RemoveTopicRecord(T1)),
    (WITH_TOPIC, m.PartitionChangeRecord(partition_id=9, topic_id=T1)),
    (WITH_TOPIC, PARTITION._replace(directories=(DIR,))),
    (EMPTY, m.ClearElrRecord("t")),
    (EMPTY, m.UserScramCredentialRecord("u", 9, b"s", b"k", b"v", 4096)),
    (EMPTY, m.BeginTransactionRecord()),
]


@pytest.mark.parametrize(("image", "record"), CONTRADICTIONS)
def test_a_record_that_contradicts_the_state_is_refused_and_changes_nothing(
    image: MetadataImage, record: object
) -> None:
    delta = MetadataDelta(image)
    with pytest.raises(CorruptLog):
        delta.replay(record)
    assert delta.apply(image.provenance) == image


@pytest.mark.parametrize("level", [None, 1, 7, 8, 16, 17, 22, 23, 29, 30, 31])
@pytest.mark.parametrize("change", [lambda image: image, lambda image: after(image, PARTITION)])
def test_records_of_any_metadata_version_can_be_written_and_lose_nothing(
    level: int | None, change: Callable[[MetadataImage], MetadataImage]
) -> None:
    """Even if the version is too old for the image."""
    image = after(
        change(WITH_TOPIC),
        BROKER_RECORD._replace(
            in_controlled_shutdown=True, log_dirs=(DIR,), cordoned_log_dirs=(DIR,)
        ),
    )
    if level is not None:
        image = after(image, m.FeatureLevelRecord("metadata.version", level))
    for message, version in image.write():
        assert encode_value(message, version)
    assert after(EMPTY, *(message for message, _ in image.write())) == image


def test_an_image_cannot_be_changed_in_place() -> None:
    for part, field in (
        (WITH_TOPIC, "topics"),
        (WITH_TOPIC.topics, "by_id"),
        (WITH_TOPIC.acls, "by_id"),
    ):
        with pytest.raises(AttributeError):
            setattr(part, field, None)
    with pytest.raises(TypeError):
        WITH_TOPIC.topics.by_id[T1] = None  # type: ignore[index]
