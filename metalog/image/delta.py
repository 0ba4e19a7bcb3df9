"""Collects changes to an image: one delta for each subject of ``SUBJECTS``.

A delta applies records in order and then makes a new image; the old image stays unchanged. This
module must not know transactions, nor which records are committed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MethodType
from typing import Any, Final

from metalog.errors import CorruptLog, UnreadableRecord
from metalog.image.manifest import Provenance
from metalog.image.metadata import EMPTY, MetadataImage
from metalog.image.state.acls import AclsDelta
from metalog.image.state.client_quotas import ClientQuotasDelta
from metalog.image.state.cluster import ClusterDelta
from metalog.image.state.configs import ConfigsDelta
from metalog.image.state.delegation_tokens import DelegationTokensDelta
from metalog.image.state.features import FeaturesDelta
from metalog.image.state.never_doubtful import NeverDoubtful
from metalog.image.state.producer_ids import ProducerIdsDelta
from metalog.image.state.scram import ScramDelta
from metalog.image.state.topics import PARTITION_RECORDS, StoppedRun, TopicsDelta
from metalog.image.subjects import NOT_KEPT, SUBJECTS, ImageSubject, SubjectDelta
from metalog.image.unread_subject import UnreadSubject
from metalog.records import messages as m
from metalog.records.fast_decode.acl_fast_decode import messages_of
from metalog.records.fast_decode.partition_fast_decode import PartitionChangeRun
from metalog.records.frame import Undecodable
from metalog.records.unread import UnreadRecord, UnreadRun

Refuse = Callable[[int, Any, CorruptLog], None]
"""``refuse(offset, record, fault)`` handles a record that is unreadable or contradicts the state.
If ``refuse`` returns, replay skips the record."""


def stop_at(offset: int, message: Any, fault: CorruptLog) -> None:
    raise fault.located(offset=offset) from None


class MetadataDelta:
    """Changes to ``image``, or (``is_replacement``) a whole snapshot that replaces ``image``.

    The delta of a subject (``acls``, ``scram``, …) is None until a record of the subject is
    replayed. In a replacement, only unread subjects have no delta.
    """

    __slots__ = (
        "_changes",
        "_can_be_doubtful",
        "image",
        "is_replacement",
        *(subject.name for subject in SUBJECTS),
    )

    features: FeaturesDelta | None
    cluster: ClusterDelta | None
    topics: TopicsDelta | None
    configs: ConfigsDelta | None
    client_quotas: ClientQuotasDelta | None
    producer_ids: ProducerIdsDelta | None
    acls: AclsDelta | None
    scram: ScramDelta | None
    delegation_tokens: DelegationTokensDelta | None

    def __init__(self, image: MetadataImage, *, is_replacement: bool = False) -> None:
        self.image = image
        self.is_replacement = is_replacement
        self._changes: dict[type, Callable[[Any], object]] = {}
        self._can_be_doubtful: list[SubjectDelta] = []
        for subject in SUBJECTS:
            setattr(self, subject.name, None)
            if is_replacement and self._reads(subject):
                self.opened(subject)

    @classmethod
    def of_whole(cls, image: MetadataImage) -> MetadataDelta:
        """The whole ``image`` as one delta, for a publisher that missed earlier deltas."""
        delta = cls(EMPTY, is_replacement=True)
        others = image._replace(acls=EMPTY.acls)
        delta.replay_all(enumerate(message for message, _ in others.write()))
        delta.replay(image.acls.as_run())
        return delta

    @property
    def doubtful(self) -> int:
        """How many applied records are doubtful (``RecordDoubt``)."""
        count = 0
        for delta in self._can_be_doubtful:
            count += delta.doubtful
        return count

    def replay(self, message: Any) -> None:
        """Apply one record; ``CorruptLog`` if it is unreadable or contradicts the state."""
        self.replay_all([(0, message)], refuse=_raise)

    def replay_all(self, records: Iterable[tuple[int, Any]], refuse: Refuse = stop_at) -> None:
        """Apply (offset, record) pairs in order. A run of records has its first record's offset."""
        changes = self._changes
        for offset, message in records:
            try:
                change = changes.get(type(message))
                if change is None:
                    _CHANGES.get(type(message), _unknown)(self, message)
                else:
                    change(message)
            except StoppedRun as stop:
                rest = enumerate(messages_of([message])[stop.at :], offset + stop.at)
                self.replay_all(rest, refuse)
            except UnreadableRecord as fault:
                refuse(offset, message, fault)
            except CorruptLog as fault:
                problem = f"{message.TYPE_NAME} {fault.problem}"
                refuse(offset, message, CorruptLog(problem, advice=fault.advice))

    def finish_snapshot(self) -> None:
        """End a replacement: remove the entries of the old image that the snapshot lacks."""
        if self.is_replacement:
            for _, delta in self._opened_deltas():
                delta.finish_snapshot()

    def apply(self, provenance: Provenance) -> MetadataImage:
        """The image after the changes. A caller may replay more and then call ``apply`` again."""
        changed = {name: delta.apply() for name, delta in self._opened_deltas()}
        return self.image._replace(provenance=provenance, **changed)  # type: ignore[arg-type]

    def opened(self, subject: ImageSubject) -> Any:
        """The delta of ``subject``, created at first use."""
        delta = getattr(self, subject.name)
        if delta is None:
            before = getattr(self.image, subject.name)
            delta = subject.delta(before, is_replacement=self.is_replacement)
            setattr(self, subject.name, delta)
            if not isinstance(delta, NeverDoubtful):
                self._can_be_doubtful.append(delta)
        return delta

    def _reads(self, subject: ImageSubject) -> bool:
        return type(getattr(self.image, subject.name)) is not UnreadSubject

    def _opened_deltas(self) -> Iterator[tuple[str, SubjectDelta]]:
        for subject in SUBJECTS:
            if (delta := getattr(self, subject.name)) is not None:
                yield subject.name, delta


