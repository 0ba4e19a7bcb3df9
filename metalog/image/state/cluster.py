"""The registered brokers and controllers of a cluster.

A registration holds the node's latest registration record and all later changes.

This module must not know partitions, nor what a listener's security protocol means.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from struct import Struct
from typing import Final, NamedTuple

from metalog.errors import CorruptLog
from metalog.ids import ZERO_UUID, Uuid
from metalog.image.state.features import record_version
from metalog.image.state.never_doubtful import NeverDoubtful
from metalog.image.table import EMPTY as EMPTY_TABLE
from metalog.image.table import Table
from metalog.records.messages import (
    BrokerEndpoint,
    BrokerFeature,
    BrokerRegistrationChangeRecord,
    ControllerEndpoint,
    ControllerFeature,
    FenceBrokerRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
    UnregisterControllerRecord,
)

_BROKER_VERSIONS: Final = {7: 1, 8: 2, 17: 3, 30: 4}
"""metadata.version -> version of RegisterBrokerRecord (Kafka 4.3's MetadataVersion)."""

_SIGNED_HALVES: Final = Struct(">qq")
_YES_NO_OR_UNCHANGED: Final[dict[int, bool | None]] = {-1: False, 0: None, 1: True}


class RegisteredListener(NamedTuple):
    """One listener of a node; ``security_protocol`` is Kafka's id (0 PLAINTEXT … 3 SASL_SSL)."""

    name: str
    host: str
    port: int
    security_protocol: int


class SupportedFeature(NamedTuple):
    name: str
    min_version: int
    max_version: int


class BrokerRegistration(NamedTuple):
    """The registration of one broker.

    ``cordoned_directories`` is None for a broker older than Kafka 4.3, which does not report them.
    ``ClusterDelta`` sorts listeners and features by name, which Kafka does not, and directories as
    Kafka does.
    """

    id: int
    epoch: int
    incarnation_id: Uuid = ZERO_UUID
    listeners: tuple[RegisteredListener, ...] = ()
    features: tuple[SupportedFeature, ...] = ()
    rack: str | None = None
    fenced: bool = True
    in_controlled_shutdown: bool = False
    is_migrating_zk_broker: bool = False
    directories: tuple[Uuid, ...] = ()
    cordoned_directories: tuple[Uuid, ...] | None = None


class ControllerRegistration(NamedTuple):
    id: int
    incarnation_id: Uuid = ZERO_UUID
    zk_migration_ready: bool = False
    listeners: tuple[RegisteredListener, ...] = ()
    features: tuple[SupportedFeature, ...] = ()


class ClusterImage(NamedTuple):
    brokers: Table[int, BrokerRegistration] = EMPTY_TABLE
    controllers: Table[int, ControllerRegistration] = EMPTY_TABLE

    def write(
        self, metadata_version: int
    ) -> Iterator[tuple[RegisterBrokerRecord | RegisterControllerRecord, int]]:
        for _, broker in sorted(self.brokers.items()):
            yield _broker_record(broker), _broker_version(broker, metadata_version)
        for _, controller in sorted(self.controllers.items()):
            yield _controller_record(controller), 0


EMPTY: Final = ClusterImage()


class ClusterDelta(NeverDoubtful):
    """Changes to a ``ClusterImage``; ``brokers`` and ``controllers`` have None for a removal."""

    __slots__ = ("brokers", "controllers", "image", "is_replacement")

    def __init__(self, image: ClusterImage, *, is_replacement: bool = False) -> None:
        self.image = image
        self.is_replacement = is_replacement
        self.brokers: dict[int, BrokerRegistration | None] = {}
        self.controllers: dict[int, ControllerRegistration | None] = {}

    def register_broker(self, record: RegisterBrokerRecord) -> None:
        self.brokers[record.broker_id] = BrokerRegistration(
            id=record.broker_id,
            epoch=record.broker_epoch,
            incarnation_id=record.incarnation_id,
            listeners=_listeners(record.end_points),
            features=_features(record.features),
            rack=record.rack,
            fenced=record.fenced,
            in_controlled_shutdown=record.in_controlled_shutdown,
            is_migrating_zk_broker=record.is_migrating_zk_broker,
            directories=_directories(record.log_dirs),
            cordoned_directories=(
                None if record.cordoned_log_dirs is None else tuple(record.cordoned_log_dirs)
            ),
        )

    def unregister_broker(self, record: UnregisterBrokerRecord) -> None:
        self.brokers[record.broker_id] = None

    def register_controller(self, record: RegisterControllerRecord) -> None:
        self.controllers[record.controller_id] = ControllerRegistration(
            id=record.controller_id,
            incarnation_id=record.incarnation_id,
            zk_migration_ready=record.zk_migration_ready,
            listeners=_listeners(record.end_points),
            features=_features(record.features),
        )

    def unregister_controller(self, record: UnregisterControllerRecord) -> None:
        """Remove the controller; as in Kafka, an unknown id changes nothing."""
        self.controllers[record.controller_id] = None

    def fence_broker(self, record: FenceBrokerRecord) -> None:
        broker = self._registered(record.id, record.epoch)
        self.brokers[record.id] = broker._replace(fenced=True)

    def unfence_broker(self, record: UnfenceBrokerRecord) -> None:
        broker = self._registered(record.id, record.epoch)
        self.brokers[record.id] = broker._replace(fenced=False)

    def change_broker(self, record: BrokerRegistrationChangeRecord) -> None:
        broker = self._registered(record.broker_id, record.broker_epoch)
        fenced = _change_of("fenced", record.fenced)
        shutdown = _change_of("inControlledShutdown", record.in_controlled_shutdown)
        if fenced is not None:
            broker = broker._replace(fenced=fenced)
        if shutdown is not None:
            broker = broker._replace(in_controlled_shutdown=shutdown)
        if record.log_dirs:
            broker = broker._replace(directories=_directories(record.log_dirs))
        if record.cordoned_log_dirs is not None:
            broker = broker._replace(cordoned_directories=tuple(record.cordoned_log_dirs))
        self.brokers[record.broker_id] = broker

    def apply(self) -> ClusterImage:
        base = EMPTY if self.is_replacement else self.image
        return ClusterImage(
            base.brokers.changed(self.brokers), base.controllers.changed(self.controllers)
        )

    def _registered(self, id: int, epoch: int) -> BrokerRegistration:
        before = None if self.is_replacement else self.image.brokers.get(id)
        broker = self.brokers.get(id, before)
        if broker is None:
            raise CorruptLog(f"changes broker {id}, which is not registered")
        if broker.epoch != epoch:
            raise CorruptLog(f"has epoch {epoch} for broker {id}, whose epoch is {broker.epoch}")
        return broker


def _listeners(
    end_points: Iterable[BrokerEndpoint | ControllerEndpoint],
) -> tuple[RegisteredListener, ...]:
    by_name = {
        end_point.name: RegisteredListener(
            end_point.name, end_point.host, end_point.port, end_point.security_protocol
        )
        for end_point in end_points
    }
    return tuple(by_name[name] for name in sorted(by_name))


def _directories(ids: Iterable[Uuid]) -> tuple[Uuid, ...]:
    """Sorted as by Kafka's ``Uuid.compareTo``: by two signed numbers of 64 bits."""
    return tuple(sorted(ids, key=_SIGNED_HALVES.unpack))


def _features(
    features: Iterable[BrokerFeature | ControllerFeature],
) -> tuple[SupportedFeature, ...]:
    by_name = {
        feature.name: SupportedFeature(
            feature.name, feature.min_supported_version, feature.max_supported_version
        )
        for feature in features
    }
    return tuple(by_name[name] for name in sorted(by_name))


def _change_of(field: str, value: int) -> bool | None:
    if value not in _YES_NO_OR_UNCHANGED:
        raise CorruptLog(f"has {field} {value}, which is not -1, 0 or 1")
    return _YES_NO_OR_UNCHANGED[value]


def _broker_version(broker: BrokerRegistration, metadata_version: int) -> int:
    """The record version for ``metadata_version``, or a higher version that ``broker`` needs."""
    needed = 0
    if broker.in_controlled_shutdown:
        needed = 1
    if broker.is_migrating_zk_broker:
        needed = 2
    if broker.directories:
        needed = 3
    if broker.cordoned_directories is not None:
        needed = 4
    return max(needed, record_version(metadata_version, _BROKER_VERSIONS))


def _broker_record(broker: BrokerRegistration) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=broker.id,
        is_migrating_zk_broker=broker.is_migrating_zk_broker,
        incarnation_id=broker.incarnation_id,
        broker_epoch=broker.epoch,
        end_points=tuple(BrokerEndpoint(*listener) for listener in broker.listeners),
        features=tuple(BrokerFeature(*feature) for feature in broker.features),
        rack=broker.rack,
        fenced=broker.fenced,
        in_controlled_shutdown=broker.in_controlled_shutdown,
        log_dirs=broker.directories,
        cordoned_log_dirs=broker.cordoned_directories,
    )


def _controller_record(controller: ControllerRegistration) -> RegisterControllerRecord:
    return RegisterControllerRecord(
        controller_id=controller.id,
        incarnation_id=controller.incarnation_id,
        zk_migration_ready=controller.zk_migration_ready,
        end_points=tuple(ControllerEndpoint(*listener) for listener in controller.listeners),
        features=tuple(ControllerFeature(*feature) for feature in controller.features),
    )
