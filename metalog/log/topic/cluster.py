"""A topic log's requests to its cluster, through confluent-kafka.

Messages below the last stable offset, in order, and how far they were given; the topic's
settings; and a writer's transactions. Whatever goes wrong is one line that names the topic.
Every call ends within ``TIMEOUT_S``. This module must not know what a message means.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, NamedTuple

import confluent_kafka.admin
from confluent_kafka import KafkaException

from metalog.errors import InvalidSource, InvalidTarget, LogFenced, Unanswered
from metalog.kafka_client import Troubles, may_pass
from metalog.log.contact import Contact
from metalog.log.topic.address import TopicAddress
from metalog.log.topic.records import Outgoing, Stored

_api: Any = confluent_kafka
_admin: Any = confluent_kafka.admin

TIMEOUT_S: Final = 10.0
"""How long a cluster may keep one call waiting, and how long a reader waits for a message
that must be there."""
TRANSACTION_TIMEOUT_MS: Final = 10_000
"""After so long the cluster aborts what a writer left open, unless a new one does before:
readers are not given what comes after it until then."""
_GROUP: Final = "metalog-reader"
"""Needed by the library; no offset is committed and nobody joins it."""
_URL_SAFE: Final = str.maketrans("+/", "-_")
_ASK_AFTER_S: Final = 0.5
_ASK_S: Final = 1.0
_PATIENCE_S: Final = 3.0
"""How long a topic's leader may be silent before that is a fault: an election long."""
_AT_ONCE: Final = 2000
_ABORT_S: Final = 2.0
_WAIT_MS: Final = 5
_LIVE_WAIT_MS: Final = 100
_DEFAULTS: Final = {"check.crcs": "true"}
_REFUSED: Final = (KafkaException, ValueError, TypeError)
"""What the library raises, for settings too."""


class TopicFacts(NamedTuple):
    """What a topic is: its partitions, and its settings by Kafka's names."""

    partitions: int
    settings: Mapping[str, str]


class TopicEnds(NamedTuple):
    """``start`` is the log start offset; all below ``stable`` is committed or aborted."""

    start: int
    stable: int


