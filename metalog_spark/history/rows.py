"""Converts records of a log to Arrow rows.

The columns are those of ``metalog dump --json``, a struct for each record type of ACLs and SCRAM
users, and ``missing``, the reason for a gap. Only the requested columns are filled. This module
must not know where records are read from.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa

from metalog.errors import CorruptLog, InvalidRequest
from metalog.ids import Uuid, uuid_text
from metalog.records.acl_codes import acl_of, can_be_acl
from metalog.records.control import decode_control
from metalog.records.frame import Undecodable, decode_value
from metalog.records.masking import masked
from metalog.records.message import ControlMessage
from metalog.records.messages import (
    AccessControlEntryRecord,
    RemoveAccessControlEntryRecord,
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)
from metalog.records.messages.registry import METADATA, message_type
from metalog.records.unread import UnreadTypes
from metalog.scram import ScramMechanism

if TYPE_CHECKING:
    from metalog.records.batch import Batch, BatchRecord

_MOST_ROWS: Final = 4096
_MOST_BYTES: Final = 16 << 20
_US_PER_MS: Final = 1000
_MECHANISMS: Final = {mechanism.value: mechanism.mechanism_name for mechanism in ScramMechanism}
TYPE_NAMES: Final = frozenset(kind.TYPE_NAME for kind in map(message_type, METADATA) if kind)
_FIELD: Final = re.compile(r"(\w+):")
"""The name of a field in Spark's DDL for a struct."""
_SECRETS: Final = ("salt", "stored_key", "server_key")


class RecordFilter(NamedTuple):
    """Selects rows with an offset from ``start`` up to ``end`` (exclusive), a timestamp from
    ``since_us`` to ``until_us`` (inclusive), and one of ``types``; None is any.

    With ``keeps_unread``, rows about missing and undecodable records pass whatever the types,
    because such a record can be of any type."""

    start: int = 0
    end: int = 1 << 63
    since_us: int | None = None
    until_us: int | None = None
    types: frozenset[str] | None = None
    keeps_unread: bool = True

    def admits(self, timestamp_ms: int) -> bool:
        moment = timestamp_ms * _US_PER_MS
        return (self.since_us is None or moment >= self.since_us) and (
            self.until_us is None or moment <= self.until_us
        )

    def unread(self) -> UnreadTypes | None:
        """The record types to skip."""
        types = self.types
        if types is None:
            return None
        known = filter(None, map(message_type, METADATA))
        return UnreadTypes(kind for kind in known if kind.TYPE_NAME not in types)


class _Row(NamedTuple):
    """The input of a row; ``why_missing`` replaces the message if records are missing."""

    offset: int
    epoch: int | None
    timestamp_ms: int | None
    version: int | None
    message: Any
    why_missing: str | None = None

    @property
    def legible(self) -> Any:
        """The message, even if Kafka refuses it; None if its bytes are unreadable."""
        return self.message.lenient if isinstance(self.message, Undecodable) else self.message


class Columns:
    """Makes Arrow batches of ``schema``. Without ``secrets``, salts, keys and passwords are left
    out, and also undecodable records' bytes, which can contain secrets."""

    def __init__(self, schema: pa.Schema, *, secrets: bool) -> None:
        _refuse_unknown("a log has no column", schema, _COLUMNS)
        for field in filter(lambda field: pa.types.is_struct(field.type), schema):
            known = _FIELD.findall(_COLUMNS[field.name].type)
            _refuse_unknown(f"the column {field.name} has no field", field.type, known)
        self._schema = schema
        self._fill = [_COLUMNS[name].of(secrets) for name in schema.names]

    def of(self, batches: Iterable[Batch], wanted: RecordFilter) -> Iterator[pa.RecordBatch]:
        """The rows of ``batches`` that pass ``wanted``, in order.

        Raises:
            CorruptLog: the log is damaged; all rows before the damage are yielded first.
        """
        rows: list[_Row] = []
        size = 0
        unread = wanted.unread()
        try:
            for batch in batches:
                before = len(rows)
                rows += _rows(batch, wanted, unread)
                if len(rows) > before:
                    size += batch.size
                if len(rows) >= _MOST_ROWS or size >= _MOST_BYTES:
                    yield self._batch(rows)
                    rows, size = [], 0
        except CorruptLog:
            if rows:
                yield self._batch(rows)
            raise
        if rows:
            yield self._batch(rows)

    def missing(self, offset: int, why: str, wanted: RecordFilter) -> Iterator[pa.RecordBatch]:
        """One row that says ``why`` records are missing at ``offset``. No row if ``wanted``
        excludes ``offset``, selects times, or does not keep what is unread."""
        is_kept = wanted.keeps_unread and wanted.since_us is None and wanted.until_us is None
        if is_kept and wanted.start <= offset < wanted.end:
            yield self._batch([_Row(offset, None, None, None, None, why)])

    def _batch(self, rows: Sequence[_Row]) -> pa.RecordBatch:
        columns = [
            pa.array([value(row) for row in rows], field.type)
            for field, value in zip(self._schema, self._fill, strict=True)
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)


def _refuse_unknown(has_no: str, fields: Iterable[pa.Field], known: Collection[str]) -> None:
    unknown = [field.name for field in fields if field.name not in known]
    if unknown:
        raise InvalidRequest(f"{has_no} {unknown[0]}; it has {', '.join(known) or 'none'}")


