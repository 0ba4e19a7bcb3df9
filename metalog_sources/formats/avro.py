"""ACLs as an Avro container file, for data tools.

Each ACL is one record of ``SCHEMA``. The sync marker is constant and nothing is compressed, so
equal ACLs and notes give equal bytes. The metadata has a CRC-32C of the schema and all records,
because Avro has no checksum. There are no ``owns`` and no users. This module must not know files.
"""

from __future__ import annotations

import io
import json
from typing import Any, Final, NamedTuple

import fastavro
from fastavro import parse_schema

from metalog.acl import (
    ACL_KEYS,
    Acl,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
    acl_fields,
)
from metalog.errors import InvalidRequest
from metalog.records.avro.container import ContainerHeader, container, read_blocks, read_head
from metalog.records.primitives.checksum import crc32c, crc32c_of_more
from metalog.text.plurals import counted
from metalog_sources.formats.document import (
    AclEntry,
    AclNotes,
    Document,
    FilePosition,
    in_order,
    most_entries,
)
from metalog_sources.formats.nodes.nodes import fault
from metalog_sources.formats.nodes.rules import NOTE_KEYS, checked
from metalog_sources.formats.nodes.words import read_word

SCHEMA: Final[dict[str, Any]] = {
    "type": "record",
    "name": "Acl",
    "namespace": "kraftmetalog",
    "fields": [
        *({"name": key, "type": "string"} for key in ACL_KEYS),
        *({"name": key, "type": ["null", "string"], "default": None} for key in NOTE_KEYS),
    ],
}
_WITH_NULLS: Final = {
    **SCHEMA,
    "fields": [{**field, "type": ["null", "string"]} for field in SCHEMA["fields"]],
}
"""``SCHEMA``, but any field can be null, so that an error can name a record with a null."""
_SYNC_MARKER: Final = b"kraft-metalog/1\n"
_CHECKSUM: Final = "kraftmetalog.crc32c"
_BLOCK_RECORDS: Final = 256
_FLAT: Final = frozenset(
    ("null", "boolean", "int", "long", "float", "double", "bytes", "string", "enum", "fixed")
)
_MOST_FIELDS: Final = 64
_MOST_BYTES: Final = 64 << 20
_MOST_TIMES: Final = 20
"""A file may inflate to ``_MOST_BYTES`` or to this many times its size, whichever is more."""
_LONGEST_PROBLEM: Final = 200
_NO_CHECKSUM: Final = (
    "an older metalog or another tool wrote this file without metalog's checksum, so a changed name"
    " would stay unnoticed"
)
_WRONG_CHECKSUM: Final = (
    "the checksum does not match, so the file was changed; export the ACLs again, or, if another"
    " tool changed the file on purpose, remove kraftmetalog.crc32c from its metadata"
)
_ENUMS: Final[dict[str, Any]] = {
    "resourceType": ResourceType,
    "patternType": PatternType,
    "operation": Operation,
    "permissionType": PermissionType,
}


class AvroFile(NamedTuple):
    """``problem`` is a warning about the file, or None."""

    document: Document
    problem: str | None


def write_avro(document: Document) -> bytes:
    schema, parsed = json.dumps(SCHEMA), parse_schema(SCHEMA)
    checksum = crc32c(schema.encode())
    blocks: list[tuple[int, bytes]] = []
    entries = in_order(document.entries)
    for start in range(0, len(entries), _BLOCK_RECORDS):
        part, data = entries[start : start + _BLOCK_RECORDS], io.BytesIO()
        for acl, notes, _ in part:
            record = {**acl_fields(acl), **dict(zip(NOTE_KEYS, notes, strict=True))}
            fastavro.schemaless_writer(data, parsed, record)
        blocks.append((len(part), data.getvalue()))
        checksum = crc32c_of_more(checksum, blocks[-1][1])
    metadata = {_CHECKSUM: b"%d" % checksum}
    return b"".join(container(schema, metadata, _SYNC_MARKER, iter(blocks)))


def read_avro(data: bytes, file: str) -> AvroFile:
    """Read any tool's file with a flat schema that Avro can read as ``SCHEMA``.

    The record can have any name. Raises ``InvalidRequest`` for any other file, and if the checksum
    does not match.
    """
    try:
        source = io.BytesIO(data)
        head = read_head(source.read)
        _check_flat(head.schema)
        entries, checksum = _entries(source, head, file)
    except InvalidRequest:
        raise
    except Exception as error:
        problem = " ".join(str(error).split())[:_LONGEST_PROBLEM] or type(error).__name__
        raise InvalidRequest(f"{file}: not an Avro file of ACLs: {problem}") from None
    expected = head.metadata.get(_CHECKSUM)
    if expected is None:
        return AvroFile(Document(tuple(entries)), f"{file}: {_NO_CHECKSUM}")
    if expected != b"%d" % checksum:
        raise InvalidRequest(f"{file}: not an Avro file of ACLs: {_WRONG_CHECKSUM}")
    return AvroFile(Document(tuple(entries)), None)


def _entries(source: io.BytesIO, head: ContainerHeader, file: str) -> tuple[list[AclEntry], int]:
    """The decoded records, and the CRC-32C of schema and records."""
    size = len(source.getbuffer())
    most = most_entries(size)
    written: Any = parse_schema(head.schema)
    wanted = parse_schema({**_WITH_NULLS, "aliases": [written["name"]]})
    checksum = crc32c(head.metadata["avro.schema"])
    entries: list[AclEntry] = []
    for count, data in read_blocks(source.read, head, max(_MOST_BYTES, _MOST_TIMES * size)):
        if len(entries) + count > most:
            raise ValueError(f"more than {counted(most, 'ACL')} in {size:,} bytes")
        checksum = crc32c_of_more(checksum, data)
        block = io.BytesIO(data)
        for _ in range(count):
            record = fastavro.schemaless_reader(block, written, wanted)
            entries.append(_entry(record, len(entries) + 1, file))
        if block.tell() != len(data):
            raise ValueError(f"{len(data) - block.tell()} bytes follow the records of a block")
    return entries, checksum


def _check_flat(schema: Any) -> None:
    """Refuse arrays, maps and recursion, because few bytes could become huge data."""
    if not isinstance(schema, dict) or schema.get("type") != "record":
        raise ValueError("its schema is not a record")
    if len(schema["fields"]) > _MOST_FIELDS:
        raise ValueError(f"its schema has more than {_MOST_FIELDS} fields")
    for field in schema["fields"]:
        kinds = field["type"] if isinstance(field["type"], list) else [field["type"]]
        for kind in kinds:
            described = kind if isinstance(kind, dict) else {"type": kind}
            is_flat = str(described.get("type")) in _FLAT
            if not is_flat or described.get("logicalType") == "decimal":
                raise ValueError(f"its field {str(field.get('name'))[:99]!r} is not a plain value")


def _entry(record: Any, number: int, file: str) -> AclEntry:
    position = FilePosition(f"{file}, record {number}")
    for key in ACL_KEYS:
        if record[key] is None:
            raise fault(position, f"{key} is null; give it a value")
    values: list[Any] = [
        read_word(_ENUMS[key], record[key], key, position) if key in _ENUMS else record[key]
        for key in ACL_KEYS
    ]
    return checked(AclEntry(Acl(*values), AclNotes(*(record[key] for key in NOTE_KEYS)), position))
