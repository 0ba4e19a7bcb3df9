"""The source text of a message's module, from its schema. Used by ``generate`` only.

Text in, text out; formatting is ruff's. This module must not know files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile
from typing import Final

from metalog.records.codegen.codec_source import decode_body, encode_body, layouts
from metalog.records.codegen.typed_field import TypedField, camel, highest, typed_field
from metalog.records.schema import Field, MessageSchema

HEADER: Final = "# Generated from metalog/records/schema.py by metalog.records.codegen.generate.\n"
_LINT: Final = "# ruff: noqa: C901, PLR0915\n"


def message_module(schema: MessageSchema, key_name: str) -> str:
    base = "Message" if key_name == "API_KEY" else "ControlMessage"
    constants = [
        f"{key_name}: ClassVar[int] = {schema.key}",
        f'TYPE_NAME: ClassVar[str] = "{schema.type_name}"',
        f"VERSIONS: ClassVar[range] = range({highest(schema.versions) + 1})",
    ]
    classes = [
        _class(name, "Struct", [], [typed_field(f) for f in fields], [])
        for name, fields in nested_structs(schema.fields)
    ]
    fields = [typed_field(f) for f in schema.fields]
    classes.append(_class(schema.name, base, constants, fields, [_summary(schema, base)]))
    code = "\n".join(classes)
    imports = _imports(code, base)
    title = f'"""{schema.name}: Kafka\'s definition as a typed, straight-line codec."""\n'
    return "\n".join([HEADER + _LINT, title, imports, *layouts(code), "", code])


def _summary(schema: MessageSchema, base: str) -> str:
    kind = "Metadata record, api key" if base == "Message" else "Control record, type"
    return f'"""{kind} {schema.key}, versions {schema.versions}."""'


def nested_structs(fields: tuple[Field, ...]) -> Iterator[tuple[str, tuple[Field, ...]]]:
    """Each struct declared inside ``fields``, innermost first."""
    for field in fields:
        if field.fields:
            yield from nested_structs(field.fields)
            yield field.type.removeprefix("[]"), field.fields


def _class(
    name: str, base: str, constants: list[str], fields: list[TypedField], docstring: list[str]
) -> str:
    lines = [f"class _{name}Fields(NamedTuple):"]
    lines += [f"    {f.name}: {f.annotation} = {f.default}" for f in fields]
    lines += ["    unknown_tagged_fields: TaggedFields = ()", "", "", "@message"]
    lines += [f"class {name}({base}, _{name}Fields):"]
    body = [*docstring, "", "__slots__ = ()", *constants, *_repr_constants(fields), ""]
    body += [
        "@staticmethod",
        f"def decode(data: bytes, at: int, version: int) -> tuple[{name}, int]:",
    ]
    body += [*_indented(decode_body(name, fields)), ""]
    body += ["def encode(self, out: bytearray, version: int) -> None:"]
    body += [*_indented(encode_body(fields)), ""]
    body += ["def json_text(self, version: int) -> str:"]
    body += _indented(_json_text_body(fields))
    return "\n".join(lines + _indented(body)) + "\n\n"


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" if line else "" for line in lines]


def _repr_constants(fields: list[TypedField]) -> list[str]:
    lines = []
    for constant, names in (
        ("SECRETS", [f.name for f in fields if f.field.secret]),
        ("UUIDS", [f.name for f in fields if f.item == "uuid"]),
    ):
        if names:
            quoted = ", ".join(f'"{name}"' for name in names)
            lines.append(f"{constant}: ClassVar[frozenset[str]] = frozenset({{{quoted}}})")
    return lines


def _json_text_body(fields: list[TypedField]) -> list[str]:
    """The code that writes each field after a comma, and the first one after a brace.

    All fields are read at once, which costs less than reading each by its name.
    """
    lines = [f"{', '.join(f.local for f in fields)}, _ = self"] if fields else []
    always = list(takewhile(lambda f: f.field.tag is None and f.first == 0, fields))
    if not always:
        return [*lines, 'text = ""', *_json_members(fields), 'return f"{{{text[1:]}}}"']
    begin = [f"    f'{_json_member(f)}'" for f in always]
    begin[0] = begin[0].replace(",", "{{", 1)
    return [
        *lines,
        "text = (",
        *begin,
        ")",
        *_json_members(fields[len(always) :]),
        "return text + '}'",
    ]


def _json_members(fields: list[TypedField]) -> list[str]:
    lines = []
    for f in fields:
        conditions = [f"version >= {f.first}"] if f.first > 0 else []
        if f.field.tag is not None:
            conditions.append(f.is_set(f.local))
        put = f"text += f'{_json_member(f)}'"
        lines += [f"if {' and '.join(conditions)}:", f"    {put}"] if conditions else [put]
    return lines


def _json_member(f: TypedField) -> str:
    return f',"{camel(f.field.name)}":{f.json_text}'


def _imports(code: str, base: str) -> str:
    words = set(re.findall(r"\w+", code))
    bases = {base, "message"} | ({"Struct"} & words)
    json_words = {w for w in words if re.match(r"json_(?!text)", w)}
    fields = {w for w in words if re.match(r"(read|write|check|refuse)_|TaggedFields$", w)}
    fields |= {"INT32_ARRAYS", "MANY", "UUID_ARRAYS"} & words
    ids = {"Uuid", "ZERO_UUID", "uuid_text"} & words
    lines = [
        "from __future__ import annotations",
        "",
        "import struct",
        "from typing import ClassVar, Final, NamedTuple",
        "",
    ]
    for module, names in (
        ("metalog.ids", ids),
        ("metalog.records.primitives.fields", fields),
        ("metalog.records.primitives.json_fields", json_words),
        ("metalog.records.primitives.text", {"decode_text"} & words),
        ("metalog.records.message", bases),
    ):
        if names:
            lines.append(f"from {module} import {', '.join(sorted(names))}")
    return "\n".join(lines) + "\n\n"