def _rows(batch: Batch, wanted: RecordFilter, unread: UnreadTypes | None) -> Iterator[_Row]:
    if batch.next_offset <= wanted.start or batch.base_offset >= wanted.end:
        return
    if batch.is_control and wanted.types is not None:
        return
    for record in batch.records(unread):
        if not wanted.start <= record.offset < wanted.end or not wanted.admits(record.timestamp):
            continue
        row = _decoded(batch, record, record.value or b"")
        kind = _type(row)
        is_kept = wanted.keeps_unread and kind is None
        if wanted.types is None or is_kept or kind in wanted.types:
            yield row


def _decoded(batch: Batch, record: BatchRecord, value: bytes) -> _Row:
    message: Any
    if batch.is_control:
        version, message = decode_control(record.key, value)
    else:
        version, message = decode_value(value)
    return _Row(record.offset, batch.epoch, record.timestamp, version, message)


def _type(row: _Row) -> str | None:
    message = row.legible
    if message is None or isinstance(message, ControlMessage):
        return None
    return str(message.TYPE_NAME)


def _control(row: _Row) -> str | None:
    message = row.legible
    return message.TYPE_NAME if isinstance(message, ControlMessage) else None


def _acl(row: _Row) -> dict[str, str] | None:
    message = row.legible
    if not isinstance(message, AccessControlEntryRecord):
        return None
    acl = acl_of(message)
    return {
        "id": uuid_text(Uuid(message.id)),
        "resource_type": acl.resource_type.name,
        "resource_name": acl.resource_name,
        "pattern_type": acl.pattern_type.name,
        "principal": acl.principal,
        "host": acl.host,
        "operation": acl.operation.name,
        "permission_type": acl.permission_type.name,
    }


def _removed_acl(row: _Row) -> dict[str, str] | None:
    message = row.legible
    if not isinstance(message, RemoveAccessControlEntryRecord):
        return None
    return {"id": uuid_text(Uuid(message.id))}


def _credential(row: _Row) -> dict[str, object] | None:
    message = row.legible
    if not isinstance(message, UserScramCredentialRecord):
        return None
    return {
        "name": message.name,
        "mechanism": _mechanism(message.mechanism),
        "iterations": message.iterations,
    }


def _credential_with_secrets(row: _Row) -> dict[str, object] | None:
    known = _credential(row)
    if known is None:
        return None
    return known | {key: b64encode(getattr(row.legible, key)).decode("ascii") for key in _SECRETS}


def _removed_credential(row: _Row) -> dict[str, str] | None:
    message = row.legible
    if not isinstance(message, RemoveUserScramCredentialRecord):
        return None
    return {"name": message.name, "mechanism": _mechanism(message.mechanism)}


def _mechanism(code: int) -> str:
    return _MECHANISMS.get(code, "UNKNOWN")


def _json(row: _Row, shown: Callable[[Any, int], str]) -> str | None:
    message = row.legible
    if message is None or row.version is None or _is_struct(message):
        return None
    return shown(message, row.version)


def _is_struct(message: Any) -> bool:
    """Whether a struct column has all content of the record."""
    if message.unknown_tagged_fields:
        return False
    if isinstance(message, AccessControlEntryRecord):
        return can_be_acl(message)
    if isinstance(message, UserScramCredentialRecord | RemoveUserScramCredentialRecord):
        return message.mechanism in _MECHANISMS
    return isinstance(message, RemoveAccessControlEntryRecord)


def _undecodable(row: _Row) -> str | None:
    if row.message is None or row.legible is not None:
        return None
    return str(row.message.reason)


class _Column(NamedTuple):
    """``type`` is Spark's DDL. ``with_secrets`` replaces ``value`` if secrets are shown."""

    type: str
    value: Callable[[_Row], object]
    with_secrets: Callable[[_Row], object] | None = None

    def of(self, secrets: bool) -> Callable[[_Row], object]:
        return self.with_secrets if secrets and self.with_secrets is not None else self.value


_COLUMNS: Final = {
    "offset": _Column("BIGINT", lambda row: row.offset),
    "epoch": _Column("INT", lambda row: row.epoch),
    "timestamp": _Column(
        "TIMESTAMP", lambda row: None if row.timestamp_ms is None else row.timestamp_ms * _US_PER_MS
    ),
    "type": _Column("STRING", _type),
    "version": _Column("INT", lambda row: None if _type(row) is None else row.version),
    "control": _Column("STRING", _control),
    "access_control_entry": _Column(
        "STRUCT<id: STRING, resource_type: STRING, resource_name: STRING, pattern_type: STRING,"
        " principal: STRING, host: STRING, operation: STRING, permission_type: STRING>",
        _acl,
    ),
    "remove_access_control_entry": _Column("STRUCT<id: STRING>", _removed_acl),
    "user_scram_credential": _Column(
        "STRUCT<name: STRING, mechanism: STRING, iterations: INT, salt: STRING,"
        " stored_key: STRING, server_key: STRING>",
        _credential,
        _credential_with_secrets,
    ),
    "remove_user_scram_credential": _Column(
        "STRUCT<name: STRING, mechanism: STRING>", _removed_credential
    ),
    "data": _Column(
        "STRING",
        lambda row: _json(row, masked),
        lambda row: _json(row, lambda message, version: message.json_text(version)),
    ),
    "undecodable": _Column("STRING", _undecodable),
    "value": _Column(
        "BINARY",
        lambda row: None,
        lambda row: None if _undecodable(row) is None else bytes(row.message.value),
    ),
    "missing": _Column("STRING", lambda row: row.why_missing),
}
SCHEMA: Final = ", ".join(f"{name} {column.type}" for name, column in _COLUMNS.items())
"""All columns, in Spark's DDL."""
