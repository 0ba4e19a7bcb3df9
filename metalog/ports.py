"""The ports: Protocols by which the parts use each other.

All of them are synchronous; a future is a ``concurrent.futures.Future``. A port
says what it needs and nothing about who provides it: no file, socket or broker
is named here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, runtime_checkable

from metalog.acl import Acl, AclFilter
from metalog.errors import SUCCESS, ApiError, CorruptLog
from metalog.ids import SnapshotId
from metalog.image.delta import MetadataDelta
from metalog.image.manifest import Manifest
from metalog.image.metadata import MetadataImage
from metalog.records.batch import Batch
from metalog.records.message import Message
from metalog.scram import ScramCredential, ScramMechanism

if TYPE_CHECKING:
    from concurrent.futures import Future

MAX_BATCH_BYTES: Final = 8 << 20
"""The largest batch that Kafka's controller writes and its readers take."""


class LogBounds(NamedTuple):
    """Where a log begins and ends.

    ``start`` is the first offset that can be read, ``end`` the next one to be written,
    ``epoch`` that of the last batch. ``high_watermark`` is the offset below which all
    is committed, or None where the log cannot know; ``why`` says in a few words where
    the mark comes from, or why there is none.
    """

    start: int
    end: int
    epoch: int
    high_watermark: int | None
    why: str


class Appended(NamedTuple):
    """A batch that follows what was read so far."""

    batch: Batch


class HighWatermark(NamedTuple):
    """All records below ``offset`` are committed."""

    offset: int


class Truncated(NamedTuple):
    """What was read at and above ``offset`` never happened (KIP-595)."""

    offset: int


class SnapshotNeeded(NamedTuple):
    """The log no longer holds what comes next: load this snapshot, whose end is past it."""

    id: SnapshotId


class Gap(NamedTuple):
    """Offsets from ``start`` up to ``end`` take part in no replay: a topic's transaction
    markers, or a hole between two archives (``lost`` is true for that)."""

    start: int
    end: int
    lost: bool


class CutShort(NamedTuple):
    """The log ends before records that it once held; ``fault`` says what proves it."""

    fault: CorruptLog


class LeaderChanged(NamedTuple):
    """Another leader writes from here on."""

    epoch: int
    leader_id: int


LogEvent = Appended | HighWatermark | Truncated | SnapshotNeeded | Gap | CutShort | LeaderChanged


class Split(Protocol):
    """A part of a log that can be read on its own, and pickled to where it is read."""

    def read(self) -> Iterator[Batch]: ...


class Log(Protocol):
    """Where batches live, for a reader. Reading changes nothing."""

    def bounds(self) -> LogBounds:
        """Where the log begins and ends at this moment."""
        ...

    def read(self, start: int) -> Iterator[LogEvent]:
        """Events from offset ``start`` (the base of a batch, or inside one, which then
        comes whole) up to the end at the time of the call."""
        ...

    def splits(self) -> Sequence[Split]:
        """The whole log in parts that can be read apart, in order."""
        ...

    def snapshots(self) -> Sequence[SnapshotId]:
        """Oldest first."""
        ...

    def open_snapshot(self, id: SnapshotId) -> Iterator[Batch]:
        """The batches of a snapshot, header and footer included and not yet checked."""
        ...


@runtime_checkable
class LiveLog(Log, Protocol):
    """A log that somebody still writes."""

    def poll(self, timeout_s: float) -> Sequence[LogEvent]:
        """What has come since the last poll or read; empty after ``timeout_s`` seconds."""
        ...


@runtime_checkable
class Heard(Protocol):
    """A log with another end, which may go silent without an error."""

    @property
    def silent_for_s(self) -> float | None:
        """Seconds since that end last proved that it lives; None before it first did. Any
        thread may ask."""
        ...


@runtime_checkable
class Connected(Protocol):
    """A log that holds a connection."""

    def close(self) -> None:
        """Let go of the connection; the next call makes another."""
        ...


