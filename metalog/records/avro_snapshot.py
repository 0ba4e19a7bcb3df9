"""A snapshot as an Avro container file: the records of a checkpoint, for the data world.

The schema is one union of all types of record. The file's metadata says which snapshot it is;
its last block says how many records there were, and the CRC-32C of all bytes before it, since
Avro itself has neither: a file that is cut or changed is refused. What is read are the batches
that a checkpoint of the same records has. ``docs/formats/avro.md`` describes it. This module
must not know files, nor what the records mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Final

import fastavro
import fastavro.write

from metalog.errors import CorruptLog, CorruptSnapshot
from metalog.files import ReadableFile
from metalog.ids import SnapshotId
from metalog.records.avro import NAMESPACE, from_datum, to_datum, union_schema
from metalog.records.batch import Batch
from metalog.records.checkpoint import snapshot_batches
from metalog.records.checksum import crc32c_of_more
from metalog.records.message import ControlMessage, Message

END: Final = f"{NAMESPACE}.SnapshotEnd"
_END_SCHEMA: Final = {
    "type": "record",
    "name": END,
    "fields": [{"name": "records", "type": "long"}, {"name": "crc32c", "type": "long"}],
}
_KEY: Final = f"{NAMESPACE}."
_SYNC_MARKER: Final = b"kraft-metalog/1\n"
"""Always the same, so that equal images give equal bytes."""
_BLOCK_BYTES: Final = 1 << 18
_ADVICE: Final = "use an older snapshot, or the log alone"

Record = tuple[Message | ControlMessage, int]


def avro_snapshot(
    id: SnapshotId, timestamp: int, last_contained_timestamp: int, records: Iterable[Record]
) -> Iterator[bytes]:
    """The file, piece by piece. ``records`` are pairs of message and version, those of the
    quorum (KRAFT_VERSION and KRAFT_VOTERS) first; timestamps are as in ``snapshot_batches``."""
    about = {
        "endOffset": id.end_offset,
        "epoch": id.epoch,
        "timestamp": timestamp,
        "lastContainedLogTimestamp": last_contained_timestamp,
    }
    out = _Out()
    writer: Any = fastavro.write.Writer(
        out,  # type: ignore[arg-type]  # all that is used of a file
        fastavro.parse_schema([*union_schema(), _END_SCHEMA]),
        sync_interval=_BLOCK_BYTES,
        sync_marker=_SYNC_MARKER,
        metadata={f"{_KEY}{key}": str(value) for key, value in about.items()},
    )
    count = 0
    for message, version in records:
        writer.write(to_datum(message, version))
        count += 1
        if out.pieces:
            yield out.taken()
    writer.flush()
    yield out.taken()
    writer.write((END, {"records": count, "crc32c": out.checksum}))
    writer.flush()
    yield out.taken()


def read_avro_snapshot(file: ReadableFile, id: SnapshotId, name: str) -> Iterator[Batch]:
    """The batches of the snapshot ``id``, header and footer included; the footer comes only
    once all was found whole. ``CorruptSnapshot`` otherwise; ``name`` is the file's."""
    source = _In(file)
    try:
        yield from _batches(source, id)
    except CorruptLog as fault:
        raise fault.located(file=name, byte=source.position) from None
    except OSError:
        raise
    except Exception as error:
        raise CorruptSnapshot(
            f"no whole snapshot in Avro ({type(error).__name__})",
            file=name,
            byte=source.position,
            advice=_ADVICE,
        ) from None


def _batches(source: _In, id: SnapshotId) -> Iterator[Batch]:
    blocks = fastavro.block_reader(source, return_record_name=True)  # type: ignore[arg-type]
    about = {key: int(blocks.metadata[_KEY + key]) for key in ("endOffset", "epoch")}
    inside = SnapshotId(about["endOffset"], about["epoch"])
    if inside != id:
        raise _fault(f"the snapshot {inside} in a file whose name says {id}")
    records = _records(source, blocks)
    control: list[Any] = []
    messages: Iterator[Any] = iter(())
    for record in records:
        if not isinstance(record[0], ControlMessage):
            messages = chain([record], records)
            break
        control.append(record)
    yield from snapshot_batches(
        _no_control(messages),
        epoch=id.epoch,
        timestamp=int(blocks.metadata[f"{_KEY}timestamp"]),
        last_contained_timestamp=int(blocks.metadata[f"{_KEY}lastContainedLogTimestamp"]),
        control=control,
    )


def _no_control(records: Iterator[Any]) -> Iterator[Any]:
    for record in records:
        if isinstance(record[0], ControlMessage):
            raise _fault("a record of the quorum among the metadata")
        yield record


def _records(source: _In, blocks: Iterator[Any]) -> Iterator[Record]:
    count = 0
    while True:
        checksum = source.checksum
        block = next(blocks, None)
        if block is None:
            raise _fault("the snapshot has no end: it was cut short")
        entries = list(block)
        if entries and entries[0][0] == END:
            _check_end(entries, count, checksum)
            if not source.is_at_end:
                raise _fault("something follows the end of the snapshot")
            return
        for full_name, datum in entries:
            count += 1
            yield from_datum(full_name, datum)


def _check_end(entries: list[tuple[str, Mapping[str, Any]]], count: int, checksum: int) -> None:
    [(_, end)] = entries
    if end["crc32c"] != checksum:
        raise _fault("the checksum of the snapshot is wrong")
    if end["records"] != count:
        raise _fault(f"{count} records where {end['records']} were written")


def _fault(problem: str) -> CorruptSnapshot:
    return CorruptSnapshot(problem, advice=_ADVICE)


class _Out:
    """What fastavro writes to; ``checksum`` is of all that was taken."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.checksum = 0

    def write(self, data: bytes) -> int:
        self.pieces.append(data)
        return len(data)

    def flush(self) -> None:
        """Nothing is kept back."""

    def seekable(self) -> bool:
        return False

    def taken(self) -> bytes:
        whole = b"".join(self.pieces)
        self.pieces.clear()
        self.checksum = crc32c_of_more(self.checksum, whole)
        return whole


class _In:
    """What fastavro reads from; ``checksum`` is of all that was read."""

    def __init__(self, file: ReadableFile) -> None:
        self._file = file
        self._size = file.size()
        self.position = 0
        self.checksum = 0

    @property
    def is_at_end(self) -> bool:
        return self.position == self._size

    def read(self, size: int) -> bytes:
        data = self._file.read_at(self.position, max(0, min(size, self._size - self.position)))
        self.position += len(data)
        self.checksum = crc32c_of_more(self.checksum, data)
        return data

    def tell(self) -> int:
        return self.position
