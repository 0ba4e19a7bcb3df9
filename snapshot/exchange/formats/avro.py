"""ACLs as an Avro container file, for the tools of the data world.

One record an ACL, with the names of ``acls --json``; the schema is ``SCHEMA``. The sync
marker is always the same and nothing is compressed, so that equal ACLs give equal bytes.
Owns and users have no place in it. This module must not know files.
"""

from __future__ import annotations

import io
from typing import Any, Final

import fastavro

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
from snapshot.exchange.formats.document import Document, Entry, Notes, Place, in_order
from snapshot.exchange.formats.rules import NOTE_KEYS, checked
from snapshot.exchange.formats.words import read_word

SCHEMA: Final[dict[str, Any]] = {
    "type": "record",
    "name": "Acl",
    "namespace": "kraftmetalog",
    "fields": [
        *({"name": key, "type": "string"} for key in ACL_KEYS),
        *({"name": key, "type": ["null", "string"], "default": None} for key in NOTE_KEYS),
    ],
}
_SYNC_MARKER: Final = b"kraft-metalog/1\n"
_ENUMS: Final[dict[str, Any]] = {
    "resourceType": ResourceType,
    "patternType": PatternType,
    "operation": Operation,
    "permissionType": PermissionType,
}


def write_avro(document: Document) -> bytes:
    target = io.BytesIO()
    records: list[dict[str, str | None]] = [
        {**acl_fields(acl), **dict(zip(NOTE_KEYS, notes, strict=True))}
        for acl, notes, _ in in_order(document.entries)
    ]
    fastavro.writer(target, fastavro.parse_schema(SCHEMA), records, sync_marker=_SYNC_MARKER)
    return target.getvalue()


def read_avro(data: bytes, file: str) -> Document:
    """Any container whose records have our fields, whoever wrote it."""
    try:
        reader = fastavro.reader(io.BytesIO(data), reader_schema=fastavro.parse_schema(SCHEMA))
        records = list(reader)
    except Exception as error:
        said = " ".join(str(error).split()) or type(error).__name__
        raise InvalidRequest(f"{file}: no Avro file of ACLs: {said}") from None
    return Document(tuple(_entry(record, number, file) for number, record in enumerate(records, 1)))


def _entry(record: Any, number: int, file: str) -> Entry:
    place = Place(f"{file}, record {number}")
    values: list[Any] = [
        read_word(_ENUMS[key], record[key], key, place) if key in _ENUMS else record[key]
        for key in ACL_KEYS
    ]
    return checked(Entry(Acl(*values), Notes(*(record[key] for key in NOTE_KEYS)), place))
