"""Encodes messages as Avro, with a schema for each type and version.

A schema has the type's name, a namespace that ends in the version, and Kafka's JSON field names.
A CRC-64-AVRO fingerprint identifies the schema (Avro 1.12, "Schema fingerprints"). Unknown tagged
fields are kept, so no part of a message is lost.

This module must not know where a value is stored, nor what a message means.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

import fastavro
import fastavro.schema

from metalog.errors import InvalidRequest
from metalog.records.codegen.typed_field import camel, snake
from metalog.records.frame import encode_body
from metalog.records.message import ControlMessage, Message
from metalog.records.messages.registry import control_message_type, message_type
from metalog.records.primitives.text import text_problem
from metalog.records.schema import CONTROL_RECORDS, METADATA_RECORDS, Field, MessageSchema

NAMESPACE: Final = "kraftmetalog"
_ALL: Final = (*METADATA_RECORDS, *CONTROL_RECORDS)
_PRIMITIVES: Final[dict[str, Any]] = {
    "bool": "boolean",
    "int8": "int",
    "int16": "int",
    "uint16": "int",
    "int32": "int",
    "int64": "long",
    "float64": "double",
    "string": "string",
    "bytes": "bytes",
}
_UUID: Final = {"type": "fixed", "name": f"{NAMESPACE}.Uuid", "size": 16}
_TAGGED: Final = {
    "type": "record",
    "name": f"{NAMESPACE}.UnknownTaggedField",
    "fields": [{"name": "tag", "type": "int"}, {"name": "data", "type": "bytes"}],
}
_UNKNOWN: Final = "unknownTaggedFields"
_NOT_IN_THE_UNION: Final = ("LeaderChangeMessage", "SnapshotHeaderRecord", "SnapshotFooterRecord")

AnyType = type[Message] | type[ControlMessage]


class AvroType(NamedTuple):
    """One message type in one version; ``schema`` is the Avro schema before parsing."""

    name: str
    key: int
    version: int
    fingerprint: bytes
    schema: dict[str, Any]


class _Codec(NamedTuple):
    type: AnyType
    version: int
    full_name: str
    fingerprint: bytes
    parsed: Any
    to_datum: Callable[[Any], dict[str, Any]]
    from_datum: Callable[[Any], Any]


def to_avro(message: Message | ControlMessage, version: int) -> tuple[bytes, bytes]:
    """The schema's fingerprint, and the encoded message.

    ``InvalidRequest`` if there is no schema, or if Kafka's or Avro's encoding cannot hold a value.
    """
    codec = _by_type().get((type(message), version))
    if codec is None:
        raise InvalidRequest(f"{message.TYPE_NAME} version {version} has no Avro schema")
    encode_body(message, version, bytearray())  # fastavro accepts 300 and 3.7 for an int8
    out = io.BytesIO()
    try:
        datum = codec.to_datum(message)
    except ValueError as error:
        raise InvalidRequest(f"{message.TYPE_NAME} cannot be written as Avro: {error}") from None
    try:
        fastavro.schemaless_writer(out, codec.parsed, datum)
    except (ValueError, TypeError, OverflowError) as error:
        raise InvalidRequest(
            f"{message.TYPE_NAME} cannot be written as Avro ({type(error).__name__})"
        ) from None
    return codec.fingerprint, out.getvalue()


def from_avro(fingerprint: bytes, value: bytes) -> tuple[Message | ControlMessage, int]:
    """The message and its version; ``ValueError`` says why the value cannot be read."""
    codec = _by_fingerprint().get(fingerprint)
    if codec is None:
        raise ValueError(f"the Avro schema {fingerprint.hex()} is unknown")
    source = io.BytesIO(value)
    name = f"{codec.type.TYPE_NAME} version {codec.version}"
    try:
        datum = fastavro.schemaless_reader(source, codec.parsed, None)
        message = codec.from_datum(datum)
    except Exception as error:
        raise ValueError(f"not Avro of {name} ({type(error).__name__})") from None
    if left := len(value) - source.tell():
        raise ValueError(f"{left} bytes follow the Avro of {name}")
    try:
        encode_body(message, codec.version, bytearray())  # Avro's int holds 300, Kafka's int8 not
    except InvalidRequest as error:
        raise ValueError(f"not a record of Kafka: {error}") from None
    return message, codec.version


def to_datum(message: Message | ControlMessage, version: int) -> tuple[str, dict[str, Any]]:
    """The name of a message's schema in ``union_schema``, and the message's fields for fastavro."""
    codec = _by_type().get((type(message), version))
    if codec is None:
        raise InvalidRequest(f"{message.TYPE_NAME} version {version} has no Avro schema")
    return codec.full_name, codec.to_datum(message)


def from_datum(full_name: str, datum: Mapping[str, Any]) -> tuple[Message | ControlMessage, int]:
    """The inverse of ``to_datum``; ``ValueError`` if the schema is unknown."""
    codec = _by_full_name().get(full_name)
    if codec is None:
        raise ValueError(f"the Avro schema {full_name} is unknown")
    return codec.from_datum(datum), codec.version


def union_schema() -> list[Any]:
    """The union of all types in all versions, without LEADER_CHANGE, SNAPSHOT_HEADER and
    SNAPSHOT_FOOTER."""
    defined: set[str] = set()
    return [
        _record(schema.name, schema.fields, version, defined)
        for schema in _ALL
        if schema.name not in _NOT_IN_THE_UNION
        for version in _versions(schema)
    ]


def fingerprint_of(schema: Any) -> bytes:
    """Eight bytes, little-endian, as in Avro's single-object encoding."""
    canonical = fastavro.schema.to_parsing_canonical_form(schema)
    return bytes.fromhex(fastavro.schema.fingerprint(canonical, "CRC-64-AVRO"))


