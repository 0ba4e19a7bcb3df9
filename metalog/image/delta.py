"""What records change in an image: one delta a subject, one dispatch line a record type.

A delta takes records one after another and then gives the image after them. It never
touches the image that it started from, and it does not know offsets, transactions or
what is committed: the loader does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from metalog.errors import CorruptLog, UnreadableRecord
from metalog.image.acls import AclsDelta
from metalog.image.client_quotas import ClientQuotasDelta
from metalog.image.cluster import ClusterDelta
from metalog.image.configs import ConfigsDelta
from metalog.image.delegation_tokens import DelegationTokensDelta
from metalog.image.features import FeaturesDelta
from metalog.image.manifest import Provenance
from metalog.image.metadata import EMPTY, MetadataImage
from metalog.image.producer_ids import ProducerIdsDelta
from metalog.image.scram import ScramDelta
from metalog.image.topics import TopicsDelta
from metalog.records import messages as m
from metalog.records.bulk import AclRun
from metalog.records.frame import Undecodable

Refused = Callable[[int, Any, CorruptLog], None]
"""Told of a record that contradicts the state, with its offset; may raise or let it pass."""


def stop_at(offset: int, message: Any, fault: CorruptLog) -> None:
    """Refuse a record that contradicts the state."""
    raise fault.located(offset=offset) from None


class MetadataDelta:
    """Changes to ``image``; a replacement holds a whole snapshot instead.

    A subject's delta (``acls``, ``scram``, …) is None while nothing concerned it, and
    never None in a replacement.
    """

    __slots__ = (
        "acls",
        "client_quotas",
        "cluster",
        "configs",
        "delegation_tokens",
        "features",
        "image",
        "is_replacement",
        "producer_ids",
        "scram",
        "topics",
    )

    def __init__(self, image: MetadataImage, *, is_replacement: bool = False) -> None:
        self.image = image
        self.is_replacement = is_replacement
        self.features: FeaturesDelta | None = None
        self.cluster: ClusterDelta | None = None
        self.topics: TopicsDelta | None = None
        self.configs: ConfigsDelta | None = None
        self.client_quotas: ClientQuotasDelta | None = None
        self.producer_ids: ProducerIdsDelta | None = None
        self.acls: AclsDelta | None = None
        self.scram: ScramDelta | None = None
        self.delegation_tokens: DelegationTokensDelta | None = None
        if is_replacement:
            for subject in _SUBJECTS:
                self.opened(subject)

    @classmethod
    def of_whole(cls, image: MetadataImage) -> MetadataDelta:
        """All of ``image`` as a replacement, for who has missed what led to it."""
        delta = cls(EMPTY, is_replacement=True)
        others = image._replace(acls=EMPTY.acls)
        delta.replay_all(enumerate(message for message, _ in others.write()))
        delta.replay(image.acls.as_run())
        return delta

    @property
    def doubtful(self) -> int:
        """How many of the records so far may not mean what they seem to."""
        acls = 0 if self.acls is None else self.acls.doubtful
        return acls if self.scram is None else acls + self.scram.doubtful

    def replay(self, message: Any) -> None:
        """Apply one metadata record; ``CorruptLog`` if it contradicts the state."""
        self.replay_all([(0, message)], refused=_pass_on)

    def replay_all(self, records: Iterable[tuple[int, Any]], refused: Refused = stop_at) -> None:
        """Apply (offset, metadata record or run of ACLs) pairs in their order.

        Where ``refused`` returns, the record has changed nothing and the next follows.
        """
        for offset, message in records:
            try:
                _CHANGES.get(type(message), _unknown)(self, message)
            except UnreadableRecord as fault:
                refused(offset, message, fault)
            except CorruptLog as fault:
                refused(offset, message, CorruptLog(f"{message.TYPE_NAME} {fault.problem}"))

    def finish_snapshot(self) -> None:
        """All of a replacement was replayed: what it lacks is gone."""
        if self.is_replacement:
            self.opened("acls").finish_snapshot()
            self.opened("scram").finish_snapshot()

    def apply(self, provenance: Provenance) -> MetadataImage:
        """The image after the changes; may be asked for again after more of them."""
        changed = {
            subject: delta.apply()
            for subject in _SUBJECTS
            if (delta := getattr(self, subject)) is not None
        }
        return self.image._replace(provenance=provenance, **changed)

    def opened(self, subject: str) -> Any:
        """The delta of ``subject`` (a field of the image), made if there was none."""
        delta = getattr(self, subject)
        if delta is None:
            before = getattr(self.image, subject)
            delta = _SUBJECTS[subject](before, is_replacement=self.is_replacement)
            setattr(self, subject, delta)
        return delta


def _in(subject: str, change: Callable[[Any, Any], object]) -> Callable[[MetadataDelta, Any], None]:
    def replay(delta: MetadataDelta, message: Any) -> None:
        change(delta.opened(subject), message)

    return replay


def _remove_topic(delta: MetadataDelta, record: m.RemoveTopicRecord) -> None:
    name = delta.opened("topics").remove(record)
    delta.opened("configs").remove_topic(name)


def _nothing(delta: MetadataDelta, message: Any) -> None:
    """Records that say nothing of the state, or nothing any more (Kafka 4 ignores them too)."""


def _unreadable(delta: MetadataDelta, message: Undecodable) -> None:
    raise UnreadableRecord(message.reason)


def _unknown(delta: MetadataDelta, message: Any) -> None:
    raise CorruptLog("is no change of the cluster's state")


def _pass_on(offset: int, message: Any, fault: CorruptLog) -> None:
    raise fault


_SUBJECTS: Final[Mapping[str, Callable[..., Any]]] = {
    "features": FeaturesDelta,
    "cluster": ClusterDelta,
    "topics": TopicsDelta,
    "configs": ConfigsDelta,
    "client_quotas": ClientQuotasDelta,
    "producer_ids": ProducerIdsDelta,
    "acls": AclsDelta,
    "scram": ScramDelta,
    "delegation_tokens": DelegationTokensDelta,
}

_CHANGES: Final[Mapping[type, Callable[[MetadataDelta, Any], None]]] = {
    m.RegisterBrokerRecord: _in("cluster", ClusterDelta.register_broker),
    m.UnregisterBrokerRecord: _in("cluster", ClusterDelta.unregister_broker),
    m.TopicRecord: _in("topics", TopicsDelta.add),
    m.PartitionRecord: _in("topics", TopicsDelta.set_partition),
    m.ConfigRecord: _in("configs", ConfigsDelta.change),
    m.PartitionChangeRecord: _in("topics", TopicsDelta.change_partition),
    m.FenceBrokerRecord: _in("cluster", ClusterDelta.fence_broker),
    m.UnfenceBrokerRecord: _in("cluster", ClusterDelta.unfence_broker),
    m.RemoveTopicRecord: _remove_topic,
    m.DelegationTokenRecord: _in("delegation_tokens", DelegationTokensDelta.upsert),
    m.UserScramCredentialRecord: _in("scram", ScramDelta.upsert),
    m.FeatureLevelRecord: _in("features", FeaturesDelta.set_level),
    m.ClientQuotaRecord: _in("client_quotas", ClientQuotasDelta.change),
    m.ProducerIdsRecord: _in("producer_ids", ProducerIdsDelta.set_next),
    m.BrokerRegistrationChangeRecord: _in("cluster", ClusterDelta.change_broker),
    AclRun: _in("acls", AclsDelta.add_run),
    m.AccessControlEntryRecord: _in("acls", AclsDelta.add),
    m.RemoveAccessControlEntryRecord: _in("acls", AclsDelta.remove),
    m.NoOpRecord: _nothing,
    m.ZkMigrationStateRecord: _nothing,
    m.RemoveUserScramCredentialRecord: _in("scram", ScramDelta.remove),
    m.RemoveDelegationTokenRecord: _in("delegation_tokens", DelegationTokensDelta.remove),
    m.RegisterControllerRecord: _in("cluster", ClusterDelta.register_controller),
    m.ClearElrRecord: _in("topics", TopicsDelta.clear_elr),
    Undecodable: _unreadable,
}