_Change = Callable[[MetadataDelta, Any], None]


def _applied_by(subject: ImageSubject, method: Callable[[Any, Any], object]) -> _Change:
    """A function that applies the first record of a type; later records go to ``method`` directly.

    The function ignores records of unread subjects: ``records.unread`` does not skip all of them.
    """

    def replay(delta: MetadataDelta, message: Any) -> None:
        kind = type(message)
        if not delta._reads(subject):
            return
        if kind in _OF_PARTITIONS and not delta.image.topics.reads_partitions:
            return
        change = delta._changes[kind] = MethodType(method, delta.opened(subject))
        change(message)

    return replay


def _remove_topic(delta: MetadataDelta, record: m.RemoveTopicRecord) -> None:
    """Remove a topic and its configuration. No other record changes two subjects."""
    if not delta._reads(_TOPICS):
        return
    name = delta.opened(_TOPICS).remove(record)
    if delta._reads(_CONFIGS):
        delta.opened(_CONFIGS).remove_topic(name)


def _ignore(delta: MetadataDelta, message: Any) -> None:
    """Ignore an unread record, or a record of ``NOT_KEPT``."""


def _unreadable(delta: MetadataDelta, message: Undecodable) -> None:
    raise UnreadableRecord(message.reason)


def _unknown(delta: MetadataDelta, message: Any) -> None:
    raise CorruptLog("is not a change of the cluster's state")


def _raise(offset: int, message: Any, fault: CorruptLog) -> None:
    raise fault


_OF_PARTITIONS: Final = frozenset((*PARTITION_RECORDS, PartitionChangeRun))
_TOPICS, _CONFIGS = (each for each in SUBJECTS if each.name in {"topics", "configs"})

_CHANGES: Final[Mapping[type, _Change]] = {
    **{
        record: _applied_by(subject, method)
        for subject in SUBJECTS
        for record, method in subject.records.items()
    },
    **dict.fromkeys((*NOT_KEPT, UnreadRun, UnreadRecord), _ignore),
    m.RemoveTopicRecord: _remove_topic,
    Undecodable: _unreadable,
}
