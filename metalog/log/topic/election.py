"""Elects the node that writes the log in a topic.

The writer is the node that owns the topic's partition in the consumer group ``TOPIC-controllers``.
Kafka assigns the partition, and detects the loss of its owner. The nodes' consumers read nothing
and commit no offset. Only the owner may claim the log. This module must not know what is written.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final

from metalog.kafka_client import one_line
from metalog.log.topic.reader import TopicLog
from metalog.log.topic.writer import WritableTopicLog
from metalog.records.message import Message

_log = logging.getLogger(__name__)

GROUP_SUFFIX: Final = "-controllers"
SESSION_TIMEOUT_MS: Final = 6_000
"""After this time without a heartbeat, the owner's partition goes to another node. By default,
brokers accept no shorter time (``group.min.session.timeout.ms``)."""
HEARTBEAT_MS: Final = 500
"""The response to a heartbeat announces that another node has left."""
ASIDE_S: Final = 1.0
"""Seconds in which a node that resigned does not take part in elections."""
_POLL_S: Final = 0.1


class TopicCandidacy:
    """The node ``node_id`` stands for election as the writer of ``log`` (see ``ports.Candidacy``).
    ``snapshots`` is the log's folder of snapshots."""

    def __init__(
        self,
        log: TopicLog,
        node_id: int,
        first_records: Callable[[], Sequence[tuple[Message, int]]],
        *,
        snapshots: Path | None = None,
    ) -> None:
        self._followed = log
        self._node_id = node_id
        self._snapshots = snapshots
        self.first_records = first_records
        self._dismissed: Callable[[], None] = lambda: None
        self._is_elected = Event()
        self._is_resigning = Event()
        self._is_closing = Event()
        self._thread = Thread(target=self._run, name="metalog-election", daemon=True)

    @property
    def is_elected(self) -> bool:
        return self._is_elected.is_set() and not self._is_resigning.is_set()

    def stand(self, dismissed: Callable[[], None]) -> None:
        self._dismissed = dismissed
        self._thread.start()

    def writer(self) -> WritableTopicLog:
        self._followed.close()
        return WritableTopicLog(
            self._followed.path,
            node_id=self._node_id,
            snapshots=self._snapshots,
            cluster=self._followed.cluster,
        )

    def resign(self) -> None:
        self._is_resigning.set()

    def close(self) -> None:
        self._is_closing.set()
        if self._thread.is_alive():
            self._thread.join()
        self._followed.close()

    def _run(self) -> None:
        cluster = self._followed.cluster
        _, consumer = cluster.consumer(
            {
                "group.id": cluster.address.topic + GROUP_SUFFIX,
                "client.id": f"node-{self._node_id}",
                "session.timeout.ms": SESSION_TIMEOUT_MS,
                "heartbeat.interval.ms": HEARTBEAT_MS,
                "partition.assignment.strategy": "cooperative-sticky",
                "enable.auto.commit": False,
                "auto.offset.reset": "latest",
            }
        )
        try:
            while not self._is_closing.is_set():
                self._subscribe(consumer)
                while not (self._is_closing.is_set() or self._is_resigning.is_set()):
                    self._poll(consumer)
                consumer.unsubscribe()
                self._dismiss()
                self._is_resigning.clear()
                self._stand_aside(consumer)
        except Exception:
            _log.exception("%s: this node no longer takes part in elections", cluster.address)
        finally:
            self._dismiss()
            consumer.close()

    def _stand_aside(self, consumer: Any) -> None:
        """Wait ``ASIDE_S``, so that the broker gives the partition to another node."""
        until_s = time.monotonic() + ASIDE_S
        while time.monotonic() < until_s and not self._is_closing.is_set():
            self._poll(consumer)

    def _poll(self, consumer: Any) -> None:
        message = consumer.poll(_POLL_S)
        if message is not None and (error := message.error()) is not None:
            _log.warning("%s: %s", self._followed.path, one_line(error.str()))
            self._is_closing.wait(1)

    def _subscribe(self, consumer: Any) -> None:
        """Assigned partitions are paused, because nothing is read."""

        def assigned(consumer: Any, partitions: Any) -> None:
            consumer.incremental_assign(partitions)
            consumer.pause(partitions)
            if _has_log(partitions):
                _log.info("this node is elected to write %s", self._followed.path)
                self._is_elected.set()

        def revoked(consumer: Any, partitions: Any) -> None:
            if _has_log(partitions):
                self._dismiss()

        topic = self._followed.cluster.address.topic
        consumer.subscribe([topic], on_assign=assigned, on_revoke=revoked, on_lost=revoked)

    def _dismiss(self) -> None:
        if self._is_elected.is_set():
            _log.info("this node is no longer elected to write %s", self._followed.path)
            self._is_elected.clear()
            self._dismissed()


def _has_log(partitions: Any) -> bool:
    return any(each.partition == 0 for each in partitions)