@runtime_checkable
class WritableLog(LiveLog, Protocol):
    """A log with one writer, which is fenced when another one claims it.

    Once claimed, ``read`` and ``poll`` give what was appended here too.
    """

    def claim(self) -> int:
        """Become the writer, in a new epoch, and append its LEADER_CHANGE.

        ``InvalidTarget`` where this log may not be written, ``CorruptLog`` where it is
        damaged: both leave it as it was, to be claimed later if that has changed.
        """
        ...

    def append(self, epoch: int, records: Sequence[tuple[Message, int]]) -> int:
        """Append (message, version) pairs as one batch; durable when it returns.

        Returns the log's new end offset. ``InvalidRequest`` where the batch would be larger
        than Kafka reads: nothing was written. ``LogFenced`` once and for all after a failed
        write, and where ``epoch`` is not that of the last claim.
        """
        ...

    def trim(self, before: SnapshotId) -> None:
        """Delete what comes before this snapshot, which is durable and makes it needless."""
        ...

    def bootstrap_records(self) -> Sequence[tuple[Message, int]]:
        """What a log without a metadata.version begins with: (message, version) pairs."""
        ...

    def close(self) -> None:
        """Give the log up; it cannot be claimed again."""
        ...


class Candidacy(Protocol):
    """A node's standing for election as the one writer of a log that several nodes follow."""

    def stand(self, dismissed: Callable[[], None]) -> None:
        """Begin. ``dismissed`` is called, on any thread, when an election is over."""
        ...

    @property
    def is_elected(self) -> bool: ...

    def writer(self) -> WritableLog:
        """The log, not yet claimed; another one each time."""
        ...

    def first_words(self) -> Sequence[tuple[Message, int]]:
        """What this node writes first each time it leads, behind what every leader does."""
        ...

    def resign(self) -> None:
        """Leave the office to the others, and stand again."""
        ...

    def close(self) -> None:
        """Stand no longer, and let go of the log."""
        ...


AclCreateResult = ApiError
"""The outcome for one ACL; KIP-504's AclCreateResult."""


class AclDeleteResult(NamedTuple):
    """What one filter matched, or why it was refused; KIP-504's AclDeleteResult."""

    error: ApiError = SUCCESS
    deleted: Sequence[Acl] = ()


class AclMutator(Protocol):
    """Changes ACLs (KIP-801). ``context`` says who asks; whether they may was decided before.

    One future for each item, in their order. What was decided is in its result; that
    nothing could be written is its exception.
    """

    def create_acls(
        self, context: object, acls: Sequence[Acl]
    ) -> Sequence[Future[AclCreateResult]]: ...

    def delete_acls(
        self, context: object, filters: Sequence[AclFilter]
    ) -> Sequence[Future[AclDeleteResult]]: ...


class CredentialLookup(Protocol):
    """Where a login finds what a server keeps of a password (KIP-84)."""

    def scram(self, mechanism: ScramMechanism, user: str) -> ScramCredential | None: ...


@runtime_checkable
class UsesAclMutator(Protocol):
    """A publisher through which ACLs can be changed too."""

    def set_acl_mutator(self, mutator: AclMutator | None) -> None: ...


@runtime_checkable
class Publisher(Protocol):
    """Receives each new image, on the Replica's thread, in order.

    ``delta.image`` is the image before; ``image`` the one after. An exception is kept
    and shown as the publisher's fault, and the other publishers still get theirs.
    """

    def publish(self, delta: MetadataDelta, image: MetadataImage, manifest: Manifest) -> None:
        """Take the next image.

        Args:
            delta: what changed since the image before.
            image: the image after the change; immutable, so that it may be kept.
            manifest: how much of the log made the change, and where that ends.
        """
        ...


@runtime_checkable
class Gate(Protocol):
    """A publisher that answers only once it has seen all, and not when that is too old."""

    def complete_initial_load(self) -> None:
        """The publisher took its first image, and nothing was published before it was whole."""
        ...

    def note_staleness(self, for_ms: int) -> None:
        """The image has been older than the log, as far as is known, for so long; 0 ends that.
        Called now and then, by another thread than the one that publishes, but never beside it."""
        ...


@runtime_checkable
class LoadObserver(Protocol):
    """A gate that tells those who wait for it why it is still shut."""

    def note_load_fault(self, fault: Exception) -> None:
        """``fault`` keeps the log from being replayed for the first time; it is tried again."""
        ...


class Clock(Protocol):
    """The time, passed in: the core has no clock of its own."""

    def now_ms(self) -> int: ...

    def monotonic_s(self) -> float: ...
