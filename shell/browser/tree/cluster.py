"""``/image/cluster``: the registered brokers and controllers.

This module must not know how the tree is printed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from metalog.acl import java_order
from metalog.ids import uuid_text
from metalog.image.state.cluster import (
    BrokerRegistration,
    ClusterImage,
    ControllerRegistration,
    RegisteredListener,
    SupportedFeature,
)
from shell.browser.nodes import Directory, Leaf, fixed, listing
from shell.browser.tree.kafka import boolean, optional, uuids

_SECURITY_PROTOCOLS: Final = {0: "PLAINTEXT", 1: "SSL", 2: "SASL_PLAINTEXT", 3: "SASL_SSL"}
_HIGHEST_VERSION: Final = 2**15 - 1


def kafka_cluster(image: ClusterImage) -> Directory:
    return fixed(
        {
            "brokers": lambda: listing(
                lambda: {str(broker.id): broker for broker in image.brokers.values()}, _broker_leaf
            ),
            "controllers": lambda: listing(
                lambda: {str(each.id): each for each in image.controllers.values()},
                _controller_leaf,
            ),
        }
    )


def _broker_leaf(broker: BrokerRegistration) -> Leaf:
    cordoned = broker.cordoned_directories
    return Leaf(
        f"BrokerRegistration(id={broker.id}, epoch={broker.epoch}, "
        f"incarnationId={uuid_text(broker.incarnation_id)}, "
        f"listeners={_listeners(broker.listeners)}, "
        f"supportedFeatures={_features(broker.features)}, rack={optional(broker.rack)}, "
        f"fenced={boolean(broker.fenced)}, "
        f"inControlledShutdown={boolean(broker.in_controlled_shutdown)}, "
        f"isMigratingZkBroker={boolean(broker.is_migrating_zk_broker)}, "
        f"directories={uuids(broker.directories)}, "
        f"cordonedDirectories={'null' if cordoned is None else uuids(cordoned)})"
    )


def _controller_leaf(controller: ControllerRegistration) -> Leaf:
    return Leaf(
        f"ControllerRegistration(id={controller.id}, "
        f"incarnationId={uuid_text(controller.incarnation_id)}, "
        f"zkMigrationReady={boolean(controller.zk_migration_ready)}, "
        f"listeners={_listeners(controller.listeners)}, "
        f"supportedFeatures={_features(controller.features)})"
    )


def _listeners(listeners: Iterable[RegisteredListener]) -> str:
    ordered = sorted(listeners, key=lambda listener: java_order(listener.name))
    return f"[{', '.join(map(_listener, ordered))}]"


def _listener(listener: RegisteredListener) -> str:
    protocol = listener.security_protocol
    return (
        f"Endpoint(listenerName='{listener.name}', "
        f"securityProtocol={_SECURITY_PROTOCOLS.get(protocol, protocol)}, "
        f"host='{listener.host}', port={listener.port})"
    )


def _features(features: Iterable[SupportedFeature]) -> str:
    ordered = sorted(features, key=lambda feature: java_order(feature.name))
    return f"{{{', '.join(f'{feature.name}: {_range(feature)}' for feature in ordered)}}}"


def _range(feature: SupportedFeature) -> str:
    _, lowest, highest = feature
    if lowest == highest:
        return str(lowest)
    return f"{lowest}+" if highest == _HIGHEST_VERSION else f"{lowest}-{highest}"
