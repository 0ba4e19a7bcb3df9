"""Sends requests about one topic to its cluster, through confluent-kafka.

Each error is one line that names the topic. Every request has a timeout. This module must not know
what a message means.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, NamedTuple

import confluent_kafka.admin
from confluent_kafka import KafkaException

from metalog.errors import InvalidSource, LogFenced, Unanswered
from metalog.kafka_client import Troubles, is_transient
from metalog.log.contact import Contact
from metalog.log.topic.address import TopicAddress
from metalog.log.topic.records import Outgoing, Stored

_api: Any = confluent_kafka
_admin: Any = confluent_kafka.admin

TIMEOUT_S: Final = 10.0
TRANSACTION_TIMEOUT_MS: Final = 10_000
"""After this time the cluster aborts a lost writer's transaction, unless a new writer did so.
Before the abort, readers get no message after the beginning of the transaction."""
_GROUP: Final = "metalog-reader"
"""The library requires a group, but no reader joins the group or commits an offset."""
_URL_SAFE: Final = str.maketrans("+/", "-_")
_ASK_AFTER_S: Final = 0.5
_ASK_TIMEOUT_S: Final = 1.0
_PATIENCE_S: Final = 3.0
"""How long a topic's leader may be silent, for example during an election, before an error."""
_MAX_MESSAGES: Final = 2000
_ABORT_S: Final = 2.0
_WAIT_MS: Final = 5
_LIVE_WAIT_MS: Final = 100
_DEFAULTS: Final = {"check.crcs": "true"}
_LIBRARY_ERRORS: Final = (KafkaException, ValueError, TypeError)
"""``ValueError`` and ``TypeError`` mean invalid settings."""


class TopicFacts(NamedTuple):
    """The number of a topic's partitions, and its settings by Kafka's names."""

    partitions: int
    settings: Mapping[str, str]


class TopicEnds(NamedTuple):
    """``start`` is the log start offset, and ``stable`` the last stable offset."""

    start: int
    stable: int


class TopicCluster:
    """The cluster at ``address``; ``settings`` are librdkafka's, and can contain secrets."""

    def __init__(self, address: TopicAddress, settings: Mapping[str, str]) -> None:
        self.address = address
        self.contact = Contact()
        self._settings = {**_DEFAULTS, **settings, "bootstrap.servers": address.servers}

    def __repr__(self) -> str:
        return f"TopicCluster({self.address})"

    def facts(self) -> TopicFacts | None:
        """None if the topic does not exist."""
        topic = self.address.topic
        with self.consuming() as consumer:
            found = consumer.list_topics(topic, timeout=TIMEOUT_S).topics[topic]
            if found.error is not None and found.error.name() != "UNKNOWN_TOPIC_OR_PART":
                raise KafkaException(found.error)
        return None if found.error else TopicFacts(len(found.partitions), self._topic_settings())

    def create(self, settings: Mapping[str, str]) -> TopicFacts:
        """Create the topic, unless it exists: one partition, the cluster's replication factor."""
        wanted = _admin.NewTopic(self.address.topic, 1, config=dict(settings))
        try:
            self._administered(
                "create it", lambda admin: admin.create_topics([wanted], request_timeout=TIMEOUT_S)
            )
        except InvalidSource as error:
            if "TOPIC_ALREADY_EXISTS" not in str(error):
                raise
        deadline = time.monotonic() + TIMEOUT_S
        while (facts := self.facts()) is None:
            if time.monotonic() > deadline:
                raise Unanswered(f"{self.address}: created, but not visible yet; try again")
            time.sleep(0.05)
        return facts

    def id(self) -> str:
        """The topic's id, as Kafka's tools print it; a recreated topic has another id."""
        wanted = _api.TopicCollection([self.address.topic])
        described = self._administered(
            "describe it", lambda admin: admin.describe_topics(wanted, request_timeout=TIMEOUT_S)
        )
        return str(described.topic_id).translate(_URL_SAFE)

    def delete_before(self, offset: int) -> None:
        place = _api.TopicPartition(self.address.topic, 0, offset)
        self._administered(
            "delete its records",
            lambda admin: admin.delete_records([place], request_timeout=TIMEOUT_S),
        )

    def ends(self) -> TopicEnds:
        with self.consuming() as consumer:
            found = watermarks(consumer, self.address)
        self.contact.heard()
        return found

    def messages(self, start: int, *, live: bool = False) -> CommittedMessages:
        """The messages from offset ``start`` on. With ``live``, the cluster waits longer before it
        sends an empty answer."""
        consumer = self._consumer(_LIVE_WAIT_MS if live else _WAIT_MS)
        return CommittedMessages(self, *consumer, start)

    def claim(self) -> Transactions:
        """Claim the log for a new writer.

        Raises ``Unanswered`` if the cluster does not answer, and ``InvalidSource`` at a refusal or
        at invalid settings.
        """
        own = {
            "transactional.id": self.address.transactional_id,
            "transaction.timeout.ms": TRANSACTION_TIMEOUT_MS,
            "linger.ms": 0,
            "queue.buffering.max.messages": 0,
        }
        troubles = Troubles()
        try:
            producer = _api.Producer({**self._for_producer(), **own, **troubles.settings})
            troubles.client = producer
            producer.init_transactions(TIMEOUT_S)
        except _LIBRARY_ERRORS as error:
            raise _failure(self.address, troubles, error, "not claimed") from None
        return Transactions(self.address, troubles, producer, self._consumer()[1])

    def _for_producer(self) -> dict[str, str]:
        """The library derives ``socket.timeout.ms`` from the transaction's timeout."""
        left_out = ("check.crcs", "socket.timeout.ms")
        return {key: value for key, value in self._settings.items() if key not in left_out}

    def _topic_settings(self) -> Mapping[str, str]:
        resource = _admin.ConfigResource(_admin.ConfigResource.Type.TOPIC, self.address.topic)
        entries = self._administered(
            "read its settings",
            lambda admin: admin.describe_configs([resource], request_timeout=TIMEOUT_S),
        )
        return {name: entry.value or "" for name, entry in entries.items()}

    def _administered(self, what: str, call: Any) -> Any:
        troubles = Troubles()
        try:
            troubles.client = _admin.AdminClient({**self._for_producer(), **troubles.settings})
            [future] = call(troubles.client).values()
            return future.result(timeout=TIMEOUT_S * 2)
        except (*_LIBRARY_ERRORS, TimeoutError) as error:
            raise _failure(self.address, troubles, error, f"cannot {what}") from None
        finally:
            troubles.client = None

    @contextmanager
    def consuming(self) -> Iterator[Any]:
        troubles, consumer = self._consumer()
        try:
            yield consumer
        except KafkaException as error:
            raise _failure(self.address, troubles, error) from None
        finally:
            consumer.close()

    def _consumer(self, wait_ms: int = _WAIT_MS) -> tuple[Troubles, Any]:
        own = {
            "group.id": _GROUP,
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
            "fetch.wait.max.ms": wait_ms,
            "fetch.queue.backoff.ms": 50,
        }
        return self.consumer(own)

    def consumer(self, own: Mapping[str, Any]) -> tuple[Troubles, Any]:
        troubles = Troubles()
        try:
            consumer = _api.Consumer({**self._settings, **own, **troubles.settings})
        except _LIBRARY_ERRORS as error:
            raise _failure(self.address, troubles, error) from None
        troubles.client = consumer
        return troubles, consumer


