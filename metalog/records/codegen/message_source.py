"""The source text of a message's module, from its schema. Used by ``generate`` only, and
how it names things by ``avro.codec``.

Text in, text out; formatting is ruff's. This module must not know files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from metalog.records.schema import Field, MessageSchema

HEADER: Final = "# Generated from metalog/records/schema.py by metalog.records.codegen.generate.\n"
_LINT: Final = "# ruff: noqa: C901\n"


class _Primitive(NamedTuple):
    python: str
    default: str


_PRIMITIVES: Final = {
    "bool": _Primitive("bool", "False"),
    "int8": _Primitive("int", "0"),
    "int16": _Primitive("int", "0"),
    "uint16": _Primitive("int", "0"),
    "int32": _Primitive("int", "0"),
    "int64": _Primitive("int", "0"),
    "float64": _Primitive("float", "0.0"),
    "string": _Primitive("str", '""'),
    "bytes": _Primitive("bytes", 'b""'),
    "uuid": _Primitive("Uuid", "ZERO_UUID"),
}


def snake(name: str) -> str:
    """``KRaftVersionRecord`` -> ``kraft_version_record``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.replace("KRaft", "Kraft")).lower()


def camel(name: str) -> str:
    return name[0].lower() + name[1:]


def lowest(versions: str) -> int:
    """The first version of ``3+``, ``0-4`` or ``0``."""
    return int(re.split(r"[+-]", versions)[0])


def highest(versions: str) -> int:
    return int(versions.split("-")[-1])


class _Typed(NamedTuple):
    """A field with what its code is made of."""

    field: Field
    name: str
    item: str
    is_array: bool
    is_nullable: bool

    @property
    def local(self) -> str:
        """The variable that holds the field, apart from the codec's own and from builtins."""
        return f"{self.name}_" if self.name in ("id", "version") else self.name

    @property
    def is_struct(self) -> bool:
        return self.item not in _PRIMITIVES

    @property
    def annotation(self) -> str:
        python = self.item if self.is_struct else _PRIMITIVES[self.item].python
        if self.is_array:
            python = f"tuple[{python}, ...]"
        return f"{python} | None" if self.is_nullable else python

    @property
    def default(self) -> str:
        if self.field.default is not None:
            return {"null": "None", "true": "True", "false": "False"}.get(
                self.field.default, self.field.default
            )
        if self.is_array:
            return "()"
        return f"{self.item}()" if self.is_struct else _PRIMITIVES[self.item].default

    @property
    def is_set(self) -> str:
        """The condition under which ``self.<name>`` differs from its default."""
        value = f"self.{self.name}"
        special = {"None": f"{value} is not None", "True": f"not {value}", "False": value}
        return special.get(self.default, f"{value} != {self.default}")

    @property
    def first(self) -> int:
        return lowest(self.field.versions)

    def read(self, data: str, at: str) -> str:
        prefix = "read_nullable" if self.is_nullable else "read"
        if not self.is_array:
            if self.is_struct:
                return f"{self.item}.decode({data}, {at}, version)"
            return f"{prefix}_{self.item}({data}, {at})"
        if self.is_struct:
            return f"read_structs({self.item}.decode, {data}, {at}, version)"
        return f"{prefix}_array(read_{self.item}, {data}, {at})"

    def write(self, out: str) -> str:
        value = f"self.{self.name}"
        prefix = "write_nullable" if self.is_nullable else "write"
        if not self.is_array:
            if self.is_struct:
                return f"{value}.encode({out}, version)"
            return f"{prefix}_{self.item}({out}, {value})"
        if self.is_struct:
            return f"write_structs({out}, {value}, version)"
        return f"{prefix}_array(write_{self.item}, {out}, {value})"

    @property
    def to_json(self) -> str:
        value = f"self.{self.name}"
        if self.is_array:
            items = f"[{self._item_to_json('item')} for item in {value}]"
            if self._item_to_json("item") == "item":
                items = f"list({value})"
            return f"None if {value} is None else {items}" if self.is_nullable else items
        return self._item_to_json(value)

    def _item_to_json(self, item: str) -> str:
        if self.is_struct:
            return f"{item}.to_json(version)"
        words = {"uuid": "uuid_text", "bytes": "json_bytes", "float64": "json_float64"}
        return f"{words[self.item]}({item})" if self.item in words else item

    @property
    def from_json(self) -> str:
        key = f'"{camel(self.field.name)}"'
        if self.is_struct:
            kind = "structs" if self.is_array else "struct"
            return f"from_json_{kind}({self.item}.from_json, data, {key}, version)"
        prefix = "from_json_nullable" if self.is_nullable else "from_json"
        if self.is_array:
            return f"{prefix}_array(to_{self.item}, data, {key})"
        return f"{prefix}(to_{self.item}, data, {key})"


