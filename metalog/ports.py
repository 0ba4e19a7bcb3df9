"""The ports: the Protocols through which the parts of the project use each other.

All methods are synchronous; a future is a ``concurrent.futures.Future``. This module must not know
the implementations, which use files, sockets or brokers.
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
"""The largest batch that Kafka's controller writes and Kafka's readers accept."""


class LogBounds(NamedTuple):
    """Where a log begins and ends.

    ``read`` can return the records at the offsets from ``start`` to ``end - 1``. ``epoch`` is the
    epoch of the last batch or, for a quorum, of the leader. ``high_watermark`` is None if unknown.
    ``why`` says where the high-water mark comes from, or why there is none.
    """

    start: int
    end: int
    epoch: int
    high_watermark: int | None
    why: str


class Appended(NamedTuple):
    """The next batch of the log."""

    batch: Batch


class HighWatermark(NamedTuple):
    """All records below ``offset`` are committed. After data loss it can be lower than before."""

    offset: int


class Truncated(NamedTuple):
    """The log no longer has records at ``offset`` or after it (KIP-595)."""

    offset: int


class SnapshotNeeded(NamedTuple):
    """The reader must load this snapshot, because the next records are perhaps deleted."""

    id: SnapshotId


class Gap(NamedTuple):
    """The log has no records to replay at the offsets from ``start`` to ``end - 1``.

    If ``lost``, records are missing. Otherwise no reader needs these offsets: in a topic, for
    example, transaction markers.
    """

    start: int
    end: int
    lost: bool


class CutShort(NamedTuple):
    """The log lost records at its end; ``fault`` says how this is known."""

    fault: CorruptLog


LogEvent = Appended | HighWatermark | Truncated | SnapshotNeeded | Gap | CutShort


class Split(Protocol):
    """An input split: a part of a log that can be read alone, and pickled to another process."""

    def read(self) -> Iterator[Batch]: ...


class Log(Protocol):
    """A log of batches, for a reader. Reading changes nothing."""

    def bounds(self) -> LogBounds:
        """Where the log begins and ends at the time of the call."""
        ...

    def read(self, start: int) -> Iterator[LogEvent]:
        """The events from offset ``start`` up to the end of the log at the time of the call.

        If ``start`` is inside a batch, the events include the whole batch.
        """
        ...

    def splits(self) -> Sequence[Split]:
        """The log as input splits, in order; empty if the log is empty or cannot be split."""
        ...

    def snapshots(self) -> Sequence[SnapshotId]:
        """The ids of the log's snapshots, oldest first."""
        ...

    def open_snapshot(self, id: SnapshotId) -> Iterator[Batch]:
        """The batches of a snapshot; the caller checks header and footer."""
        ...


@runtime_checkable
class LiveLog(Log, Protocol):
    """A log to which another process can still write."""

    def poll(self, timeout_s: float) -> Sequence[LogEvent]:
        """The events after the last poll or read; empty if none comes in ``timeout_s`` seconds."""
        ...


@runtime_checkable
class PeerLog(Protocol):
    """A log that comes from a peer, which can go silent without an error."""

    @property
    def silent_for_s(self) -> float | None:
        """Seconds since the peer last proved that it is alive; None before the first proof.

        Any thread may read this property.
        """
        ...


@runtime_checkable
class ClosableLog(Protocol):
    """A log that holds a connection."""

    def close(self) -> None:
        """Close the connection; the next use of the log opens another."""
        ...