_GROUP_ERRORS: Final = ("GROUP_AUTHORIZATION_FAILED", "COORDINATOR_NOT_AVAILABLE")
"""These errors are ignored, because no reader joins the group."""


class CommittedMessages:
    """The committed messages from ``position`` on; reading moves ``position``."""

    def __init__(self, cluster: TopicCluster, troubles: Troubles, consumer: Any, start: int):
        self.position = start
        self._address = address = cluster.address
        self._contact = cluster.contact
        self._troubles = troubles
        self._consumer = consumer
        self._consumer.assign([_api.TopicPartition(address.topic, address.partition, start)])

    def until(self, end: int) -> Iterator[Stored]:
        """The messages below ``end``, which must not be above the last stable offset."""
        deadline = time.monotonic() + TIMEOUT_S
        while self.position < end:
            for message in self.within(0.5):
                if message.offset >= end:
                    return
                yield message
                deadline = time.monotonic() + TIMEOUT_S
            if self.position < end and time.monotonic() > deadline:
                why = self._troubles.last or "no answer"
                raise Unanswered(
                    f"{self._address}: offset {self.position} did not come within"
                    f" {TIMEOUT_S:.0f} s: {why}"
                )

    def within(self, timeout_s: float) -> Iterator[Stored]:
        """Waits up to ``timeout_s`` seconds, and yields the messages that have arrived."""
        first = self._consumer.poll(timeout_s)
        if first is None:
            self._prove_contact()
            return
        for message in (first, *self._consumer.consume(_MAX_MESSAGES, 0)):
            if (error := message.error()) is None:
                self.position = message.offset() + 1
                self._contact.heard()
                yield _stored(message)
            elif error.name() == "_PARTITION_EOF":
                self.position = max(self.position, message.offset())
            elif error.name() not in _GROUP_ERRORS:
                raise _failure(self._address, self._troubles, KafkaException(error))

    def _prove_contact(self) -> None:
        """After a silence, request the log's end: the library may not report a dead cluster."""
        silent_s = self._contact.silent_for_s
        if silent_s is not None and silent_s < _ASK_AFTER_S:
            return
        try:
            watermarks(self._consumer, self._address, _ASK_TIMEOUT_S)
        except KafkaException as error:
            if self._troubles.is_down or silent_s is None or silent_s > _PATIENCE_S:
                raise _failure(self._address, self._troubles, error) from None
        else:
            self._troubles.is_down = False
            self._contact.heard()

    def close(self) -> None:
        self._consumer.close()


