"""One of several nodes whose log is a Kafka topic: follows the log, and becomes active if elected.

The active node writes its address to the log as a RegisterControllerRecord. The other nodes read
this address and forward changes to the active node. Kafka elects the active node
(``metalog.log.topic.election``). This module must not know requests.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final

from metalog.hosts.host_port import Address
from metalog.ids import random_uuid
from metalog.image.delta import MetadataDelta
from metalog.image.manifest import Leader, Manifest
from metalog.image.metadata import MetadataImage
from metalog.log.topic.election import TopicCandidacy
from metalog.log.topic.reader import TopicLog
from metalog.log.topic.writer import ensure_topic
from metalog.ports import Publisher
from metalog.records.message import Message
from metalog.records.messages import ControllerEndpoint, RegisterControllerRecord
from metalog.replica.replica import Replica
from metalog_node.config.listeners import Listener, SecurityProtocol
from metalog_node.config.topic_keys import TopicLocation

_PROTOCOL_IDS: Final = {
    SecurityProtocol.PLAINTEXT: 0,
    SecurityProtocol.SSL: 1,
    SecurityProtocol.SASL_PLAINTEXT: 2,
    SecurityProtocol.SASL_SSL: 3,
}


class ActiveController:
    """A publisher that finds the active node's address in the newest image."""

    def __init__(self, listener: str) -> None:
        self._listener = listener
        self._leader = Leader(-1, -1)
        self._image = MetadataImage().cluster

    def publish(self, delta: MetadataDelta, image: MetadataImage, manifest: Manifest) -> None:
        self._leader, self._image = manifest.leader, image.cluster

    def addresses(self) -> Sequence[Address]:
        """The active node's address, or no address."""
        registered = self._image.controllers.get(self._leader.id)
        if registered is None:
            return ()
        return [
            Address(listener.host, listener.port)
            for listener in registered.listeners
            if listener.name == self._listener
        ]


class TopicNode:
    """The node ``node_id`` of the topic at ``location``. ``listener`` names the controllers'
    listener that gets forwarded changes. ``kafka`` is the Kafka version to imitate."""

    def __init__(
        self, location: TopicLocation, node_id: int, listener: str, kafka: str | None
    ) -> None:
        self._kafka = kafka
        self._location = location
        self._node_id = node_id
        self._log = TopicLog(
            location.address, location.settings, snapshots=location.snapshots, is_for_state=True
        )
        self.active = ActiveController(listener)
        self.cluster_id = ""
        """The id of the topic's cluster; empty until the cluster has answered."""

    def follower(self, publishers: Iterable[Publisher]) -> Replica:
        return Replica(
            self._log,
            [*publishers, self.active],
            prepare=self._open,
            is_patient=True,
            kafka=self._kafka,
        )

    def candidate(
        self,
        publishers: Iterable[Publisher],
        listeners: Sequence[Listener],
        advertised: Mapping[str, Address],
    ) -> Replica:
        """A replica that can be elected. When elected, the replica writes the ``advertised``
        addresses of this node's controller listeners to the log."""
        record = _registration(self._node_id, listeners, advertised)
        first_records: Callable[[], Sequence[tuple[Message, int]]] = partial(list, [(record, 0)])
        candidacy = TopicCandidacy(
            self._log, self._node_id, first_records, snapshots=self._location.snapshots
        )
        return Replica(
            self._log,
            [*publishers, self.active],
            candidacy=candidacy,
            prepare=self._make_and_open,
            is_patient=True,
            kafka=self._kafka,
        )

    def close(self) -> None:
        """Close the connection to the topic. The replica must be closed already."""
        self._log.close()

    def _make_and_open(self) -> None:
        ensure_topic(self._log.cluster)
        self._open()

    def _open(self) -> None:
        self._log.check()
        self.cluster_id = self._log.cluster.id()


def _registration(
    node_id: int, listeners: Sequence[Listener], advertised: Mapping[str, Address]
) -> RegisterControllerRecord:
    return RegisterControllerRecord(
        controller_id=node_id,
        incarnation_id=random_uuid(os.urandom),
        end_points=tuple(
            ControllerEndpoint(
                name=listener.name,
                host=advertised[listener.name].host,
                port=advertised[listener.name].port,
                security_protocol=_PROTOCOL_IDS[listener.protocol],
            )
            for listener in listeners
            if listener.is_for_controllers
        ),
    )