@cache
def avro_types() -> Sequence[AvroType]:
    """Every type in every version, in the order of ``records.schema``."""
    found = []
    for schema in _ALL:
        for version in _versions(schema):
            avro = _record(schema.name, schema.fields, version, set())
            found.append(AvroType(schema.name, schema.key, version, fingerprint_of(avro), avro))
    return tuple(found)


@cache
def _by_fingerprint() -> Mapping[bytes, _Codec]:
    schemas = {each.name: each for each in _ALL}
    return {each.fingerprint: _codec(each, schemas[each.name]) for each in avro_types()}


@cache
def _by_type() -> Mapping[tuple[AnyType, int], _Codec]:
    return {(codec.type, codec.version): codec for codec in _by_fingerprint().values()}


@cache
def _by_full_name() -> Mapping[str, _Codec]:
    return {codec.full_name: codec for codec in _by_fingerprint().values()}


def _codec(avro: AvroType, schema: MessageSchema) -> _Codec:
    is_control = schema in CONTROL_RECORDS
    kind: AnyType | None = (control_message_type if is_control else message_type)(schema.key)
    if kind is None:
        raise InvalidRequest(f"{schema.name} has no class")
    structs: dict[str, tuple[Field, ...]] = {}
    to_fields, from_fields = _struct_codec(kind, schema.fields, avro.version, structs)
    parsed = fastavro.parse_schema(avro.schema)
    name = avro.schema["name"]
    return _Codec(kind, avro.version, name, avro.fingerprint, parsed, to_fields, from_fields)


def _versions(schema: MessageSchema) -> range:
    first, _, last = schema.versions.partition("-")
    return range(int(first), int(last or first) + 1)


def _includes(versions: str | None, version: int) -> bool:
    return versions is not None and version >= int(versions.removesuffix("+"))


def _fields_at(fields: Sequence[Field], version: int) -> list[Field]:
    return [field for field in fields if _includes(field.versions, version)]


def _record(name: str, fields: Sequence[Field], version: int, defined: set[str]) -> dict[str, Any]:
    """The schema of a message or struct. Structs in ``defined`` appear only by name."""
    return {
        "type": "record",
        "name": f"{NAMESPACE}.v{version}.{name}",
        "fields": [
            *(
                {"name": camel(field.name), "type": _type(field, version, defined)}
                for field in _fields_at(fields, version)
            ),
            {"name": _UNKNOWN, "type": {"type": "array", "items": _once(_TAGGED, defined)}},
        ],
    }


def _type(field: Field, version: int, defined: set[str]) -> Any:
    item = field.type.removeprefix("[]")
    avro: Any = _PRIMITIVES.get(item)
    if item == "uuid":
        avro = _once(_UUID, defined)
    elif avro is None:
        name = f"{NAMESPACE}.v{version}.{item}"
        if name in defined:
            avro = name
        else:
            defined.add(name)
            avro = _record(item, field.fields, version, defined)
    if field.type.startswith("[]"):
        avro = {"type": "array", "items": avro}
    return ["null", avro] if _includes(field.nullable, version) else avro


def _once(named: dict[str, Any], defined: set[str]) -> Any:
    name = named["name"]
    if name in defined:
        return name
    defined.add(name)
    return named


_Convert = Callable[[Any], Any]


def _struct_codec(
    kind: Any, fields: Sequence[Field], version: int, structs: dict[str, tuple[Field, ...]]
) -> tuple[_Convert, _Convert]:
    """Two functions that turn an object of class ``kind`` into a dict for fastavro, and back."""
    steps: list[tuple[str, str, _Convert, _Convert]] = []
    for field in _fields_at(fields, version):
        to_avro_value, from_avro_value = _value_codec(kind, field, version, structs)
        steps.append((snake(field.name), camel(field.name), to_avro_value, from_avro_value))

    def to_datum(struct: Any) -> dict[str, Any]:
        datum = {key: convert(getattr(struct, name)) for name, key, convert, _ in steps}
        datum[_UNKNOWN] = [{"tag": tag, "data": data} for tag, data in struct.unknown_tagged_fields]
        return datum

    def from_datum(datum: Mapping[str, Any]) -> Any:
        values = {name: convert(datum[key]) for name, key, _, convert in steps}
        unknown = tuple((each["tag"], each["data"]) for each in datum[_UNKNOWN])
        return kind(**values, unknown_tagged_fields=unknown)

    return to_datum, from_datum


def _value_codec(
    kind: Any, field: Field, version: int, structs: dict[str, tuple[Field, ...]]
) -> tuple[_Convert, _Convert]:
    item = field.type.removeprefix("[]")
    to_item: _Convert = _text_check(camel(field.name)) if item == "string" else lambda value: value
    from_item: _Convert = to_item
    if item not in _PRIMITIVES and item != "uuid":
        structs[item] = field.fields or structs[item]
        nested = getattr(sys.modules[kind.__module__], item)
        to_item, from_item = _struct_codec(nested, structs[item], version, structs)
    if not field.type.startswith("[]"):
        return to_item, from_item

    def to_items(value: Any) -> Any:
        return None if value is None else [to_item(each) for each in value]

    def from_items(value: Any) -> Any:
        return None if value is None else tuple([from_item(each) for each in value])

    return to_items, from_items


def _text_check(name: str) -> _Convert:
    def checked(text: str | None) -> str | None:
        if text is not None and (problem := text_problem(text)) is not None:
            raise ValueError(f"its {name} {problem}; write another one")
        return text

    return checked
