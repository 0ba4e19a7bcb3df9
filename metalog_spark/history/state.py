"""Packs the ACLs of a pipeline's folder, with the times of each ACL, for workers.

The packed form is one compressed Arrow stream. This module must not know how anything is decided.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from authorizer.history.timeline import AclLifetime, Edge, Timeline
from metalog.acl import Acl, Operation, PatternType, PermissionType, ResourceType
from metalog.ids import parse_uuid

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_KNOWN: Final = "KNOWN"
_ENUMS: Final[dict[str, Any]] = {
    "resource_type": ResourceType,
    "pattern_type": PatternType,
    "operation": Operation,
    "permission_type": PermissionType,
}
_EDGES: Final = ("from_offset", "from_ms", "to_offset", "to_ms")
_CHANGELOG: Final = ("id", *Acl._fields, "from_offset", "from_time", "to_offset", "to_time")
_HISTORY: Final = ("kind", "from_offset", "from_time", "to_time")


class FolderState(NamedTuple):
    """``timeline`` is None if the history has no known range. ``unknown`` are time ranges in
    milliseconds whose ACLs are unknown; an end of None is open."""

    timeline: Timeline | None
    unknown: tuple[tuple[int | None, int | None], ...]


def packed(changelog: DataFrame, history: DataFrame) -> bytes:
    """The input of ``unpacked``, from the tables ACL_CHANGELOG and HISTORY. The order of rows does
    not change the bytes."""
    return packed_rows(changelog.toArrow(), history.toArrow())


def packed_rows(changelog: pa.Table, history: pa.Table) -> bytes:
    """As ``packed``, from rows on the driver."""
    columns = (column.to_pylist() for column in _in_ms(history, _HISTORY).columns)
    ranges = sorted(zip(*columns, strict=True), key=repr)
    return _written(_table(changelog).replace_schema_metadata({"history": json.dumps(ranges)}))


def packed_lifetimes(changelog: DataFrame) -> bytes:
    """As ``packed``, without HISTORY; the input of ``unpacked_lifetimes``."""
    return _written(_table(changelog.select(*_CHANGELOG).toArrow()))


def unpacked(data: bytes) -> FolderState:
    table = _read(data)
    history = json.loads(table.schema.metadata[b"history"])
    known = [Edge(offset, ms or 0) for kind, offset, ms, _ in history if kind == _KNOWN]
    unknown = tuple((begin, end) for kind, _, begin, end in history if kind != _KNOWN)
    return FolderState(Timeline(min(known), _lifetimes(table)) if known else None, unknown)


def unpacked_lifetimes(data: bytes) -> Iterator[AclLifetime]:
    """Every lifetime of every ACL, from the result of ``packed_lifetimes``."""
    return _lifetimes(_read(data))


def _table(changelog: pa.Table) -> pa.Table:
    lifetimes = _in_ms(changelog, _CHANGELOG)
    order = [(name, "ascending") for name in (*_EDGES, "id")]
    return _encoded(lifetimes.sort_by(order).combine_chunks()).replace_schema_metadata()


def _in_ms(table: pa.Table, names: Iterable[str]) -> pa.Table:
    columns = {}
    for name in names:
        column = table[name]
        if name.endswith("_time"):
            name = f"{name.removesuffix('_time')}_ms"
            column = pc.divide(column.cast(pa.int64()), 1000)
        columns[name] = column
    return pa.table(columns)


def _written(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _read(data: bytes) -> pa.Table:
    with pa.ipc.open_stream(data) as reader:
        return reader.read_all()


def _lifetimes(table: pa.Table) -> Iterator[AclLifetime]:
    acls = map(Acl, *(_values(table, name) for name in Acl._fields))
    begins = map(_edge, *(_values(table, name) for name in _EDGES[:2]))
    ends = map(_edge, *(_values(table, name) for name in _EDGES[2:]))
    return map(AclLifetime, map(parse_uuid, _values(table, "id")), acls, begins, ends)


def _edge(offset: int | None, ms: int | None) -> Edge | None:
    return None if offset is None else Edge(offset, ms or 0)


def _values(table: pa.Table, name: str) -> Iterable[Any]:
    """The column ``name``, in which equal texts share one object."""
    column = table[name]
    if not pa.types.is_dictionary(column.type):
        values: list[Any] = column.to_pylist()
        return values
    encoded = column.combine_chunks()
    texts = encoded.dictionary.to_pylist()
    decoded = [_ENUMS[name][text] for text in texts] if name in _ENUMS else texts
    return map(decoded.__getitem__, encoded.indices.to_pylist())


def _encoded(table: pa.Table) -> pa.Table:
    """Encode the texts of ACLs as dictionaries, so that each distinct text is sent once."""
    for name in Acl._fields:
        at = table.schema.get_field_index(name)
        table = table.set_column(at, name, table[name].dictionary_encode())
    return table
