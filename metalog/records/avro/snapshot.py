"""A snapshot as an Avro container file: the records of a checkpoint, for the data world.

The schema is one union of all types of record. The file's metadata says which snapshot it is;
its last block says how many records there were, and the CRC-32C of all bytes before it, since
Avro itself has neither: a file that is cut or changed is refused. What is read are the batches
that a checkpoint of the same records has. ``docs/formats/avro.md`` describes it. This module
must not know files, nor what the records mean.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Final

import fastavro
import fastavro.write

from metalog.errors import CorruptLog, CorruptSnapshot
from metalog.files import ReadableFile
from metalog.ids import SnapshotId
from metalog.records.avro.codec import NAMESPACE, from_datum, to_datum, union_schema
from metalog.records.avro.container import ContainerHeader, read_blocks, read_head
from metalog.records.batch import Batch
from metalog.records.checkpoint import snapshot_batches
from metalog.records.message import ControlMessage, Message
from metalog.records.primitives.checksum import crc32c_of_more

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
    head = read_head(source.read)
    _check_schema(head)
    about = {key: int(head.metadata[_KEY + key]) for key in ("endOffset", "epoch")}
    inside = SnapshotId(about["endOffset"], about["epoch"])
    if inside != id:
        raise _fault(f"the snapshot {inside} in a file whose name says {id}")
    records = _records(source, head)
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
        timestamp=int(head.metadata[f"{_KEY}timestamp"]),
        last_contained_timestamp=int(head.metadata[f"{_KEY}lastContainedLogTimestamp"]),
        control=control,
    )


def _no_control(records: Iterator[Any]) -> Iterator[Any]:
    for record in records:
        if isinstance(record[0], ControlMessage):
            raise _fault("a record of the quorum among the metadata")
        yield record


def _check_schema(head: ContainerHeader) -> None:
    """Before a byte is decoded: what another schema makes of a byte has no bound."""
    ours, found = _definitions([*union_schema(), _END_SCHEMA]), _definitions(head.schema)
    for name, definition in found.items():
        if ours.get(name) != definition:
            raise _fault(f"the Avro schema {name} is not known")
    if head.codec != "null":
        raise _fault(f"it is compressed with {head.codec}, which no snapshot is")


def _definitions(schema: Any) -> dict[str, object]:
    """Each name that ``schema`` defines, and what it stands for."""
    found: dict[str, object] = {}

    def meant(part: Any) -> object:
        if isinstance(part, str):
            return part
        if isinstance(part, list):
            return tuple(map(meant, part))
        if part["type"] == "array":
            return "array", meant(part["items"])
        name = part["name"]
        if part["type"] == "fixed":
            found[name] = part["type"], part["size"]
        elif part["type"] == "record":
            fields = tuple((field["name"], meant(field["type"])) for field in part["fields"])
            found[name] = part["type"], fields
        else:
            raise _fault(f"the Avro type {part['type']} is in no snapshot")
        return name

    if not isinstance(schema, list) or not all(isinstance(each, dict) for each in schema):
        raise _fault("its schema is not a union of records")
    meant(schema)
    return found


def _records(source: _In, head: ContainerHeader) -> Iterator[Record]:
    schema, blocks = fastavro.parse_schema(head.schema), read_blocks(source.read, head, source.size)
    done = 0
    while True:
        checksum = source.checksum
        size, data = next(blocks, (0, b""))
        if not size:
            raise _fault("the snapshot has no end: it was cut short")
        block = io.BytesIO(data)
        for _ in range(size):
            named: Any = fastavro.schemaless_reader(block, schema, None, return_record_name=True)
            full_name, datum = named
            if full_name == END:
                _check_end(datum, done, checksum)
                if size > 1 or block.tell() != len(data) or not source.is_at_end:
                    raise _fault("something follows the end of the snapshot")
                return
            done += 1
            yield from_datum(full_name, datum)
        if block.tell() != len(data):
            raise _fault("something follows the records of a block")


def _check_end(end: Mapping[str, Any], count: int, checksum: int) -> None:
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
        self.size = file.size()
        self.position = 0
        self.checksum = 0

    @property
    def is_at_end(self) -> bool:
        return self.position == self.size

    def read(self, size: int) -> bytes:
        data = self._file.read_at(self.position, max(0, min(size, self.size - self.position)))
        self.position += len(data)
        self.checksum = crc32c_of_more(self.checksum, data)
        return data