class TopicCluster:
    """The cluster at ``address``; ``settings`` are librdkafka's, and may hold secrets."""

    def __init__(self, address: TopicAddress, settings: Mapping[str, str]) -> None:
        self.address = address
        self.contact = Contact()
        self._settings = {**_DEFAULTS, **settings, "bootstrap.servers": address.servers}

    def __repr__(self) -> str:
        return f"TopicCluster({self.address})"

    def facts(self) -> TopicFacts | None:
        """None where there is no such topic."""
        topic = self.address.topic
        with self.consuming() as consumer:
            found = consumer.list_topics(topic, timeout=TIMEOUT_S).topics[topic]
            if found.error is not None and found.error.name() != "UNKNOWN_TOPIC_OR_PART":
                raise KafkaException(found.error)
        return None if found.error else TopicFacts(len(found.partitions), self._topic_settings())

    def create(self, settings: Mapping[str, str]) -> TopicFacts:
        """One partition, with the cluster's own replication factor; another's that was made
        meanwhile will do."""
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
        """As Kafka shows it, and not the library; another topic by the same name has another."""
        wanted = _api.TopicCollection([self.address.topic])
        described = self._administered(
            "describe it",
            lambda admin: admin.describe_topics(wanted, request_timeout=TIMEOUT_S),
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
        """``live`` ones are waited for at the cluster; of others it is said at once that there
        are none, which is how a reader gets past what ends a log but is not a message."""
        consumer = self._consumer(_LIVE_WAIT_MS if live else _WAIT_MS)
        return CommittedMessages(self, *consumer, start)

    def transactions(self) -> Transactions:
        """``InvalidTarget`` where no writer may be, or its cluster does not answer."""
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
        except _REFUSED as error:
            raise InvalidTarget(f"{self.address}: not claimed: {troubles.why(error)}") from None
        return Transactions(self.address, troubles, producer, self._consumer()[1])

    def _for_producer(self) -> dict[str, str]:
        """Without a consumer's, and what the library sets by the transaction's timeout."""
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
        except (*_REFUSED, TimeoutError) as error:
            raise _unread(self.address, troubles, error, f"cannot {what}") from None
        finally:
            troubles.client = None

    @contextmanager
    def consuming(self) -> Iterator[Any]:
        troubles, consumer = self._consumer()
        try:
            yield consumer
        except KafkaException as error:
            raise _unread(self.address, troubles, error) from None
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
        """With the settings ``own``; nothing is asked yet."""
        troubles = Troubles()
        try:
            consumer = _api.Consumer({**self._settings, **own, **troubles.settings})
        except _REFUSED as error:
            raise _unread(self.address, troubles, error) from None
        troubles.client = consumer
        return troubles, consumer


_NOT_OURS: Final = ("GROUP_AUTHORIZATION_FAILED", "COORDINATOR_NOT_AVAILABLE")
"""Of the group, which has nothing to say here."""


class CommittedMessages:
    """The committed messages from ``position`` on, which lies past those that were given."""

    def __init__(self, cluster: TopicCluster, troubles: Troubles, consumer: Any, start: int):
        self.position = start
        self._address = address = cluster.address
        self._contact = cluster.contact
        self._troubles = troubles
        self._consumer = consumer
        self._consumer.assign([_api.TopicPartition(address.topic, address.partition, start)])

    def until(self, end: int) -> Iterator[Stored]:
        """Those below ``end``, which must be stable already."""
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
        """What comes within ``timeout_s`` seconds, and all that came with it."""
        first = self._consumer.poll(timeout_s)
        if first is None:
            self._prove_contact()
            return
        for message in (first, *self._consumer.consume(_AT_ONCE, 0)):
            if (error := message.error()) is None:
                self.position = message.offset() + 1
                self._contact.heard()
                yield _stored(message)
            elif error.name() == "_PARTITION_EOF":
                self.position = max(self.position, message.offset())
            elif error.name() not in _NOT_OURS:
                raise _unread(self._address, self._troubles, KafkaException(error))

    def _prove_contact(self) -> None:
        """Ask the topic's leader where its log ends, if nothing was heard of it for a while: of a
        cluster that is gone the library may say nothing, or something else last."""
        silent_s = self._contact.silent_for_s
        if silent_s is not None and silent_s < _ASK_AFTER_S:
            return
        try:
            watermarks(self._consumer, self._address, _ASK_S)
        except KafkaException as error:
            if self._troubles.is_down or silent_s is None or silent_s > _PATIENCE_S:
                raise _unread(self._address, self._troubles, error) from None
        else:
            self._troubles.is_down = False
            self._contact.heard()

    def close(self) -> None:
        self._consumer.close()


class Transactions:
    """A claimed writer. An error is ``LogFenced``, after which nothing more may be asked of
    it: what was being sent may be in the log or not."""

    def __init__(
        self, address: TopicAddress, troubles: Troubles, producer: Any, consumer: Any
    ) -> None:
        self._address = address
        self._troubles = troubles
        self._producer = producer
        self._consumer = consumer

    def send(self, messages: Sequence[Outgoing], timestamp: int, expected: int) -> int:
        """All of ``messages`` as one transaction; the log's end behind it, which is durable and
        stable when this returns.

        ``expected`` is the offset of the first one: any other is a sign that acknowledged
        records were lost, or that somebody else writes.
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
            return self._stable_end(first + len(messages))
        except (KafkaException, SystemError) as error:
            why = self._troubles.why(error if isinstance(error, KafkaException) else _cause(error))
            raise LogFenced(
                f"{self._address}: the write's outcome is unknown ({why}); another writer"
                " may have taken over; claim the log again"
            ) from None

    def close(self) -> None:
        """Aborts what is open, if this is still the writer. The producer has no other end than
        to be forgotten: its own ``close`` complains if it was fenced."""
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
            raise LogFenced(f"{self._address}: another program writes to it at offset {offsets[0]}")
        return offsets[0]

    def _commit(self) -> None:
        """Asked again while the library says that it may be: it was not refused then."""
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            try:
                self._producer.commit_transaction(TIMEOUT_S)
                return
            except KafkaException as error:
                if not error.args[0].retriable() or time.monotonic() > deadline:
                    raise

    def _stable_end(self, end: int) -> int:
        """The last stable offset, once it is past ``end``: the coordinator answers before
        the topic's partition has the marker, and a reader who starts now must see it all."""
        deadline = time.monotonic() + TIMEOUT_S
        wait_s = 0.0005
        while (stable := watermarks(self._consumer, self._address).stable) < end:
            if time.monotonic() > deadline:
                raise LogFenced(
                    f"{self._address}: written, but an open transaction of another program hides"
                    f" it, from offset {stable} on"
                )
            time.sleep(wait_s)
            wait_s = min(wait_s * 2, 0.05)
        return stable


def _cause(error: SystemError) -> BaseException:
    """The library raises a fatal error inside ``flush`` and then calls back, which Python
    takes for a fault of the interpreter."""
    return error.__cause__ or error


def _unread(
    address: TopicAddress,
    troubles: Troubles,
    error: BaseException,
    what: str = "cannot be read",
) -> InvalidSource:
    said = f"{address}: {what}: {troubles.why(error)}"
    passes = (may_pass(error) or troubles.is_down) and not troubles.is_refused
    return Unanswered(said) if passes else InvalidSource(said)


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