def _typed(field: Field) -> _Typed:
    is_array = field.type.startswith("[]")
    return _Typed(
        field,
        snake(field.name),
        field.type.removeprefix("[]"),
        is_array,
        field.nullable is not None,
    )


def message_module(schema: MessageSchema, key_name: str) -> str:
    base = "Message" if key_name == "API_KEY" else "ControlMessage"
    constants = [
        f"{key_name}: ClassVar[int] = {schema.key}",
        f'TYPE_NAME: ClassVar[str] = "{schema.type_name}"',
        f"VERSIONS: ClassVar[range] = range({highest(schema.versions) + 1})",
    ]
    classes = [
        _class(name, "Struct", [], [_typed(f) for f in fields], [])
        for name, fields in nested_structs(schema.fields)
    ]
    fields = [_typed(f) for f in schema.fields]
    classes.append(_class(schema.name, base, constants, fields, [_summary(schema, base)]))
    imports = _imports("\n".join(classes), base)
    title = f'"""{schema.name}: Kafka\'s definition as a typed, straight-line codec."""\n'
    return "\n".join([HEADER + _LINT, title, imports, *classes])


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
    name: str, base: str, constants: list[str], fields: list[_Typed], docstring: list[str]
) -> str:
    lines = [f"class _{name}Fields(NamedTuple):"]
    lines += [f"    {f.name}: {f.annotation} = {f.default}" for f in fields]
    lines += ["    unknown_tagged_fields: TaggedFields = ()", "", "", "@message"]
    lines += [f"class {name}({base}, _{name}Fields):"]
    body = [*docstring, "", "__slots__ = ()", *constants, *_shown_otherwise(fields), ""]
    body += [
        "@staticmethod",
        f"def decode(data: bytes, at: int, version: int) -> tuple[{name}, int]:",
    ]
    body += [*_indented(_decode_body(name, fields)), ""]
    body += ["def encode(self, out: bytearray, version: int) -> None:"]
    body += [*_indented(_encode_body(fields)), ""]
    body += ["def to_json(self, version: int) -> dict[str, object]:"]
    body += [*_indented(_to_json_body(fields)), ""]
    body += ["@staticmethod", f"def from_json(data: JsonObject, version: int) -> {name}:"]
    body += _indented(_from_json_body(name, fields))
    return "\n".join(lines + _indented(body)) + "\n\n"


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" if line else "" for line in lines]


def _shown_otherwise(fields: list[_Typed]) -> list[str]:
    lines = []
    for constant, names in (
        ("SECRETS", [f.name for f in fields if f.field.secret]),
        ("UUIDS", [f.name for f in fields if f.item == "uuid"]),
    ):
        if names:
            quoted = ", ".join(f'"{name}"' for name in names)
            lines.append(f"{constant}: ClassVar[frozenset[str]] = frozenset({{{quoted}}})")
    return lines