@runtime_checkable
class WritableLog(LiveLog, Protocol):
    """A log with one writer; a new claim fences the previous writer.

    After ``claim``, ``read`` and ``poll`` also return the batches that this writer appended.
    """

    def claim(self) -> int:
        """Become the writer in a new epoch, and append the LEADER_CHANGE of the epoch.

        Returns the epoch. After an error other than ``LogFenced``, the caller can claim again.

        Raises:
            InvalidTarget: this log cannot be written.
            CorruptLog: the log is damaged.
            Unanswered: the log's cluster does not answer.
            LogFenced: this object claimed the log before, or was closed; or a write failed.
        """
        ...

    def append(self, epoch: int, records: Sequence[tuple[Message, int]]) -> int:
        """Append (message, version) pairs as one durable batch.

        Returns the log's new end offset.

        Raises:
            InvalidRequest: the records are not a batch that Kafka can read. Nothing was written.
            LogFenced: ``epoch`` is not the epoch of the last claim, or this or an earlier write
                failed.
        """
        ...

    def trim(self, before: SnapshotId) -> None:
        """Delete records that the snapshot ``before`` includes; this snapshot must be durable."""
        ...

    def bootstrap_records(self) -> Sequence[tuple[Message, int]]:
        """The (message, version) pairs to append first to a log without a metadata.version."""
        ...

    def close(self) -> None:
        """Release the log; it cannot be claimed again."""
        ...


class Candidacy(Protocol):
    """A node's candidacy to be the only writer of a log that several nodes follow."""

    def stand(self, dismissed: Callable[[], None]) -> None:
        """Take part in elections.

        When the node no longer leads, ``dismissed`` is called, on any thread.
        """
        ...

    @property
    def is_elected(self) -> bool: ...

    def writer(self) -> WritableLog:
        """The log, not yet claimed; each call returns a new object."""
        ...

    def first_records(self) -> Sequence[tuple[Message, int]]:
        """The records that the node, as a new leader, writes after the activation records."""
        ...

    def resign(self) -> None:
        """Give up leadership, and become a candidate again."""
        ...

    def close(self) -> None:
        """End the candidacy, and release the log."""
        ...


AclCreateResult = ApiError
"""The outcome for one ACL; KIP-504's AclCreateResult."""


class AclDeleteResult(NamedTuple):
    """The ACLs that one filter deleted, or the filter's error; KIP-504's AclDeleteResult."""

    error: ApiError = SUCCESS
    deleted: Sequence[Acl] = ()


class AclMutator(Protocol):
    """Changes ACLs (KIP-801).

    ``context`` names the caller; the caller's permission is not checked again. Each method returns
    one future per item, in order. If an item has no outcome, its future fails with the reason.
    """

    def create_acls(
        self, context: object, acls: Sequence[Acl]
    ) -> Sequence[Future[AclCreateResult]]: ...

    def delete_acls(
        self, context: object, filters: Sequence[AclFilter]
    ) -> Sequence[Future[AclDeleteResult]]: ...


class CredentialLookup(Protocol):
    """Finds a user's stored SCRAM credential for a login (KIP-84)."""

    def scram(self, mechanism: ScramMechanism, user: str) -> ScramCredential | None: ...


@runtime_checkable
class UsesAclMutator(Protocol):
    """A publisher that can also change ACLs, through an ``AclMutator``."""

    def set_acl_mutator(self, mutator: AclMutator | None) -> None: ...


@runtime_checkable
class Publisher(Protocol):
    """Receives each new image, in order, on one thread.

    An exception is stored as the publisher's fault; the other publishers still receive the image.
    """

    def publish(self, delta: MetadataDelta, image: MetadataImage, manifest: Manifest) -> None:
        """Take the next image.

        Args:
            delta: the changes from the previous image, ``delta.image``, to ``image``. After an
                exception, the next delta is the whole image.
            image: the new image; it is immutable and may be kept.
            manifest: which part of the log made the change, and where that part ends.
        """
        ...


@runtime_checkable
class Gate(Protocol):
    """A publisher that does not answer before its image is complete."""

    def complete_initial_load(self) -> None:
        """Open the gate: the image has all committed records. A second call does nothing."""
        ...

    def note_staleness(self, for_ms: int) -> None:
        """Take how long the image has been stale, in milliseconds; 0 means not stale.

        The call can come from any thread, but never during ``publish``.
        """
        ...


@runtime_checkable
class LoadObserver(Protocol):
    """A gate that tells waiting callers why it is still closed."""

    def note_load_fault(self, fault: Exception) -> None:
        """Report ``fault`` to the callers that wait for the first replay of the log."""
        ...
