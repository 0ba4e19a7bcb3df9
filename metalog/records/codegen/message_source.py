"""Makes the source text of a message's module from the message's schema, for ``generate``.

Consecutive fields of fixed size with the same first version become one ``struct``. The generated
``decode`` reads short forms, such as a one-byte length. ``primitives.fields`` reads any other form.

This module does not format its output, and must not know files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby, takewhile
from struct import calcsize
from typing import Final

from metalog.records.codegen.typed_field import TypedField, camel, highest, typed_field
from metalog.records.schema import Field, MessageSchema

HEADER: Final = "# Generated from metalog/records/schema.py by metalog.records.codegen.generate.\n"
_LINT: Final = "# ruff: noqa: C901, PLR0915\n"
_FORMATS: Final = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "int64": "q",
    "float64": "d",
    "uuid": "16s",
}
_ARRAY_STRUCTS: Final = {"int32": "INT32_ARRAYS", "uuid": "UUID_ARRAYS"}
_READ_UNKNOWN_TAGS: Final = [
    "unknown: TaggedFields = ()",
    "if data[at]:",
    "    unknown, at = read_tagged_fields(data, at)",
    "else:",
    "    at += 1",
]
_WRITE_UNKNOWN_TAGS: Final = [
    "if self.unknown_tagged_fields:",
    "    write_tagged_fields(out, self.unknown_tagged_fields)",
    "else:",
    "    out.append(0)",
]


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
    title = f'"""The class of {schema.name}, with its codec."""\n'
    return "\n".join([HEADER + _LINT, title, imports, *layouts(code), "", code])


def _summary(schema: MessageSchema, base: str) -> str:
    kind = "Metadata record, api key" if base == "Message" else "Control record, type"
    versions = "versions" if "-" in schema.versions else "version"
    return f'"""{kind} {schema.key}, {versions} {schema.versions}."""'


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
    lines += ["    unknown_tagged_fields: TaggedFields = ()", "", ""]
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
        ("UUIDS", [f.name for f in fields if f.item_type == "uuid"]),
    ):
        if names:
            quoted = ", ".join(f'"{name}"' for name in names)
            lines.append(f"{constant}: ClassVar[frozenset[str]] = frozenset({{{quoted}}})")
    return lines


def _json_text_body(fields: list[TypedField]) -> list[str]:
    """The code unpacks all fields in one step, because attribute access is slower."""
    lines = [f"{', '.join(f.local for f in fields)}, _ = self"] if fields else []
    always = list(takewhile(lambda f: f.field.tag is None and f.first_version == 0, fields))
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
        conditions = [f"version >= {f.first_version}"] if f.first_version > 0 else []
        if f.field.tag is not None:
            conditions.append(f.is_set(f.local))
        put = f"text += f'{_json_member(f)}'"
        lines += [f"if {' and '.join(conditions)}:", f"    {put}"] if conditions else [put]
    return lines


def _json_member(f: TypedField) -> str:
    return f',"{camel(f.field.name)}":{f.json_text}'


def _imports(code: str, base: str) -> str:
    words = set(re.findall(r"\w+", code))
    bases = {base} | ({"Struct"} & words)
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


def layouts(code: str) -> list[str]:
    """A line of source for each ``struct`` that ``code`` names."""
    items = "|".join(_FORMATS).upper()
    named = sorted(set(re.findall(rf"(?<!\w)(?:_(?:{items}))+\b", code)))
    return [f'{name}: Final = struct.Struct(">{_format(name)}")' for name in named]


def decode_body(name: str, fields: list[TypedField]) -> list[str]:
    tagged = [f for f in fields if f.field.tag is not None]
    lines = [
        f"{f.local}: {f.annotation} = {f.default}"
        for f in fields
        if f.field.tag is not None or f.first_version > 0
    ]
    for first_version, together in _runs(fields):
        reading = _read_fixed(together) if _is_fixed(together[0]) else _read(together[0])
        lines += _since(first_version, reading)
    lines += _read_tagged(tagged) if tagged else _READ_UNKNOWN_TAGS
    unknown = "tuple(unknown)" if tagged else "unknown"
    values = ", ".join([*(f.local for f in fields), unknown])
    lines.append(f"return tuple.__new__({name}, ({values}{'' if fields else ','})), at")
    return ["limit = len(data)", *lines] if any("limit" in line for line in lines) else lines


def encode_body(fields: list[TypedField]) -> list[str]:
    lines = []
    for first_version, together in _runs(fields):
        writing = _write_fixed(together) if _is_fixed(together[0]) else [together[0].write("out")]
        lines += _since(first_version, writing)
        for f in together if first_version > 0 else ():
            lines += [f"elif {f.is_set(f'self.{f.name}')}:", f"    {_refusal(f)}"]
    tagged = [f for f in fields if f.field.tag is not None]
    if not tagged:
        return [*lines, *_WRITE_UNKNOWN_TAGS]
    lines.append("tagged: list[tuple[int, bytes]] = []")
    for f in tagged:
        lines.append(f"if {f.is_set(f'self.{f.name}')}:")
        if f.first_version > 0:
            lines += [f"    if version < {f.first_version}:", f"        {_refusal(f)}"]
        lines += _indented(_write_tagged(f))
    return [*lines, "write_tagged_fields(out, (*tagged, *self.unknown_tagged_fields))"]


def _write_tagged(f: TypedField) -> list[str]:
    if _is_fixed(f):
        *checks, value = _packed([f])
        return [*checks, f"tagged.append(({f.field.tag}, {value}))"]
    return [
        "field = bytearray()",
        f.write("field"),
        f"tagged.append(({f.field.tag}, bytes(field)))",
    ]


def _runs(fields: list[TypedField]) -> Iterator[tuple[int, list[TypedField]]]:
    """Groups of untagged fields, each with its first version. A group is read in one step."""
    untagged = [f for f in fields if f.field.tag is None]
    for (is_fixed, first), group in groupby(untagged, lambda f: (_is_fixed(f), f.first_version)):
        together = list(group)
        for run in [together] if is_fixed else [[f] for f in together]:
            yield first, run


def _is_fixed(f: TypedField) -> bool:
    return f.item_type in _FORMATS and not f.is_array and not f.is_nullable


def _since(first_version: int, lines: list[str]) -> list[str]:
    return [f"if version >= {first_version}:", *_indented(lines)] if first_version > 0 else lines


def _layout(fields: list[TypedField]) -> str:
    return "_" + "_".join(f.item_type.upper() for f in fields)


def _format(layout: str) -> str:
    return "".join(_FORMATS[item] for item in layout.lower().split("_")[1:])


def _read_fixed(fields: list[TypedField]) -> list[str]:
    layout = _layout(fields)
    size = calcsize(f">{_format(layout)}")
    names = ", ".join(f.local for f in fields)
    targets = f"({names},)" if len(fields) == 1 else names
    return [f"{targets} = {layout}.unpack_from(data, at)", f"at += {size}"]


def _write_fixed(fields: list[TypedField]) -> list[str]:
    *checks, value = _packed(fields)
    return [*checks, f"out += {value}"]


def _packed(fields: list[TypedField]) -> list[str]:
    checks = [f"check_uuid(self.{f.name})" for f in fields if f.item_type == "uuid"]
    values = ", ".join(f"self.{f.name}" for f in fields)
    return [*checks, f"{_layout(fields)}.pack({values})"]


def _read(f: TypedField) -> list[str]:
    general = f"{f.local}, at = {f.read('data', 'at')}"
    if f.is_array and f.item_type in _ARRAY_STRUCTS:
        item_size = calcsize(f">{_FORMATS[f.item_type]}")
        return [
            "length = data[at]",
            "if 0 < length < MANY:",
            f"    {f.local} = {_ARRAY_STRUCTS[f.item_type]}[length].unpack_from(data, at + 1)",
            f"    at += {item_size} * length - {item_size - 1}",
            "else:",
            f"    {general}",
        ]
    if f.is_array or f.is_struct:
        return [general]
    value = "data[at + 1 : end]"
    is_type_known = f.field.tag is not None or f.first_version > 0 or not f.is_nullable
    target = f.local if is_type_known else f"{f.local}: {f.annotation}"
    return [
        "length = data[at]",
        "end = at + length",
        "if 0 < length < 0x80 and end <= limit:",
        f"    {target} = {f'decode_text({value})' if f.item_type == 'string' else value}",
        "    at = end",
        "else:",
        f"    {general}",
    ]


def _read_tagged(tagged: list[TypedField]) -> list[str]:
    lines = [
        "unknown: list[tuple[int, bytes]] = []",
        "tags = data[at]",
        "at += 1",
        "if tags >= 0x80:",
        "    tags, at = read_tag_count(data, at - 1)",
        "for _ in range(tags):",
        "    tag, size = data[at], data[at + 1]",
        "    at += 2",
        "    if tag >= 0x80 or size >= 0x80 or at + size > limit:",
        "        tag, size, at = read_tag(data, at - 2)",
        "    field_end = at + size",
    ]
    word = "if"
    for f in tagged:
        since = f" and version >= {f.first_version}" if f.first_version > 0 else ""
        reading = _read_fixed([f]) if _is_fixed(f) else _read(f)
        lines += _indented([f"{word} tag == {f.field.tag}{since}:", *_indented(reading)])
        word = "elif"
    return [
        *lines,
        "    else:",
        "        unknown.append((tag, data[at:field_end]))",
        "        at = field_end",
        "    if at != field_end:",
        "        refuse_tagged_field(tag, size, at - (field_end - size))",
    ]


def _refusal(f: TypedField) -> str:
    return f'refuse_field("{f.name}", version)'