def _decode_body(name: str, fields: list[_Typed]) -> list[str]:
    lines = []
    tagged = [f for f in fields if f.field.tag is not None]
    for f in fields:
        if f.field.tag is not None or f.first > 0:
            lines.append(f"{f.local}: {f.annotation} = {f.default}")
        if f.field.tag is not None:
            continue
        read = f"{f.local}, at = {f.read('data', 'at')}"
        lines += [f"if version >= {f.first}:", f"    {read}"] if f.first > 0 else [read]
    unknown = "unknown_tagged_fields"
    if not tagged:
        lines.append(f"{unknown}, at = read_tagged_fields(data, at)")
    else:
        lines += ["tagged, at = read_tagged_fields(data, at)"]
        lines += ["unknown: list[tuple[int, bytes]] = []", "for tag, field in tagged:"]
        word = "if"
        for f in tagged:
            since = f" and version >= {f.first}" if f.first > 0 else ""
            lines += [
                f"    {word} tag == {f.field.tag}{since}:",
                f"        {f.local}, end = {f.read('field', '0')}",
                "        check_tagged_field_end(tag, field, end)",
            ]
            word = "elif"
        lines += ["    else:", "        unknown.append((tag, field))"]
        unknown = "tuple(unknown)"
    arguments = ", ".join([*(f.local for f in fields), unknown])
    return [*lines, f"return {name}({arguments}), at"]


def _encode_body(fields: list[_Typed]) -> list[str]:
    lines = []
    tagged = [f for f in fields if f.field.tag is not None]
    for f in fields:
        if f.field.tag is not None:
            continue
        if f.first == 0:
            lines.append(f.write("out"))
            continue
        lines += [f"if version >= {f.first}:", f"    {f.write('out')}"]
        lines += [f"elif {f.is_set}:", f"    {_refusal(f)}"]
    if not tagged:
        return [*lines, "write_tagged_fields(out, self.unknown_tagged_fields)"]
    lines.append("tagged: list[tuple[int, bytes]] = []")
    for f in tagged:
        lines.append(f"if {f.is_set}:")
        if f.first > 0:
            lines += [f"    if version < {f.first}:", f"        {_refusal(f)}"]
        lines += [
            "    field = bytearray()",
            f"    {f.write('field')}",
            f"    tagged.append(({f.field.tag}, bytes(field)))",
        ]
    return [*lines, "write_tagged_fields(out, (*tagged, *self.unknown_tagged_fields))"]


def _refusal(f: _Typed) -> str:
    return f'refuse_field("{f.name}", version)'


def _to_json_body(fields: list[_Typed]) -> list[str]:
    lines = ["data: dict[str, object] = {}"]
    for f in fields:
        conditions = [f"version >= {f.first}"] if f.first > 0 else []
        if f.field.tag is not None:
            conditions.append(f.is_set)
        put = f'data["{camel(f.field.name)}"] = {f.to_json}'
        lines += [f"if {' and '.join(conditions)}:", f"    {put}"] if conditions else [put]
    return [*lines, "return data"]


def _from_json_body(name: str, fields: list[_Typed]) -> list[str]:
    lines = []
    for f in fields:
        conditions = [f"version >= {f.first}"] if f.first > 0 else []
        if f.field.tag is not None:
            conditions.append(f'"{camel(f.field.name)}" in data')
        if conditions:
            lines += [f"{f.local}: {f.annotation} = {f.default}", f"if {' and '.join(conditions)}:"]
            lines.append(f"    {f.local} = {f.from_json}")
        else:
            lines.append(f"{f.local} = {f.from_json}")
    return [*lines, f"return {name}({', '.join(f.local for f in fields)})"]


def _imports(code: str, base: str) -> str:
    """Import lines for every helper that ``code`` names."""
    words = set(re.findall(r"\w+", code))
    bases = {base, "message"} | ({"Struct"} & words)
    json_words = {w for w in words if re.match(r"(from_json_|to_(?!json)|json_|JsonObject)", w)}
    json_words |= {"from_json"} if "from_json(to_" in code else set()
    fields = {w for w in words if re.match(r"(read|write)_|TaggedFields|check_|refuse_", w)}
    ids = {"Uuid", "ZERO_UUID", "uuid_text"} & words
    lines = [
        "from __future__ import annotations",
        "",
        "from typing import ClassVar, NamedTuple",
        "",
    ]
    for module, names in (
        ("metalog.ids", ids),
        ("metalog.records.primitives.fields", fields),
        ("metalog.records.primitives.json_fields", json_words),
        ("metalog.records.message", bases),
    ):
        if names:
            lines.append(f"from {module} import {', '.join(sorted(names))}")
    return "\n".join(lines) + "\n\n"
