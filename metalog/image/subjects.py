"""``SUBJECTS`` lists each kind of state in a metadata image, and the records that change the state.

A record type is in ``SUBJECTS`` or in ``NOT_KEPT``, or it begins or ends a transaction. Kafka's
snapshots have their records in the order of ``SUBJECTS``.

This module must not know what any subject holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple, Protocol

from metalog.image.state import (
    acls,
    client_quotas,
    cluster,
    configs,
    delegation_tokens,
    features,
    producer_ids,
    scram,
    topics,
)
from metalog.records import messages as m
from metalog.records.fast_decode.acl_fast_decode import AclRun
from metalog.records.fast_decode.partition_fast_decode import PartitionChangeRun


class SubjectImage(Protocol):
    """One subject's state at one offset, immutable."""

    def write(self, metadata_version: int) -> Iterator[tuple[Any, int]]:
        """The records of a snapshot with their versions, which depend on ``metadata_version``."""


class SubjectDelta(Protocol):
    """Changes to one subject's image, or a whole snapshot that replaces the image."""

    @property
    def doubtful(self) -> int:
        """How many applied records are doubtful (``RecordDoubt``)."""

    def finish_snapshot(self) -> None:
        """End a replacement: remove the entries of the old image that the snapshot lacks."""

    def apply(self) -> SubjectImage:
        """The image after the changes. A caller may add more changes and call ``apply`` again."""


class ImageSubject(NamedTuple):
    """One kind of state.

    ``name`` is a field of ``MetadataImage`` and of ``MetadataDelta``. ``kafka_name`` is the
    directory in Kafka's metadata shell. ``records`` maps the type of a record or run to the method
    of ``delta`` that applies it. With ``concerns_authorization``, a strict loader stops at faulty
    records of the subject.
    """

    name: str
    kafka_name: str
    empty: SubjectImage
    delta: Callable[..., SubjectDelta]
    records: Mapping[type, Callable[[Any, Any], object]]
    concerns_authorization: bool = False


SUBJECTS: Final = (
    ImageSubject(
        "features",
        "features",
        features.EMPTY,
        features.FeaturesDelta,
        {m.FeatureLevelRecord: features.FeaturesDelta.set_level},
    ),
    ImageSubject(
        "cluster",
        "cluster",
        cluster.EMPTY,
        cluster.ClusterDelta,
        {
            m.RegisterBrokerRecord: cluster.ClusterDelta.register_broker,
            m.UnregisterBrokerRecord: cluster.ClusterDelta.unregister_broker,
            m.FenceBrokerRecord: cluster.ClusterDelta.fence_broker,
            m.UnfenceBrokerRecord: cluster.ClusterDelta.unfence_broker,
            m.BrokerRegistrationChangeRecord: cluster.ClusterDelta.change_broker,
            m.RegisterControllerRecord: cluster.ClusterDelta.register_controller,
            m.UnregisterControllerRecord: cluster.ClusterDelta.unregister_controller,
        },
    ),
    ImageSubject(
        "topics",
        "topics",
        topics.EMPTY,
        topics.TopicsDelta,
        {
            m.TopicRecord: topics.TopicsDelta.add,
            m.RemoveTopicRecord: topics.TopicsDelta.remove,
            m.PartitionRecord: topics.TopicsDelta.set_partition,
            m.PartitionChangeRecord: topics.TopicsDelta.change_partition,
            PartitionChangeRun: topics.TopicsDelta.change_run,
            m.ClearElrRecord: topics.TopicsDelta.clear_elr,
        },
    ),
    ImageSubject(
        "configs",
        "configs",
        configs.EMPTY,
        configs.ConfigsDelta,
        {m.ConfigRecord: configs.ConfigsDelta.change},
    ),
    ImageSubject(
        "client_quotas",
        "clientQuotas",
        client_quotas.EMPTY,
        client_quotas.ClientQuotasDelta,
        {m.ClientQuotaRecord: client_quotas.ClientQuotasDelta.change},
    ),
    ImageSubject(
        "producer_ids",
        "producerIds",
        producer_ids.EMPTY,
        producer_ids.ProducerIdsDelta,
        {m.ProducerIdsRecord: producer_ids.ProducerIdsDelta.set_next},
    ),
    ImageSubject(
        "acls",
        "acls",
        acls.EMPTY,
        acls.AclsDelta,
        {
            AclRun: acls.AclsDelta.add_run,
            m.AccessControlEntryRecord: acls.AclsDelta.add,
            m.RemoveAccessControlEntryRecord: acls.AclsDelta.remove,
        },
        concerns_authorization=True,
    ),
    ImageSubject(
        "scram",
        "scram",
        scram.EMPTY,
        scram.ScramDelta,
        {
            m.UserScramCredentialRecord: scram.ScramDelta.upsert,
            m.RemoveUserScramCredentialRecord: scram.ScramDelta.remove,
        },
        concerns_authorization=True,
    ),
    ImageSubject(
        "delegation_tokens",
        "delegationToken",
        delegation_tokens.EMPTY,
        delegation_tokens.DelegationTokensDelta,
        {
            m.DelegationTokenRecord: delegation_tokens.DelegationTokensDelta.upsert,
            m.RemoveDelegationTokenRecord: delegation_tokens.DelegationTokensDelta.remove,
        },
        concerns_authorization=True,
    ),
)

NOT_KEPT: Final = (m.NoOpRecord, m.ZkMigrationStateRecord)
"""Records that change no state, as in Kafka 4."""