class Transactions:
    """A writer that has claimed the log. After ``LogFenced`` the caller must not use the writer:
    sent messages can be in the log."""

    def __init__(
        self, address: TopicAddress, troubles: Troubles, producer: Any, consumer: Any
    ) -> None:
        self._address = address
        self._troubles = troubles
        self._producer = producer
        self._consumer = consumer

    def send(self, messages: Sequence[Outgoing], timestamp: int, expected: int) -> int:
        """Send ``messages`` as one durable transaction; returns the last stable offset afterwards.

        ``expected`` is the offset that the first message must get. Raises ``LogFenced`` if the
        message gets another offset, or if the outcome is unknown.
        """
        try:
            self._producer.begin_transaction()
            first = self._produced(messages, timestamp)
            if first != expected:
                raise LogFenced(
                    f"{self._address}: expected offset {expected}, but the topic returned {first}:"
                    " it lost records, or another program writes to it"
                )
            self._commit()
            return self._wait_until_stable(first + len(messages))
        except (KafkaException, SystemError) as error:
            why = self._troubles.why(error if isinstance(error, KafkaException) else _cause(error))
            raise LogFenced(
                f"{self._address}: the write's outcome is unknown ({why}); another writer"
                " may have taken over; claim the log again"
            ) from None

    def close(self) -> None:
        """Abort the open transaction. The producer is not closed, because ``close`` of a fenced
        producer gives a ``RuntimeWarning``."""
        self._producer.purge()
        with suppress(KafkaException):
            self._producer.abort_transaction(_ABORT_S)
        self._producer = self._troubles.client = None
        self._consumer.close()

    def _produced(self, messages: Sequence[Outgoing], timestamp: int) -> int:
        offsets: list[int] = []
        failures: list[Any] = []

        def note(error: Any, message: Any) -> None:
            if error is None:
                offsets.append(message.offset())
            else:
                failures.append(error)

        for message in messages:
            self._producer.produce(
                self._address.topic,
                value=message.value,
                key=message.key,
                headers=message.headers,
                partition=0,
                timestamp=timestamp,
                on_delivery=note,
            )
        self._producer.flush(TIMEOUT_S)
        if failures or len(offsets) < len(messages):
            raise KafkaException(*failures[:1])
        if offsets != list(range(offsets[0], offsets[0] + len(offsets))):
            after = f"after offset {offsets[0]}"
            raise LogFenced(f"{self._address}: another program wrote between our messages, {after}")
        return offsets[0]

    def _commit(self) -> None:
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            try:
                self._producer.commit_transaction(TIMEOUT_S)
                return
            except KafkaException as error:
                if not error.args[0].retriable() or time.monotonic() > deadline:
                    raise

    def _wait_until_stable(self, end: int) -> int:
        """A commit returns before the partition has the transaction's marker. Without this wait, a
        new reader can miss the transaction."""
        deadline = time.monotonic() + TIMEOUT_S
        wait_s = 0.0005
        while (stable := watermarks(self._consumer, self._address).stable) < end:
            if time.monotonic() > deadline:
                raise LogFenced(
                    f"{self._address}: written, but no reader gets it, because another program's"
                    f" transaction is open from offset {stable} on"
                )
            time.sleep(wait_s)
            wait_s = min(wait_s * 2, 0.05)
        return stable


def _cause(error: SystemError) -> BaseException:
    """After a fatal error, a callback in ``flush`` turns the library's error into this error."""
    return error.__cause__ or error


def _failure(
    address: TopicAddress, troubles: Troubles, error: BaseException, what: str = "cannot be read"
) -> InvalidSource:
    text = f"{address}: {what}: {troubles.why(error)}"
    can_succeed = (is_transient(error) or troubles.is_down) and not troubles.is_refused
    return Unanswered(text) if can_succeed else InvalidSource(text)


def watermarks(consumer: Any, address: TopicAddress, timeout_s: float = TIMEOUT_S) -> TopicEnds:
    place = _api.TopicPartition(address.topic, address.partition)
    return TopicEnds(*consumer.get_watermark_offsets(place, timeout=timeout_s, cached=False))


def _stored(message: Any) -> Stored:
    return Stored(
        message.offset(),
        message.timestamp()[1],
        message.key(),
        message.value(),
        message.headers() or (),
    )
