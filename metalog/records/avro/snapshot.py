"""A snapshot as an Avro container file: the records of a checkpoint, for data tools.

Avro does not detect a truncated or changed file. So the last block has the number of records and
the CRC-32C of all earlier bytes. The reader returns the batches of a checkpoint.
``docs/formats/avro.md`` describes the format. This module must not know where files are, nor what
the records mean.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Final

import fastavro
import fastavro.write

from metalog.disk.files import ReadableFile
from metalog.errors import CorruptLog, CorruptSnapshot
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
_KEY_PREFIX: Final = f"{NAMESPACE}."
_SYNC_MARKER: Final = b"kraft-metalog/1\n"
"""Constant, so that equal images give equal bytes."""
_BLOCK_BYTES: Final = 1 << 18
_ADVICE: Final = "use an older snapshot, or the log alone"

Record = tuple[Message | ControlMessage, int]


def avro_snapshot(
    id: SnapshotId, timestamp: int, last_contained_timestamp: int, records: Iterable[Record]
) -> Iterator[bytes]:
    """The bytes of the file, in parts.

    ``records`` are pairs of message and version; control records (KRAFT_VERSION and KRAFT_VOTERS)
    come first. Timestamps are as in ``encoded_snapshot``.
    """
    about = {
        "endOffset": id.end_offset,
        "epoch": id.epoch,
        "timestamp": timestamp,
        "lastContainedLogTimestamp": last_contained_timestamp,
    }
    out = _Out()
    writer: Any = fastavro.write.Writer(
        out,  # type: ignore[arg-type]  # fastavro uses only these methods
        fastavro.parse_schema([*union_schema(), _END_SCHEMA]),
        sync_interval=_BLOCK_BYTES,
        sync_marker=_SYNC_MARKER,
        metadata={f"{_KEY_PREFIX}{key}": str(value) for key, value in about.items()},
    )
    count = 0
    for message, version in records:
        writer.write(to_datum(message, version))
        count += 1
        if out.pieces:
            yield out.take()
    writer.flush()
    yield out.take()
    writer.write((END, {"records": count, "crc32c": out.checksum}))
    writer.flush()
    yield out.take()


def read_avro_snapshot(file: ReadableFile, id: SnapshotId, name: str) -> Iterator[Batch]:
    """The batches of the snapshot ``id``, header and footer included.

    The footer comes only after all checks; ``CorruptSnapshot`` if a check fails. Errors contain
    ``name``, the file's name.
    """
    source = _In(file)
    try:
        yield from _batches(source, id)
    except CorruptLog as fault:
        raise fault.located(file=name, byte=source.position) from None
    except OSError:
        raise
    except Exception as error:
        raise CorruptSnapshot(
            f"not a whole snapshot in Avro ({type(error).__name__})",
            file=name,
            byte=source.position,
            advice=_ADVICE,
        ) from None


def _batches(source: _In, id: SnapshotId) -> Iterator[Batch]:
    head = read_head(source.read)
    _check_schema(head)
    about = {key: int(head.metadata[_KEY_PREFIX + key]) for key in ("endOffset", "epoch")}
    inside = SnapshotId(about["endOffset"], about["epoch"])
    if inside != id:
        raise _fault(f"the file's name says snapshot {id}, its content {inside}")
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
        timestamp=int(head.metadata[f"{_KEY_PREFIX}timestamp"]),
        last_contained_timestamp=int(head.metadata[f"{_KEY_PREFIX}lastContainedLogTimestamp"]),
        control=control,
    )


def _no_control(records: Iterator[Any]) -> Iterator[Any]:
    for record in records:
        if isinstance(record[0], ControlMessage):
            raise _fault("a control record among the metadata records")
        yield record


def _check_schema(head: ContainerHeader) -> None:
    """Refuse other schemas, because some turn one byte into a large amount of data."""
    ours, found = _definitions([*union_schema(), _END_SCHEMA]), _definitions(head.schema)
    for name, definition in found.items():
        if ours.get(name) != definition:
            raise _fault(f"the Avro schema {name} is unknown")
    if head.codec != "null":
        raise _fault(f"it is compressed with {head.codec}; a snapshot is not compressed")


def _definitions(schema: Any) -> dict[str, object]:
    found: dict[str, object] = {}

    def definition(part: Any) -> object:
        if isinstance(part, str):
            return part
        if isinstance(part, list):
            return tuple(map(definition, part))
        if part["type"] == "array":
            return "array", definition(part["items"])
        name = part["name"]
        if part["type"] == "fixed":
            found[name] = part["type"], part["size"]
        elif part["type"] == "record":
            fields = tuple((field["name"], definition(field["type"])) for field in part["fields"])
            found[name] = part["type"], fields
        else:
            raise _fault(f"a snapshot has no Avro type {part['type']}")
        return name

    if not isinstance(schema, list) or not all(isinstance(each, dict) for each in schema):
        raise _fault("its schema is not a union of records")
    definition(schema)
    return found


def _records(source: _In, head: ContainerHeader) -> Iterator[Record]:
    schema, blocks = fastavro.parse_schema(head.schema), read_blocks(source.read, head, source.size)
    done = 0
    while True:
        checksum = source.checksum
        count, data = next(blocks, (0, b""))
        if not count:
            raise _fault("the snapshot has no end: it was cut short")
        block = io.BytesIO(data)
        for _ in range(count):
            named: Any = fastavro.schemaless_reader(block, schema, None, return_record_name=True)
            full_name, datum = named
            if full_name == END:
                _check_end(datum, done, checksum)
                if count > 1 or block.tell() != len(data) or source.position < source.size:
                    raise _fault("other data follows the end of the snapshot")
                return
            done += 1
            yield from_datum(full_name, datum)
        if block.tell() != len(data):
            raise _fault("other data follows the records of a block")


def _check_end(end: Mapping[str, Any], count: int, checksum: int) -> None:
    if end["crc32c"] != checksum:
        raise _fault("the checksum of the snapshot is wrong")
    if end["records"] != count:
        raise _fault(f"it has {count} records, but its end says {end['records']}")


def _fault(problem: str) -> CorruptSnapshot:
    return CorruptSnapshot(problem, advice=_ADVICE)


class _Out:
    """The file object for fastavro's output; ``checksum`` covers all bytes returned by ``take``."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.checksum = 0

    def write(self, data: bytes) -> int:
        self.pieces.append(data)
        return len(data)

    def flush(self) -> None:
        """Do nothing: ``take`` returns the written bytes."""

    def seekable(self) -> bool:
        return False

    def take(self) -> bytes:
        whole = b"".join(self.pieces)
        self.pieces.clear()
        self.checksum = crc32c_of_more(self.checksum, whole)
        return whole


class _In:
    """Reads the file from its beginning; ``checksum`` covers all bytes that were read."""

    def __init__(self, file: ReadableFile) -> None:
        self._file = file
        self.size = file.size()
        self.position = 0
        self.checksum = 0

    def read(self, size: int) -> bytes:
        data = self._file.read_at(self.position, max(0, min(size, self.size - self.position)))
        self.position += len(data)
        self.checksum = crc32c_of_more(self.checksum, data)
        return data
