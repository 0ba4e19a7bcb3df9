"""A checkpoint: a snapshot of the metadata, written as record batches (KIP-630).

The first record is a SNAPSHOT_HEADER, and the last is a SNAPSHOT_FOOTER, each in a control batch.
With a kraft.version of 1, KRAFT_VERSION and KRAFT_VOTERS follow the header. Offsets count from 0
without a gap, and all batches have the same epoch. The reader checks the header, the footer, and
the offsets and epochs, which no checksum covers.

Kafka loads a checkpoint without a footer; this reader does not. This module must not know files,
nor what the records mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, islice
from typing import Final

from metalog.errors import CorruptSnapshot
from metalog.records.batch import Batch, batch_of_values, build_batch
from metalog.records.frame import Undecodable, encode_value
from metalog.records.message import ControlMessage, Message
from metalog.records.messages.snapshot_footer_record import SnapshotFooterRecord
from metalog.records.messages.snapshot_header_record import SnapshotHeaderRecord

_ADVICE: Final = "use an older snapshot; metalog export --salvage writes what can be read"
_VERSION: Final = 0
RECORDS_PER_BATCH: Final = 1024
BYTES_PER_BATCH: Final = 1 << 20
"""Maximum bytes of all values in a batch that we write. A larger value gets its own batch. Kafka's
largest batch has 8 MiB."""


def check_snapshot(batches: Iterable[Batch], epoch: int | None = None) -> Iterator[Batch]:
    """Yields the batches, without the footer's batch and without a batch of only the header.

    Raises ``CorruptSnapshot`` at the first broken rule. The caller must not trust the batches
    before the iterator has ended. ``epoch`` is the epoch in the snapshot's name; None accepts every
    epoch.
    """
    previous: Batch | None = None
    footer: Batch | None = None
    for batch in batches:
        if epoch is not None and batch.epoch != epoch:
            raise _fault(f"epoch {batch.epoch} in a snapshot of epoch {epoch}", batch)
        _check_sequence(previous, batch)
        if footer is not None:
            raise _fault("records follow the footer of the snapshot", batch)
        kinds = [type(message) for message in batch.messages()] if batch.is_control else []
        if previous is None and kinds[:1] != [SnapshotHeaderRecord]:
            raise _fault("the snapshot does not begin with a header", batch)
        _check_kinds(kinds, batch, is_first=previous is None)
        if SnapshotFooterRecord in kinds:
            footer = batch
        elif not batch.is_control or len(kinds) > 1 or previous is not None:
            yield batch
        previous = batch
    if previous is None:
        raise CorruptSnapshot("the snapshot is empty", advice=_ADVICE)
    if footer is None:
        problem = "the snapshot has no footer: it was cut short"
        raise CorruptSnapshot(
            problem, file=previous.file, byte=previous.position + previous.size, advice=_ADVICE
        )


def _check_sequence(previous: Batch | None, batch: Batch) -> None:
    expected = 0 if previous is None else previous.next_offset
    if batch.base_offset != expected:
        raise _fault(f"offset {batch.base_offset} where {expected} must follow", batch)
    if previous is not None and batch.epoch != previous.epoch:
        raise _fault(f"epoch {batch.epoch} in a snapshot of epoch {previous.epoch}", batch)


def _check_kinds(kinds: Sequence[type], batch: Batch, *, is_first: bool) -> None:
    if Undecodable in kinds:
        raise _fault("a control record that cannot be read", batch)
    if SnapshotHeaderRecord in kinds[1 if is_first else 0 :]:
        raise _fault("a second header in the snapshot", batch)
    if SnapshotFooterRecord in kinds[:-1]:
        raise _fault("records follow the footer of the snapshot", batch)


def _fault(problem: str, batch: Batch) -> CorruptSnapshot:
    return CorruptSnapshot(
        problem, file=batch.file, offset=batch.base_offset, byte=batch.position, advice=_ADVICE
    )


def snapshot_batches(
    messages: Iterable[tuple[Message, int]],
    *,
    epoch: int,
    timestamp: int,
    last_contained_timestamp: int,
    control: Sequence[tuple[ControlMessage, int]] = (),
) -> Iterator[Batch]:
    """As ``encoded_snapshot``, for ``messages``: pairs of message and version."""
    return encoded_snapshot(
        (encode_value(message, version) for message, version in messages),
        epoch=epoch,
        timestamp=timestamp,
        last_contained_timestamp=last_contained_timestamp,
        control=control,
    )


def encoded_snapshot(
    values: Iterable[bytes],
    *,
    epoch: int,
    timestamp: int,
    last_contained_timestamp: int,
    control: Sequence[tuple[ControlMessage, int]] = (),
) -> Iterator[Batch]:
    """The batches of a checkpoint, header and footer included.

    ``values`` are encoded records; ``control`` (KRAFT_VERSION and KRAFT_VOTERS) follows the header.
    Timestamps are in milliseconds. ``last_contained_timestamp`` is the timestamp of the last log
    record that the snapshot includes.
    """
    header = SnapshotHeaderRecord(_VERSION, last_contained_timestamp)
    first = build_batch(0, epoch, timestamp, [(header, _VERSION), *control])
    yield first
    offset = first.next_offset
    for group in _groups(values):
        yield batch_of_values(offset, epoch, timestamp, group)
        offset += len(group)
    yield build_batch(offset, epoch, timestamp, [(SnapshotFooterRecord(_VERSION), _VERSION)])


def _groups(values: Iterable[bytes]) -> Iterator[list[bytes]]:
    values = iter(values)
    rest: list[bytes] = []
    while group := [*rest, *islice(values, RECORDS_PER_BATCH - len(rest))]:
        fitting = len(group)
        if sum(map(len, group)) > BYTES_PER_BATCH:
            ends = accumulate(map(len, group))
            fitting = max(1, sum(end <= BYTES_PER_BATCH for end in ends))
        rest = group[fitting:]
        yield group[:fitting]
